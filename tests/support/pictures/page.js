// SPDX-License-Identifier: BSD-2-Clause
// Draws one dashboard from `window.dashboard` ({title, panels}), each panel with the answers to its queries (`answers`, as Prometheus gave
// them): lines with uPlot, which is Grafana's own chart, and figures with Grafana's own formatter of units. What is drawn otherwise
// (bars, stats, tables, heatmaps, states) is simple, and meant to show labels, units and how many of each there are.
import { formattedValueToString, getValueFormat } from "@grafana/data";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

const palette = ["#73BF69", "#F2CC0C", "#8AB8FF", "#FF780A", "#F2495C", "#5794F2", "#B877D9", "#FADE2A", "#56A64B", "#E0B400",
                 "#3274D9", "#FF7383", "#A352CC", "#37872D", "#FA6400", "#C4162A", "#1F60C4", "#8F3BB8", "#96D98D", "#FFEE52"];
// Grafana's names of colors.
const named = {
  blue: "#5794F2", "light-blue": "#8AB8FF", "super-light-blue": "#C0D8FF", "semi-dark-blue": "#3274D9", "dark-blue": "#1F60C4",
  red: "#F2495C", "light-red": "#FF7383", "super-light-red": "#FFA6B0", "semi-dark-red": "#E02F44", "dark-red": "#C4162A",
  orange: "#FF9830", "light-orange": "#FFB357", "super-light-orange": "#FFCB7D", "semi-dark-orange": "#FF780A", "dark-orange": "#FA6400",
  yellow: "#FADE2A", "light-yellow": "#FFEE52", "super-light-yellow": "#FFF899", "semi-dark-yellow": "#F2CC0C", "dark-yellow": "#E0B400",
  green: "#73BF69", "light-green": "#96D98D", "super-light-green": "#C8F2C2", "semi-dark-green": "#56A64B", "dark-green": "#37872D",
  purple: "#B877D9", "light-purple": "#CA95E5", "super-light-purple": "#DEB6F2", "semi-dark-purple": "#A352CC", "dark-purple": "#8F3BB8" };
// Grafana's themes.
const { text, muted, page, box, border, line: gridLine, track: trackColor, heading } = {
  dark: { text: "#CCCCDC", muted: "#9aa", page: "#111217", box: "#181b1f", border: "#2c3235", line: "#333", track: "#26282e", heading: "#8AB8FF" },
  light: { text: "#24292E", muted: "#6a6f75", page: "#F4F5F5", box: "#FFFFFF", border: "#DCDEE0", line: "#e4e6e8", track: "#ECEDEE", heading: "#1F62E0" } }[window.dashboard.theme];
const cell = { width: 60, height: 30 };

const format = (unit, value, decimals) => formattedValueToString(getValueFormat(unit)(value, decimals));
const nameOf = (legend, labels) => {
  if (legend === "__auto") return labels.__name__ ?? Object.values(labels).join(" ") ?? "value";
  return legend.replace(/\{\{\s*(\w+)\s*\}\}/g, (_, label) => labels[label] ?? "");
};

