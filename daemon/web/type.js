// SPDX-License-Identifier: BSD-2-Clause
// The view of one memory type. Elements are updated in place, so that focus and scroll position survive a poll.
import {bars, element} from './chart.js';
import {HistoryChart} from './history.js';
import {bytes, count, limitWords, percent, problemWords, rate} from './view.js';

function factList(type) {
  const list = [['In use', type.bytes === undefined ? undefined : bytes(type.bytes)],
                ['Objects', type.objects === undefined ? undefined : count(type.objects)],
                ['Held', type.held_bytes === undefined ? undefined : bytes(type.held_bytes)],
                ['Growth', type.growth_bytes_per_second === undefined ? undefined : rate(type.growth_bytes_per_second)],
                ['Limit used', type.limit_used === undefined ? undefined : percent(type.limit_used), limitWords(type)],
                ['Failures', type.failures === undefined ? undefined : count(type.failures)],
                ['Limit hits', type.limit_hits === undefined ? undefined : count(type.limit_hits)], ['Detail', type.detail], ['Merged with', type.also?.join(', ')]];
  return list.filter(([, text]) => text !== undefined).map(([name, text, more]) => element(
    'div', {}, element('dt', {}, name), element('dd', {}, text), more ? element('dd', {class: 'quiet small'}, more) : undefined));
}

/** Describes the type, and what to do about it. */
function meaningOf(type) {
  const texts = [type.what, type.when_it_grows && `When it grows: ${type.when_it_grows}`].filter(Boolean);
  const link = type.runbook && element('p', {}, element('a', {href: `/runbooks/${type.runbook}`}, `Runbook ${type.runbook}`));
  return [...texts.map((text) => element('p', {}, text)), link].filter(Boolean);
}

/** Formats a figure for people: bytes with a unit, shares unchanged. */
function valueText(figure) {
  if (figure.unit === 'bytes') return bytes(figure.value);
  if (figure.metric.endsWith('_bytes_per_second')) return `${bytes(Math.round(figure.value))}/s`;
  return Number.isInteger(figure.value) ? count(figure.value) : String(Number(figure.value.toPrecision(4)));
}

function figureRows(type) {
  return type.figures.map((figure) => element(
    'tr', {}, element('td', {'data-label': 'metric', class: 'name'}, figure.metric), element('td', {'data-label': 'value', class: 'number'}, valueText(figure)),
    element('td', {'data-label': 'meaning'}, figure.help),
    element('td', {'data-label': 'the kernel counts it in'}, figure.origin ? `${figure.origin} (${figure.source})` : 'computed by memstatd')));
}

function split(place, tables, name, none) {
  place.replaceChildren(...(tables.length ? tables.flatMap((table) => [element('p', {class: 'quiet'}, table.help), bars(table.values, name, table.unit === 'bytes' ? bytes : count)])
    : [element('p', {class: 'quiet'}, none)]));
}

/** Estimated bytes of a number of objects, from those in use. */
function limitOf(type, figure) {
  if (figure !== 'bytes') return type.limit_objects;
  return type.limit_bytes ?? (type.limit_objects && type.objects && type.bytes ? type.limit_objects * type.bytes / type.objects : undefined);
}

/** Failed allocations since the history began. */
const recentFailures = (history) => history.failures.length < 2 ? 0 : history.failures.at(-1)[1] - history.failures[0][1];

const SECTION = (title, ...children) => element('section', {'aria-label': title}, element('h2', {}, title), ...children);

export class TypeView {
  /** Fills `place` for `wanted`, {allocator, type}. */
  constructor(place, wanted) {
    this.wanted = wanted;
    this.words = element('p', {}, 'Loading the figures.');
    this.meaning = element('div', {});
    this.facts = element('dl', {class: 'facts'});
    this.historyPlace = element('div', {});
    this.cpus = element('div', {});
    this.nodes = element('div', {});
    this.figures = element('tbody', {});
    const table = element('table', {}, element('thead', {}, element('tr', {}, ...['Metric', 'Value', 'Meaning', 'Where the kernel counts it'].map(
      (title, index) => element('th', {scope: 'col', class: index === 1 ? 'number' : undefined}, title)))), this.figures);
    this.parts = [SECTION('History', this.historyPlace), SECTION('By CPU', this.cpus), SECTION('By memory node', this.nodes),
                  SECTION('All figures, and where they come from', element('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Figures'}, table))];
    this.historyTitle = this.parts[0].querySelector('h2');
    place.replaceChildren(
      element('p', {}, element('a', {href: '#'}, '\u2190 All types'), ' ', element('span', {class: 'quiet'}, '(Escape)')),
      element('section', {'aria-labelledby': 'type-title'}, element('h1', {id: 'type-title', tabindex: '-1'}, wanted.type, element('span', {class: 'tag'}, wanted.allocator)),
              this.words, this.meaning, this.facts), ...this.parts);
    this.hideParts(true);
  }

  hideParts(hidden) {
    for (const part of this.parts) part.hidden = hidden;
  }

  fail(why) {
    this.words.textContent = `${this.wanted.type}: ${why}`;
    this.meaning.replaceChildren();
    this.facts.replaceChildren();
    this.hideParts(true);
  }

  /** `history` is undefined if it is off, `events` if the kernel's log is not read. */
  show(type, history, events = []) {
    const said = problemWords({used: type.limit_used ?? 0, failures: type.failures ?? 0, recent: history ? recentFailures(history) : undefined});
    this.words.textContent = said === 'hit its limit before' && !(type.limit_hits > 0) ? 'It has no failure and is not near a limit.' : `It ${said}.`;
    this.meaning.replaceChildren(...meaningOf(type));
    this.facts.replaceChildren(...factList(type));
    this.hideParts(false);
    if (history) {
      this.historyTitle.textContent = history.figure === 'bytes' ? 'History of bytes in use' : 'History of objects in use';
      this.chart ??= new HistoryChart(this.historyPlace);
      this.chart.show(history, limitOf(type, history.figure), events);
    } else {
      this.historyPlace.replaceChildren(element('p', {class: 'quiet'}, 'The history is off; key history of the configuration switches it on.'));
    }
    split(this.cpus, type.cpus, 'CPU', 'No figures by CPU: the kernel has none for this type, or key per_cpu of the configuration does not select it.');
    split(this.nodes, type.nodes, 'Node', 'No figures by node: the kernel has none for this type, or key tier of the configuration is not full.');
    this.figures.replaceChildren(...figureRows(type));
  }

  close() {
    this.chart?.close();
  }
}
