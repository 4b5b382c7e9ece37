// SPDX-License-Identifier: BSD-2-Clause
// Elements of the page, and small drawings in SVG. Text of the kernel becomes text nodes only, never markup.
import {bytes, clock, count} from './view.js';

/** An element: element('td', {class: 'number'}, 'text', child, ...). */
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

/** The path of a sparkline in a box of 100 by 22; gaps where the type was not there. */
export function sparkPath(values) {
  if (!values || values.length < 2) return '';
  let least = Infinity;
  let most = -Infinity;
  for (const value of values) {
    if (value === null) continue;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  const height = most > least ? 18 / (most - least) : 0;
  let path = '';
  let isDown = false;
  values.forEach((value, index) => {
    if (value === null) {
      isDown = false;
      return;
    }
    const x = (100 * index / (values.length - 1)).toFixed(1);
    const y = (height ? 20 - (value - least) * height : 11).toFixed(1);
    path += `${isDown ? 'L' : 'M'}${x} ${y}`;
    isDown = true;
  });
  return path;
}

export function spark(values) {
  return svg('svg', {viewBox: '0 0 100 22', preserveAspectRatio: 'none', 'aria-hidden': 'true'},
             svg('path', {class: 'spark', d: sparkPath(values)}));
}

/** A share of a limit as a bar; the words beside it say the same. */
export function meter(share, state) {
  const fill = element('i');
  fill.style.width = `${Math.min(100, 100 * share)}%`;
  return element('span', {class: `meter ${state}`, 'aria-hidden': 'true'}, fill);
}

/** A step that gives 3 to 5 lines up to `most`. */
function step(most, isBytes) {
  const base = isBytes ? 2 : 10;
  let size = Math.pow(base, Math.floor(Math.log(most / 4) / Math.log(base)));
  while (most / size > 5) size *= isBytes ? 2 : most / size > 10 ? 5 : 2;
  return size > 0 && Number.isFinite(size) ? size : 1;
}

/** The history of one type, with what failed and when its limit was felt. */
export function chart(history, limit, width) {
  const [height, left, right, top, bottom] = [260, 84, 12, 12, 28];
  const points = history.points;
  const isBytes = history.figure === 'bytes';
  const amount = (value) => isBytes ? bytes(value) : count(value);
  if (points.length < 2) return element('p', {class: 'quiet'}, 'The history begins with the second poll.');
  const begin = points[0][0];
  const end = points[points.length - 1][0];
  const values = points.map((point) => point[1]);
  const highest = Math.max(...values);
  const most = Math.max(1, limit && limit <= highest * 2 ? Math.max(limit, highest) : highest) * 1.05;
  const x = (time) => left + (width - left - right) * (end > begin ? (time - begin) / (end - begin) : 1);
  const y = (value) => height - bottom - (height - top - bottom) * value / most;
  const drawing = svg('svg', {
    viewBox: `0 0 ${width} ${height}`, class: 'chart', role: 'img',
    'aria-label': `From ${clock(begin)} to ${clock(end)}: first ${amount(values[0])}, least ${amount(Math.min(...values))}, ` +
      `most ${amount(highest)}, last ${amount(values[values.length - 1])}`});
  const size = step(most, isBytes);
  for (let at = 0; at <= most; at += size) {
    drawing.append(svg('line', {class: 'grid', x1: left, x2: width - right, y1: y(at), y2: y(at)}),
                   svg('text', {x: left - 8, y: y(at) + 4, 'text-anchor': 'end'}, amount(at)));
  }
  const marked = width < 500 ? 2 : 4;
  for (let i = 0; i <= marked; i++) {
    const time = begin + (end - begin) * i / marked;
    const text = clock(time);
    const anchor = i === 0 ? 'start' : i === marked ? 'end' : 'middle';
    drawing.append(svg('text', {x: x(time), y: height - 8, 'text-anchor': anchor}, text.slice(11, end - begin < 600 ? 19 : 16)));
  }
  const line = points.map(([time, value], index) => `${index ? 'L' : 'M'}${x(time).toFixed(1)} ${y(value).toFixed(1)}`).join('');
  drawing.append(svg('path', {class: 'area', d: `${line}L${x(end)} ${y(0)}L${x(begin)} ${y(0)}Z`}),
                 svg('path', {class: 'line', d: line}));
  if (limit && limit <= most) drawing.append(svg('line', {class: 'limit', x1: left, x2: width - right, y1: y(limit), y2: y(limit)}));
  const marks = (list, kind, words) => list.slice(1).forEach(([time, total], index) => {
    const mark = svg('line', {class: kind, x1: x(time), x2: x(time), y1: height - bottom - 14, y2: height - bottom});
    mark.append(svg('title', {}, `${clock(time)}: ${count(total - list[index][1])} ${words}`));
    drawing.append(mark);
  });
  marks(history.limit_hits, 'hit', 'limit hits');
  marks(history.failures, 'failure', 'failures');
  const keys = [[limit && limit <= most, 'limit', 'limit'], [history.failures.length > 1, 'failure', 'failures'],
                [history.limit_hits.length > 1, 'hit', 'limit hits']].filter(([isThere]) => isThere);
  const legend = element('p', {class: 'quiet'}, ...keys.map(([, kind, words]) => element('span', {class: `key ${kind}`}, words)));
  return element('div', {}, drawing, legend);
}

/** One bar a CPU or node. */
export function bars(values, name) {
  const most = Math.max(1, ...values.map((value) => value ?? 0));
  const box = element('div', {class: 'bars'});
  values.forEach((value, index) => {
    if (value === null) return;
    const fill = element('i');
    fill.style.width = `${100 * value / most}%`;
    box.append(element('span', {}, `${name} ${index}`), element('span', {class: 'track', 'aria-hidden': 'true'}, fill),
               element('span', {class: 'number'}, count(value)));
  });
  return box;
}
