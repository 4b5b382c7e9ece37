// SPDX-License-Identifier: BSD-2-Clause
// A table of any number of types: only visible rows are elements, and they are reused while scrolling.
import {element, sparkPath, svg} from './chart.js';
import {bytes, count, percent, rate, sparkScale} from './view.js';

const ROW = 32;  // pixels, as in style.css
const SPARE = 16;  // rows above and below those in view
const NEAR = 6;  // minimum of these at any time

/** Sort key of a type without the figure: below everything. */
const figure = (name) => (type) => type[name] ?? -Infinity;

/** A missing value is shown as a dash, so that it cannot be mistaken for 0. */
const amount = (name, text) => (type) => type[name] === undefined ? '-' : text(type[name]);

function limitText(type) {
  if (type.limit_used === undefined) return '-';
  return percent(type.limit_used);
}

const COLUMNS = [
  {id: 'type', title: 'Type', css: 'w-name', by: (type) => type.type, ascends: true},
  {id: 'allocator', title: 'Allocator', css: 'w-allocator middle', by: (type) => type.allocator, ascends: true},
  {id: 'bytes', title: 'In use', css: 'w-amount number', by: figure('bytes'), text: amount('bytes', bytes)},
  {id: 'held', title: 'Held', css: 'w-amount number middle', by: figure('held_bytes'), text: amount('held_bytes', bytes),
   hint: 'taken from the system, free objects included'},
  {id: 'objects', title: 'Objects', css: 'w-amount number wide', by: figure('objects'), text: amount('objects', count)},
  {id: 'limit', title: 'Limit', css: 'w-limit number', by: figure('limit_used'), text: limitText, hint: 'how much of it is used'},
  {id: 'growth', title: 'Growth', css: 'w-growth number middle', by: figure('growth_bytes_per_second'),
   text: (type, isEarly) => isEarly && type.growth_bytes_per_second ? 'too early' : amount('growth_bytes_per_second', rate)(type), hint: 'over the growth window of the configuration'},
  {id: 'failures', title: 'Failures', css: 'w-limit number wide', by: figure('failures'), text: amount('failures', count), hint: 'since boot'},
  {id: 'spark', title: 'History', css: 'w-spark wide', by: undefined, hint: 'bytes in use, or objects, over the last hour at most, and how far the lowest is below the highest; the height of the box is at least 10 %'},
];

export class TypesTable {
  /** `hrefOf(type)` links to a type; `series(type)` returns its sparkline; `isEarly()`: rates are not meaningful yet. */
  constructor(place, label, {hrefOf, series, isEarly}) {
    this.hrefOf = hrefOf;
    this.series = series;
    this.isEarly = isEarly;
    this.types = [];
    this.shown = [];
    this.accepts = () => true;
    this.sort = {column: COLUMNS[2], descends: true};
    this.first = -1;
    this.last = -1;
    this.lines = [];  // elements of the rows from first to last
    this.headers = new Map();
    const header = element('tr', {'aria-rowindex': '1'});
    for (const column of COLUMNS) {
      const cell = element('th', {scope: 'col', class: column.css, title: column.hint});
      if (column.by) {
        const button = element('button', {type: 'button'}, column.title);
        button.addEventListener('click', () => this.sortBy(column));
        cell.append(button);
      } else {
        cell.append(column.title);
      }
      this.headers.set(column.id, cell);
      header.append(cell);
    }
    this.above = element('td');  // one cell: a span would reveal hidden columns
    this.below = element('td');
    this.body = element('tbody', {class: 'rows-in-view'});
    this.table = element('table', {'aria-label': label}, element('thead', {}, header),
                         element('tbody', {class: 'spacer', 'aria-hidden': 'true'}, element('tr', {}, this.above)), this.body,
                         element('tbody', {class: 'spacer', 'aria-hidden': 'true'}, element('tr', {}, this.below)));
    this.viewport = element('div', {class: 'viewport', tabindex: '0', role: 'region', 'aria-label': label}, this.table);
    this.viewport.addEventListener('scroll', () => this.draw(false), {passive: true});
    new ResizeObserver(() => this.draw(false)).observe(this.viewport);
    place.replaceChildren(this.viewport);
    this.showSort();
  }

  sortBy(column) {
    const descends = this.sort.column === column ? !this.sort.descends : !column.ascends;
    this.sort = {column, descends};
    this.showSort();
    this.arrange();
    this.viewport.scrollTop = 0;
  }

