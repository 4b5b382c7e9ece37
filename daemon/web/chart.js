// SPDX-License-Identifier: BSD-2-Clause
// Elements of the page, and small SVG drawings. Kernel text only ever becomes text nodes, never markup.
import {timePath, timePlace} from './view.js';

/** Makes an element: element('td', {class: 'number'}, 'text', child, ...). */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) made.setAttribute(name, value === true ? '' : value);
  }
  made.append(...children.filter((child) => child !== undefined && child !== null));
  return made;
}

export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** The path of a sparkline in a box of 100 by 22, with gaps where the type was absent. `scale`: of sparkScale(). */
export function sparkPath(values, scale) {
  if (!scale) return '';
  let path = '';
  let isDown = false;
  values.forEach((value, index) => {
    if (value === null) {
      isDown = false;
      return;
    }
    const x = (100 * index / (values.length - 1)).toFixed(1);
    const y = (scale.span ? 20 - (value - scale.from) * 18 / scale.span : 20).toFixed(1);
    path += `${isDown ? 'L' : 'M'}${x} ${y}`;
    isDown = true;
  });
  return path;
}

/** A chart of incidentCharts(): the line, the limit dashed, and an upright at the moment. */
export function timeChart(chart) {
  const height = 30;
  const {points, most, limit, moment, words} = chart;
  const x = timePlace(moment, points[0][0], points.at(-1)[0]);
  const lines = [svg('path', {class: 'moment', d: `M${x} 0V${height}`}), svg('path', {class: 'spark', d: timePath(chart, height)})];
  if (limit !== undefined) lines.unshift(svg('path', {class: 'bound', d: `M0 ${(height - limit * height / most).toFixed(1)}H100`}));
  return element('span', {class: 'what course'}, svg('svg', {viewBox: `0 -1 100 ${height + 2}`, preserveAspectRatio: 'none', 'aria-hidden': 'true'}, ...lines), words);
}

/** A share of a limit as a bar; the text next to it has the same value. */
export function meter(share, state) {
  const fill = element('i');
  fill.style.width = `${Math.min(100, 100 * share)}%`;
  return element('span', {class: `meter ${state}`, 'aria-hidden': 'true'}, fill);
}

/** One bar per CPU or node, with its value as `text` next to it. */
export function bars(values, name, text) {
  const most = Math.max(1, ...values.map((value) => value ?? 0));
  const box = element('div', {class: 'bars'});
  values.forEach((value, index) => {
    if (value === null) return;
    const fill = element('i');
    fill.style.width = `${100 * value / most}%`;
    box.append(element('span', {}, `${name} ${index}`), element('span', {class: 'track', 'aria-hidden': 'true'}, fill),
               element('span', {class: 'number'}, text(value)));
  });
  return box;
}
