// SPDX-License-Identifier: BSD-2-Clause
// The history of one type as a uPlot chart, with its limit, and marks at failures, limit hits and events of the kernel's log.
import {element} from './chart.js';
import {bytes, clock, count} from './view.js';

const HEIGHT = 260;
const MARK = 14;  // pixels
const STEPS = {bytes: Array.from({length: 60}, (_, power) => 2 ** power),
               objects: Array.from({length: 48}, (_, index) => [1, 2, 5][index % 3] * 10 ** Math.floor(index / 3))};

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** [time, increase since the last mark] for each increase in [[time, total], ...]. */
function increases(totals) {
  return totals.slice(1).map(([time, total], index) => [time, total - totals[index][1]]).filter(([, more]) => more > 0);
}

export class HistoryChart {
  /** `place`: the element to fill, over its full width. */
  constructor(place) {
    this.canvas = element('div', {role: 'img'});
    this.cursor = element('span', {class: 'quiet'});  // the values under the pointer
    this.keys = element('p', {class: 'quiet'});
    this.place = place;
    this.words = element('p', {class: 'quiet'}, 'The history begins with the second poll.');
    this.place.replaceChildren(this.canvas, this.keys, this.words);
    // A canvas does not follow the colour scheme by itself.
    this.dark = matchMedia('(prefers-color-scheme: dark)');
    this.onChange = () => this.draw();
    this.dark.addEventListener('change', this.onChange);
    this.resized = new ResizeObserver(() => this.resize());
    this.resized.observe(place);
  }

  close() {
    this.dark.removeEventListener('change', this.onChange);
    this.resized.disconnect();
    this.plot?.destroy();
    this.plot = undefined;
  }

  /** `limit`: in the unit of the history; undefined for none. `events`: those of /api/v1/events. */
  show(history, limit, events) {
    this.history = history;
    this.logged = events.filter((event) => event.time >= history.points[0]?.[0] && event.time <= history.points.at(-1)[0]);
    const values = history.points.map((point) => point[1]);
    this.highest = Math.max(0, ...values);
    // A limit far above would flatten the line.
    this.limit = limit !== undefined && limit <= 2 * this.highest ? limit : undefined;
    const isEnough = values.length > 1;
    this.words.hidden = isEnough;
    this.canvas.hidden = this.keys.hidden = !isEnough;
    if (!isEnough) return;
    const amount = this.amount();
    this.canvas.setAttribute('aria-label',
      `From ${clock(history.points[0][0])} to ${clock(history.points.at(-1)[0])}: first ${amount(values[0])}, ` +
      `least ${amount(Math.min(...values))}, most ${amount(this.highest)}, last ${amount(values.at(-1))}`);
    this.failures = increases(history.failures);
    this.hits = increases(history.limit_hits);
    const sum = (marks) => count(marks.reduce((before, [, more]) => before + more, 0));
    const keys = [[true, 'amount', this.history.figure === 'bytes' ? 'in use' : 'objects'],
                  [this.limit !== undefined, 'limit', `limit ${amount(limit)}`],
                  [this.failures.length > 0, 'failure', `${sum(this.failures)} failures`],
                  [this.hits.length > 0, 'hit', `${sum(this.hits)} limit hits`],
                  [this.logged.length > 0, 'logged', `kernel log: ${count(this.logged.length)}`]];
    this.keys.replaceChildren(...keys.filter(([isThere]) => isThere).map(([, kind, words]) => element('span', {class: `key ${kind}`}, words)), this.cursor);
    if (this.plot && this.hadLimit === (this.limit !== undefined)) this.plot.setData(this.data());
    else this.draw();
  }

  amount() {
    return this.history.figure === 'bytes' ? bytes : count;
  }

  data() {
    const times = this.history.points.map((point) => point[0]);
    const columns = [times, this.history.points.map((point) => point[1])];
    if (this.limit !== undefined) columns.push(times.map(() => this.limit));
    return columns;
  }

  resize() {
    const width = this.place.clientWidth;
    if (width > 0 && this.plot && this.plot.width !== width) this.plot.setSize({width, height: HEIGHT});
    else if (width > 0 && !this.plot && this.history && !this.canvas.hidden) this.draw();
  }

  mark(plot, marks, stroke, lift) {
    const {ctx, bbox} = plot;
    ctx.save();
    ctx.strokeStyle = stroke;
    ctx.lineWidth = 2 * devicePixelRatio;
    ctx.setLineDash([]);
    ctx.beginPath();
    const bottom = bbox.top + bbox.height - lift * MARK * devicePixelRatio;
    for (const [time] of marks) {
      const x = plot.valToPos(time, 'x', true);
      ctx.moveTo(x, bottom - MARK * devicePixelRatio);
      ctx.lineTo(x, bottom);
    }
    ctx.stroke();
    ctx.restore();
  }

  draw() {
    if (!this.history || this.canvas.hidden || this.place.clientWidth === 0) return;
    this.plot?.destroy();
    const amount = this.amount();
    const axis = {stroke: colour('--quiet'), grid: {stroke: colour('--line'), width: 1}, ticks: {show: false}, font: '12px system-ui, sans-serif'};
    const line = colour('--spark');
    const series = [{value: (plot, time) => time === null ? '-' : clock(time)},
                    {label: this.history.figure === 'bytes' ? 'in use' : 'objects', stroke: line, width: 1.8, fill: `${line}24`, points: {show: false},
                     value: (plot, value) => value === null ? '-' : amount(value)}];
    this.hadLimit = this.limit !== undefined;
    if (this.hadLimit) {
      series.push({label: 'limit', stroke: colour('--bad'), dash: [5, 4], width: 1.4, points: {show: false}, value: (plot, value) => value === null ? '-' : amount(value)});
    }
    this.plot = new uPlot({
      width: this.place.clientWidth, height: HEIGHT, series, legend: {show: false},
      scales: {y: {range: () => [0, Math.max(1, this.limit ?? 0, this.highest) * 1.05]}},
      axes: [{...axis, space: 90, values: (plot, splits) => splits.map((time) => {
        const span = plot.scales.x.max - plot.scales.x.min;
        return clock(time).slice(11, span < 600 ? 19 : 16);
      })},
             {...axis, size: 76, incrs: STEPS[this.history.figure], values: (plot, splits) => splits.map((value) => amount(value))}],
      padding: [10, 30, 0, 0], cursor: {drag: {x: true, y: false}},
      hooks: {setCursor: [(plot) => {
        const point = plot.cursor.idx === null || plot.cursor.idx === undefined ? undefined : this.history.points[plot.cursor.idx];
        const before = this.history.points[plot.cursor.idx - 1]?.[0] ?? point?.[0];
        const logged = point ? this.logged.filter((event) => event.time > before && event.time <= point[0]).map((event) => event.lines[0]) : [];
        this.cursor.textContent = point ? [`${amount(point[1])} at ${clock(point[0])}`, ...logged.slice(0, 3)].join(' \u00b7 ') : '';
      }], draw: [(plot) => {
        this.mark(plot, this.hits, colour('--warn'), 1);  // above the failures
        this.mark(plot, this.failures, colour('--bad'), 0);
        this.mark(plot, this.logged.map((event) => [event.time]), colour('--text'), 2);
      }]}}, this.data(), this.canvas);
  }
}