function element(tag, style, text, parent) {
  const made = document.createElement(tag);
  Object.assign(made.style, style);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

function colorFor(defaults, value) {
  let color = text;
  for (const step of defaults.thresholds.steps) if (step.value === null || value >= step.value) color = step.color;
  return color === "text" ? text : named[color] ?? color;
}

/// The color of a series: the one assigned to its name, or the next of the palette.
function strokeOf(panel, series, index) {
  const bound = panel.fieldConfig.overrides.find((override) => override.matcher.options === series.name)
    ?.properties.find((property) => property.id === "color")?.value.fixedColor;
  return bound ? named[bound] ?? bound : palette[index % palette.length];
}

function shown(defaults, value) {
  const mapped = defaults.mappings?.[0]?.options?.[String(value)];
  return mapped ? mapped.text : format(defaults.unit, value, defaults.decimals);
}

/// All series of a panel: {name, labels, points: Map of time to value}.
function seriesOf(panel) {
  return panel.targets.flatMap((target, index) => (panel.answers[index] ?? []).map((entry) => ({
    name: nameOf(target.legendFormat, entry.metric), labels: entry.metric, target: index,
    points: new Map((entry.values ?? [entry.value]).map(([time, value]) => [time, Number(value)])) })));
}

const lastOf = (series) => [...series.points.values()].at(-1);

function lines(panel, body, width, height) {
  const { defaults } = panel.fieldConfig;
  const isStacked = defaults.custom.stacking.mode === "normal";
  const all = seriesOf(panel);
  const times = [...new Set(all.flatMap((series) => [...series.points.keys()]))].sort((a, b) => a - b);
  const isRight = panel.options.legend.placement === "right";
  const legendHeight = isRight ? 0 : Math.min(20 * all.length, height * 0.45);
  const columns = all.map((series) => times.map((time) => series.points.get(time) ?? null));
  const lines = new Set(panel.fieldConfig.overrides.filter((override) => override.properties.some((property) => property.id === "custom.stacking"))
    .map((override) => override.matcher.options));
  let drawn = columns;
  if (isStacked) {
    const sums = times.map(() => 0);
    drawn = columns.map((column, index) => lines.has(all[index].name) ? column
      : column.map((value, at) => (sums[at] += value ?? 0)));
  }
  const options = {
    width: isRight ? width * 0.75 : width, height: height - legendHeight, legend: { show: false }, cursor: { show: false },
    scales: { y: { range: (_, low, high) => [defaults.min ?? Math.min(low, 0), high <= 0 ? 1 : high * 1.05] } },
    axes: [{ stroke: muted, grid: { stroke: gridLine, width: 1 } },
           { stroke: muted, size: 95, grid: { stroke: gridLine, width: 1 }, values: (_, ticks) => ticks.map((tick) => format(defaults.unit, tick)) }],
    series: [{}, ...all.map((series, index) => ({
      label: series.name, stroke: strokeOf(panel, series, index), width: 1, points: { show: false },
      dash: lines.has(series.name) ? [10, 10] : undefined,
      fill: isStacked && !lines.has(series.name) ? strokeOf(panel, series, index) + "99" : undefined }))],
    bands: isStacked ? all.map((_, index) => ({ series: [index + 1, index], })).filter((band) => band.series[1] > 0) : undefined,
  };
  const chart = element("div", isRight ? { float: "left" } : {}, undefined, body);
  new uPlot(options, [times, ...drawn], chart);
  const legend = element("div", { overflow: "hidden", fontSize: "11px", height: isRight ? `${height}px` : `${legendHeight}px` }, undefined, body);
  all.map((series, index) => ({ series, index })).sort((a, b) => (lastOf(b.series) ?? 0) - (lastOf(a.series) ?? 0))
    .forEach(({ series, index }) => {
      const row = element("div", { display: "flex", height: "20px", gap: "6px", whiteSpace: "nowrap" }, undefined, legend);
      element("span", { background: strokeOf(panel, series, index), width: "12px", height: "4px", marginTop: "7px", flex: "none" }, undefined, row);
      element("span", { overflow: "hidden", flex: "1" }, series.name, row);
      element("span", { flex: "none" }, shown(defaults, lastOf(series)), row);
    });
}

function stats(panel, body, width, height) {
  const all = seriesOf(panel);
  for (const series of all) {
    const value = lastOf(series);
    const mapping = panel.fieldConfig.defaults.mappings?.[0]?.options?.[String(value)];
    const box = element("div", { textAlign: "center", height: `${height / all.length}px` }, undefined, body);
    element("div", { color: named[mapping?.color] ?? mapping?.color ?? colorFor(panel.fieldConfig.defaults, value), fontWeight: "500",
                     fontSize: `${Math.min(40, height / all.length / 2, width / 6)}px` }, shown(panel.fieldConfig.defaults, value), box);
    if (all.length > 1) element("div", { fontSize: "12px", color: muted }, series.name, box);
  }
}

function bars(panel, body, width, height) {
  const all = seriesOf(panel).sort((a, b) => lastOf(b) - lastOf(a));
  const { defaults } = panel.fieldConfig;
  const most = defaults.max ?? Math.max(...all.map(lastOf), 0);
  for (const series of all) {
    const row = element("div", { display: "flex", height: `${Math.min(30, height / all.length)}px`, fontSize: "11px", alignItems: "center" }, undefined, body);
    element("span", { width: "45%", overflow: "hidden", whiteSpace: "nowrap" }, series.name, row);
    const track = element("span", { flex: "1", height: "70%", background: trackColor }, undefined, row);
    element("span", { display: "block", height: "100%", width: `${Math.min(100, 100 * lastOf(series) / (most || 1))}%`,
                      background: defaults.color.mode === "thresholds" ? colorFor(defaults, lastOf(series)) : "#5794F2" }, undefined, track);
    element("span", { width: "80px", textAlign: "right" }, shown(defaults, lastOf(series)), row);
  }
}

function table(panel, body) {
  const organize = panel.transformations.find((step) => step.id === "organize").options;
  const keys = Object.keys(organize.indexByName).sort((a, b) => organize.indexByName[a] - organize.indexByName[b]);
  const rows = [];
  for (const series of seriesOf(panel)) {
    const { __name__, ...labels } = series.labels;
    const valueKey = panel.targets.length === 1 ? "Value" : `Value #${panel.targets[series.target].refId}`;
    // As Grafana merges tables: rows that agree in their common columns become one.
    const same = rows.find((row) => !(valueKey in row) && Object.entries(labels).every(([key, value]) => !(key in row) || row[key] === value));
    if (same) Object.assign(same, labels, { [valueKey]: lastOf(series) });
    else rows.push({ ...labels, [valueKey]: lastOf(series) });
  }
  const { displayName, desc } = panel.options.sortBy[0];
  const by = keys.find((key) => organize.renameByName[key] === displayName);
  rows.sort((a, b) => (desc ? -1 : 1) * (a[by] === b[by] ? 0 : a[by] === undefined || a[by] < b[by] ? -1 : 1));
  const made = element("table", { width: "100%", tableLayout: "fixed", fontSize: "12px", textAlign: "left" }, undefined, body);
  const head = element("tr", {}, undefined, made);
  for (const key of keys) {
    const width = panel.fieldConfig.overrides.filter((override) => override.matcher.options === organize.renameByName[key])
      .flatMap((override) => override.properties).find((property) => property.id === "custom.width")?.value;
    element("th", { color: heading, width: width === undefined ? undefined : `${width}px` }, organize.renameByName[key], head);
  }
  for (const row of rows.slice(0, 30)) {
    const line = element("tr", {}, undefined, made);
    for (const key of keys) {
      const over = panel.fieldConfig.overrides.filter((override) => override.matcher.options === organize.renameByName[key]);
      const unit = over.flatMap((o) => o.properties).find((property) => property.id === "unit")?.value ?? panel.fieldConfig.defaults.unit;
      const mapped = over.flatMap((o) => o.properties).find((property) => property.id === "mappings")?.value[0].options[String(row[key])];
      const color = mapped?.color === "text" ? text : named[mapped?.color] ?? mapped?.color;
      const cell = element("td", { color, overflow: "hidden", textOverflow: "ellipsis", whiteSpace: "nowrap" }, mapped ? mapped.text : typeof row[key] === "number" ? format(unit, row[key]) : row[key] ?? "", line);
      if (over.flatMap((o) => o.properties).some((property) => property.id === "links")) cell.style.textDecoration = "underline";
    }
  }
}

function heatmap(panel, body, width, height) {
  const isBuckets = panel.targets[0].format === "heatmap";
  const rank = (series) => Number((series.labels.le ?? series.labels.cpu).replace("+Inf", "Infinity"));
  let all = seriesOf(panel).sort((a, b) => rank(a) - rank(b));
  if (isBuckets) {
    all = all.map((series, index) => ({ ...series, points: new Map([...series.points].map(([time, value]) =>
      [time, value - (index ? all[index - 1].points.get(time) ?? 0 : 0)])) }));
  }
  const times = [...new Set(all.flatMap((series) => [...series.points.keys()]))].sort((a, b) => a - b);
  const most = Math.max(...all.flatMap((series) => [...series.points.values()]), 1e-9);
  const canvas = element("canvas", {}, undefined, body);
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  const rowHeight = (height - 20) / all.length;
  all.forEach((series, index) => {
    const y = height - 20 - (index + 1) * rowHeight;
    context.fillStyle = muted;
    context.font = "11px sans-serif";
    context.fillText(series.name, 2, y + rowHeight / 2 + 4);
    times.forEach((time, at) => {
      const value = series.points.get(time);
      if (!value) return;
      context.fillStyle = `rgba(255, 120, 10, ${0.1 + 0.9 * Math.sqrt(value / most)})`;
      const step = (width - 60) / times.length;
      context.fillRect(60 + at * step, y, step - 1, rowHeight - 1);
    });
  });
}

function states(panel, body, width, height) {
  const all = seriesOf(panel);
  const times = [...new Set(all.flatMap((series) => [...series.points.keys()]))].sort((a, b) => a - b);
  for (const series of all) {
    const row = element("div", { display: "flex", height: `${Math.min(26, height / all.length)}px`, fontSize: "11px" }, undefined, body);
    element("span", { width: "200px", overflow: "hidden" }, series.name, row);
    for (const time of times) {
      const mapped = panel.fieldConfig.defaults.mappings[0].options[String(series.points.get(time))];
      element("span", { flex: "1", background: named[mapped?.color] ?? mapped?.color ?? trackColor, height: "80%" }, undefined, row);
    }
  }
}

const kinds = { timeseries: lines, stat: stats, bargauge: bars, table, heatmap, "state-timeline": states };
Object.assign(document.body.style, { background: page, color: text, fontFamily: "sans-serif", margin: "0", position: "relative" });
let bottom = 0;
for (const panel of window.dashboard.panels) {
  const { x, y, w, h } = panel.gridPos;
  bottom = Math.max(bottom, y + h);
  const place = { position: "absolute", left: `${x * cell.width}px`, top: `${y * cell.height + 4}px` };
  if (panel.type === "row") {
    element("div", { ...place, fontWeight: "bold" }, panel.title, document.body);
    continue;
  }
  const width = w * cell.width - 24, height = h * cell.height - 44;
  const frame = element("div", { ...place, width: `${w * cell.width - 8}px`, height: `${h * cell.height - 8}px`, background: box,
                                 border: `1px solid ${border}`, boxSizing: "border-box", padding: "6px", overflow: "hidden" }, undefined, document.body);
  element("div", { fontSize: "13px", fontWeight: "500", height: "22px" }, panel.title, frame);
  const body = element("div", { width: `${width}px`, height: `${height}px`, overflow: "hidden" }, undefined, frame);
  const isEmpty = panel.answers && panel.answers.every((answer) => answer.length === 0);
  if (panel.type === "text" || isEmpty) {
    element("div", { textAlign: "center", marginTop: `${height / 2 - 20}px`, color: muted },
            panel.options.content ?? panel.fieldConfig.defaults.noValue ?? "No data", body);
  } else {
    kinds[panel.type](panel, body, width, height);
  }
}
document.body.style.height = `${bottom * cell.height}px`;
