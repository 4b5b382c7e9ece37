// SPDX-License-Identifier: BSD-2-Clause
// A table of any number of types: only the rows in view are elements, used again while one scrolls.
import {element, sparkPath, svg} from './chart.js';
import {bytes, count, percent, rate} from './view.js';

const ROW = 32;  // pixels, as in style.css
const SPARE = 8;  // rows above and below those in view

/** What a type is sorted by when it lacks the figure: below everything. */
const figure = (name) => (type) => type[name] ?? -Infinity;

/** `text` of what is not there is a dash, so that it is never taken for 0. */
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
   text: amount('growth_bytes_per_second', rate), hint: 'over the growth window of the configuration'},
  {id: 'failures', title: 'Failures', css: 'w-limit number wide', by: figure('failures'), text: amount('failures', count), hint: 'since boot'},
  {id: 'spark', title: 'Last hour', css: 'w-spark wide', by: undefined},
];

export class TypesTable {
  /** `open(type)` shows one type; `series(type)` gives the values of its sparkline. */
  constructor(place, label, {hrefOf, series}) {
    this.hrefOf = hrefOf;
    this.series = series;
    this.types = [];
    this.shown = [];
    this.accepts = () => true;
    this.sort = {column: COLUMNS[2], descends: true};
    this.first = -1;
    this.last = -1;
    this.pool = [];
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
    this.above = element('td');  // one cell: a span would bring hidden columns back
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
    cells.spark.append(svg('svg', {viewBox: '0 0 100 22', preserveAspectRatio: 'none', 'aria-hidden': 'true'}, path));
    return {row, cells, link, path};
  }

  fill(line, index) {
    const type = this.shown[index];
    line.row.setAttribute('aria-rowindex', index + 2);
    line.link.textContent = type.type;
    line.link.href = this.hrefOf(type);
    line.cells.type.title = `allocator="${type.allocator}", type="${type.type}"`;
    line.cells.allocator.textContent = type.allocator;
    for (const column of COLUMNS) {
      if (column.text) line.cells[column.id].textContent = column.text(type);
    }
    const used = type.limit_used ?? 0;
    line.cells.limit.classList.toggle('bad-text', used >= 0.995);
    line.cells.limit.classList.toggle('warn-text', used >= 0.9 && used < 0.995);
    line.cells.failures.classList.toggle('bad-text', type.failures > 0 && !type.fails_routinely);
    line.path.setAttribute('d', sparkPath(this.series(type)));
  }

  /** Draws the rows in view; those that are drawn already only when what they show may have changed. */
  draw(changed) {
    const height = this.viewport.clientHeight || 544;
    const first = Math.max(0, Math.floor(this.viewport.scrollTop / ROW) - SPARE);
    const last = Math.min(this.shown.length, first + Math.ceil(height / ROW) + 2 * SPARE);
    if (!changed && first === this.first && last === this.last) return;
    const needed = last - first;
    while (this.pool.length < needed) {
      const line = this.row();
      this.pool.push(line);
    }
    const focused = this.pool.find((line) => line.link === document.activeElement)?.link.href;
    for (let i = 0; i < needed; i++) {
      this.fill(this.pool[i], first + i);
      if (this.pool[i].row.parentNode !== this.body) this.body.append(this.pool[i].row);
    }
    for (let i = needed; i < this.pool.length; i++) this.pool[i].row.remove();
    if (focused) this.pool.slice(0, needed).find((line) => line.link.href === focused)?.link.focus({preventScroll: true});
    this.above.style.height = `${first * ROW}px`;
    this.below.style.height = `${(this.shown.length - last) * ROW}px`;
    this.first = first;
    this.last = last;
  }
}