  showSort() {
    for (const column of COLUMNS) {
      const cell = this.headers.get(column.id);
      if (this.sort.column === column) cell.setAttribute('aria-sort', this.sort.descends ? 'descending' : 'ascending');
      else cell.removeAttribute('aria-sort');
      const button = cell.querySelector('button');
      if (button) button.textContent = column.title + (this.sort.column === column ? this.sort.descends ? ' \u25be' : ' \u25b4' : '');
    }
  }

  show(types) {
    this.types = types;
    this.arrange();
  }

  filter(accepts) {
    this.accepts = accepts;
    this.viewport.scrollTop = 0;
    this.arrange();
  }

  arrange() {
    const {column, descends} = this.sort;
    const sign = descends ? -1 : 1;
    const keyed = this.types.filter(this.accepts).map((type) => [column.by(type), type]);
    keyed.sort(([a, one], [b, other]) =>
      a < b ? -sign : a > b ? sign : one.type < other.type ? -1 : one.type > other.type ? 1 : 0);
    this.shown = keyed.map(([, type]) => type);
    this.table.setAttribute('aria-rowcount', this.shown.length + 1);
    this.draw(true);
  }

  row() {
    const cells = {};
    const row = element('tr');
    for (const column of COLUMNS) {
      const cell = element('td', {class: column.css});
      cells[column.id] = cell;
      row.append(cell);
    }
    const link = element('a');
    cells.type.append(link);
    const path = svg('path', {class: 'spark'});
    const range = element('span', {class: 'quiet'});
    cells.spark.append(svg('svg', {viewBox: '0 0 100 22', preserveAspectRatio: 'none', 'aria-hidden': 'true'}, path), range);
    return {row, cells, link, path, range};
  }

  fill(line, index) {
    const type = this.shown[index];
    line.row.setAttribute('aria-rowindex', index + 2);
    line.link.textContent = type.type;
    line.link.href = this.hrefOf(type);
    line.cells.type.title = `allocator="${type.allocator}", type="${type.type}"`;
    line.cells.allocator.textContent = type.allocator;
    const isEarly = this.isEarly();
    for (const column of COLUMNS) {
      if (column.text) line.cells[column.id].textContent = column.text(type, isEarly);
    }
    const used = type.limit_used ?? 0;
    line.cells.limit.classList.toggle('bad-text', used >= 0.995);
    line.cells.limit.classList.toggle('warn-text', used >= 0.9 && used < 0.995);
    line.cells.failures.classList.toggle('bad-text', type.failures > 0 && !type.fails_routinely);
    const values = this.series(type);
    const scale = sparkScale(values);
    const text = type.bytes === undefined ? count : bytes;
    line.path.setAttribute('d', sparkPath(values, scale));
    line.range.textContent = scale ? percent(scale.most > 0 ? 1 - scale.least / scale.most : 0) : '';
    line.cells.spark.title = scale ? `from ${text(scale.least)} to ${text(scale.most)}` : '';
  }

  /** Draws the visible rows. While scrolling, rows that left the view are reused for those that enter it. */
  draw(changed) {
    const height = this.viewport.clientHeight || 544;
    const top = Math.floor(this.viewport.scrollTop / ROW);
    const bottom = Math.min(this.shown.length, top + Math.ceil(height / ROW) + 1);
    const isNear = top - this.first < NEAR && this.first > 0 || this.last - bottom < NEAR && this.last < this.shown.length;
    if (!changed && !isNear && this.first >= 0) return;
    const first = Math.max(0, top - SPARE);
    const last = Math.min(this.shown.length, bottom + SPARE);
    const focused = this.lines.find((line) => line.link === document.activeElement)?.link.href;
    const free = [];
    const keep = (index) => !changed && index >= first && index < last;
    const kept = this.lines.filter((line, offset) => keep(this.first + offset) || !free.push(line));
    const keptFirst = Math.max(first, this.first);
    const lines = [];
    for (let index = first; index < last; index++) {
      const isKept = kept.length > 0 && index >= keptFirst && index < keptFirst + kept.length;
      if (isKept) {
        lines.push(kept[index - keptFirst]);
        continue;
      }
      const line = free.shift() ?? this.row();
      this.fill(line, index);
      lines.push(line);
    }
    for (const line of free) line.row.remove();
    let before = null;
    for (const line of lines.slice().reverse()) {
      if (line.row.parentNode !== this.body || line.row.nextSibling !== before) this.body.insertBefore(line.row, before);
      before = line.row;
    }
    this.lines = lines;
    if (focused && document.activeElement?.href !== focused) lines.find((line) => line.link.href === focused)?.link.focus({preventScroll: true});
    this.above.style.height = `${first * ROW}px`;
    this.below.style.height = `${(this.shown.length - last) * ROW}px`;
    this.first = first;
    this.last = last;
  }
}
