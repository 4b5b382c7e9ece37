// SPDX-License-Identifier: BSD-2-Clause
// The status page: fetches changes from /api/v1/ and draws them. Fetches nothing while its tab is hidden.
import {element, meter, timeChart} from './chart.js';
import {TypesTable} from './table.js';
import {TypeView} from './type.js';
import {bytes, clock, count, duration, findingWords, grownText, growthToGo, incidentCharts, limitWords, memoryParts, percent, problems, problemWords, rate, readable, timeLeft, uncheckedByReason, urgency, verdict, withWords, ENOUGH} from './view.js';

const MARKS = {good: '\u2713', warn: '\u25b2', bad: '\u2716'};
const STATES = {good: 'All well', warn: 'Look', bad: 'Trouble'};
const MIN_WAIT = 1000;  // ms between requests
const MAX_WAIT = 30000;
const SHOWN = 8;  // rows of the short lists

const at = (id) => document.getElementById(id);
const keyOf = (type) => `${type.allocator}/${type.type}`;
const hrefOf = (type) => `#/type/${encodeURIComponent(type.allocator)}/${encodeURIComponent(type.type)}`;
const state = {memory: null, types: [], unlisted: [], sources: null, history: new Map(), growth: null, interval: 10, skew: 0, span: 0, allocators: new Set()};
const documents = new Map();  // by path: {tag, body}
const seriesOf = (type) => state.history.get(keyOf(type))?.values;

/** The document at that path; `changed` is whether it differs from the last one. */
async function ask(path) {
  const known = documents.get(path);
  const response = await fetch(path, {cache: 'no-store', headers: known ? {'If-None-Match': known.tag} : {}});
  const date = Date.parse(response.headers.get('Date'));
  if (date) state.skew = date - Date.now();
  if (response.status === 304) return {body: known.body, changed: false};
  const body = await response.json();
  if (!response.ok) throw Object.assign(new Error(body.error ?? response.statusText), {status: response.status});
  documents.set(path, {tag: response.headers.get('ETag'), body});
  return {body, changed: true};
}

// Extrapolating seconds to a rate per hour would cause false alarms.
const isEarly = () => state.span < ENOUGH;
const ofTables = {hrefOf, series: seriesOf, isEarly};
const typesTable = new TypesTable(at('types-table'), 'Table of memory types', ofTables);
const containersTable = new TypesTable(at('containers-table'), 'Table of containers', ofTables);

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;  // a screen reader must not announce unchanged text
}

function systemName(os) {
  return {linux: 'Linux', freebsd: 'FreeBSD'}[os] ?? os;
}

function drawHost() {
  const {host} = state.memory;
  const name = host.replay ? `Replay of ${host.replay.split('/').pop()}` : host.name || 'this machine';
  setText(at('host'), name);
  at('host').title = host.replay ?? '';
  document.title = `${name} - memstatd`;
  setText(at('kernel'), [systemName(host.os), host.release, host.machine].filter(Boolean).join(' '));
}

/** Changes every second, so without layout shifts and hidden from screen readers. */
function drawAge() {
  if (!state.memory) return;
  const {host, time} = state.memory;
  if (host.replay) return setText(at('age'), `recorded ${clock(time)}`);
  const age = Math.max(0, (Date.now() + state.skew) / 1000 - time);
  setText(at('age'), `polled ${clock(time).slice(11)}, ${duration(age)} ago`);
  at('age').classList.toggle('bad-text', age > 3 * state.interval + 5);
}

function drawVerdict() {
  const {state: how, text, about} = verdict(state);
  const place = at('verdict');
  if (place.dataset.text === text && place.classList.contains(how)) return;
  place.dataset.text = text;
  place.className = `verdict ${how}`;
  place.replaceChildren(element('span', {class: 'mark', 'aria-hidden': 'true'}, MARKS[how]),
                        element('span', {class: 'hidden'}, `${STATES[how]}: `),
                        about && about.allocator !== 'account' ? element('a', {href: hrefOf(about)}, text) : text);
}

/** A finding as memstatctl why prints it: evidence, who, effect, what to type next. */
function findingRow(finding) {
  const about = finding.about.find((one) => one.allocator !== 'account');
  const details = findingWords(finding).map((words) => element('span', {class: 'what'}, words));
  const runbook = finding.runbook ? element('a', {class: 'what', href: `/runbooks/${encodeURIComponent(finding.runbook)}`}, `Runbook ${finding.runbook}`) : null;
  return element('li', {}, element('span', {}, about ? element('a', {href: hrefOf(about)}, finding.headline) : finding.headline), ...details,
                 element('pre', {}, [...finding.next, `memstatctl explain ${finding.cause}`].join('\n')), runbook,
                 element('span', {class: 'side'}, urgency(finding), element('span', {class: 'quiet'}, finding.certainty)));
}

function drawFindings() {
  const found = state.findings?.findings ?? [];
  at('findings').hidden = found.length === 0;
  const text = JSON.stringify(found);
  if (at('finding-list').dataset.text === text) return;  // selected text must stay selected
  at('finding-list').dataset.text = text;
  at('finding-list').replaceChildren(...found.map(findingRow));
}

/** What was killed, failed or ran out, newest first, each with its capture. */
function drawIncidents() {
  const kept = state.incidents?.incidents ?? [];
  at('incidents').hidden = kept.length === 0;
  if (kept.length === 0) return;
  setText(at('incidents-title'), `${count(kept.length)} ${kept.length === 1 ? 'incident' : 'incidents'}, the last at ${clock(kept[0].time ?? 0)}`);
  at('incident-list').replaceChildren(...kept.map((one, i) => element('li', {}, element('span', {}, one.headline ?? one.problem),
    one.killed ? element('span', {class: 'what'}, `${one.killer} killed ${one.killed}`) : null,
    one.culprit ? element('span', {class: 'what'}, `Who: ${one.culprit}`) : null,
    one.evidence ? element('span', {class: 'what'}, one.evidence) : null,
    one.effect ? element('span', {class: 'what'}, one.effect) : null,
    one.left_out ? element('span', {class: 'what'}, `${count(one.left_out)} ${one.left_out === 1 ? 'file' : 'files'} had no room in this incident`) : null,
    ...incidentCharts(one).map(timeChart),
    element('a', {class: 'what', href: `/api/v1/incidents/${encodeURIComponent(one.file)}`, download: one.file}, `memstatctl why --incident ${i + 1}`),
    element('span', {class: 'side'}, one.time ? clock(one.time) : ''))));
}

const empty = (text) => element('li', {class: 'empty'}, text);

/** What the verdict's numbers count. */
function drawCauses() {
  at('causes').hidden = !state.findings;
  if (!state.findings) return;
  const {ruled_out: ruledOut, not_checked: unchecked} = state.findings;
  setText(at('causes-title'), `${count(ruledOut.length)} causes ruled out, ${count(unchecked.length)} not checked: which, and why`);
  const line = (why, causes) => element('li', {}, element('span', {}, why), element('span', {class: 'what'}, causes.map(readable).join(', ')),
                                        element('span', {class: 'side'}, count(causes.length)));
  at('cause-list').replaceChildren(...uncheckedByReason(state.findings).map(([why, causes]) => line(`Not checked: ${why}`, causes)),
                                   line('Ruled out', ruledOut));
}

function nameOf(type) {
  return element('span', {}, element('a', {href: hrefOf(type), title: `allocator="${type.allocator}", type="${type.type}"`}, type.type),
                 element('span', {class: 'tag'}, type.allocator));
}

function problemRow({type, used, failures, recent, state: how}) {
  const words = [problemWords({used, failures, recent})];
  if (type.limit_used !== undefined) words.push(limitWords(type));
  const side = type.limit_used === undefined
    ? element('span', {class: 'side'}, count(failures), element('span', {class: 'quiet'}, 'failures'))
    : element('span', {class: 'side'}, percent(type.limit_used), meter(type.limit_used, how === 'note' ? '' : how));
  return element('li', {}, nameOf(type), element('span', {class: `what ${how === 'bad' ? 'bad-text' : ''}`}, words.join('; ')), side);
}

function drawProblems() {
  const found = problems(state.types, state.history);
  const rows = found.slice(0, SHOWN).map(problemRow);
  if (rows.length === 0) {
    const nearest = state.types.filter((type) => type.limit_used > 0 && !type.container)
      .sort((a, b) => b.limit_used - a.limit_used).slice(0, 3);
    rows.push(empty('No type failed, and none uses more than 80 % of its limit.'),
              ...nearest.map((type) => problemRow({type, used: type.limit_used, failures: 0, state: 'note'})));
    for (const [index, type] of nearest.entries()) rows[index + 1].querySelector('.what').textContent = limitWords(type);
  }
  if (found.length > SHOWN) rows.push(empty(`and ${found.length - SHOWN} more: sort the table below by limit or failures`));
  at('problem-list').replaceChildren(...rows);
}

/** A part of the account is not a type, so it has no page. */
function nameOfRow(row) {
  if (row.allocator !== 'account') return nameOf(row);
  return element('span', {}, readable(row.type), element('span', {class: 'tag'}, row.type === 'unaccounted' ? 'in no part of memory' : 'part of all memory'));
}

function growthRow(row) {
  const words = [`${grownText(row, row.now)} now`];
  const left = timeLeft(row);
  if (left && !isEarly()) words.push(left.words);
  if (row.with) words.push(`with ${withWords(row)}`);
  const pace = rate(row.per_second, row.of === 'bytes');
  return element('li', {}, nameOfRow(row), element('span', {class: 'what'}, words.join('; ')),
                 element('span', {class: 'side'}, isEarly() ? `+${grownText(row, row.grew)}` : pace));
}

/** Growth that is not a problem: a cache, a step, a cycle. */
function asideRow(row) {
  return element('li', {}, nameOfRow(row), element('span', {class: 'what'}, `it ${row.why}`),
                 element('span', {class: 'side quiet'}, `+${grownText(row, row.grew)}`));
}

function drawGrowth() {
  const {growth} = state;
  setText(at('growth-title'), growth?.seconds > 0 ? `Grew most, over the last ${duration(growth.seconds)}` : 'Grew most');
  const rows = (growth?.growing ?? []).slice(0, SHOWN).map(growthRow);
  if (rows.length === 0) {
    rows.push(empty(growth === null ? 'The history is off; key history of the configuration switches it on.'
      : growth.enough ? 'Nothing grows steadily.' : growthToGo(growth, state.memory.host.replay ? undefined : state.interval)));
  }
  const aside = (growth?.set_aside ?? []).slice(0, Math.max(0, 5 - rows.length));
  if (aside.length > 0) rows.push(empty('Larger than before, for a reason other than a leak:'), ...aside.map(asideRow));
  at('growth-list').replaceChildren(...rows);
}

function drawMemory() {
  const parts = memoryParts(state.memory);
  if (parts.length === 0) {
    setText(at('memory-sum'), 'No source accounts for this machine\'s memory.');
    return at('memory-bar').setAttribute('hidden', '');
  }
  at('memory-bar').removeAttribute('hidden');
  const sum = parts.reduce((before, part) => before + part.bytes, 0);
  at('memory-bar').setAttribute('aria-label', parts.map((part) => `${part.name} ${percent(part.bytes / sum)}`).join(', '));
  at('memory-bar').replaceChildren(...parts.map((part) => {
    const isThin = part.bytes < 0.004 * sum;  // nothing but its border
    const piece = element('i', {class: `${part.color}${isThin ? ' thin' : ''}`, title: `${part.name}: ${bytes(part.bytes)}`});
    piece.style.width = `${100 * part.bytes / sum}%`;
    return piece;
  }));
  at('memory-legend').replaceChildren(...parts.map((part) => element(
    'li', {}, element('span', {class: `swatch ${part.color}`, 'aria-hidden': 'true'}), element('span', {class: 'name'}, part.name),
    element('span', {class: 'number'}, bytes(part.bytes)), element('span', {class: 'number quiet'}, percent(part.bytes / sum)))));
  const {total_bytes: total, available_bytes: available} = state.memory;
  setText(at('memory-sum'), `Together ${bytes(sum)}, which is ${sum === total ? 'all memory of the machine' : `not the ${bytes(total)} of the machine: the figures were read one after the other`}` +
    (available === undefined ? '.' : `; programs can still get ${bytes(available)} of it.`));
}

function accepted() {
  const wanted = at('filter').value.trim().toLowerCase();
  return (type) => (state.allocators.size === 0 || state.allocators.has(type.allocator)) &&
    (wanted === '' || type.type.toLowerCase().includes(wanted) || type.allocator.includes(wanted));
}

function drawCount() {
  const all = typesTable.types.length;
  const shown = typesTable.shown.length;
  const left = state.unlisted.reduce((before, one) => before + one.types, 0);
  setText(at('types-left'), left === 0 ? '' : `Not listed: ${state.unlisted.map((one) => `${count(one.types)} of ${one.allocator}` +
    (one.bytes === undefined ? '' : `, ${bytes(one.bytes)}`)).join('; ')}.`);
  setText(at('types-count'), shown === all ? `${count(all)} types` : `${count(shown)} of ${count(all)} types`);
}

function applyFilter() {
  typesTable.filter(accepted());
  drawCount();
}

function drawChips(types) {
  const allocators = [...new Set(types.map((type) => type.allocator))].sort();
  if (at('chips').dataset.have === allocators.join()) return;
  at('chips').dataset.have = allocators.join();
  at('chips').replaceChildren(...allocators.map((allocator) => {
    const chip = element('button', {type: 'button', 'aria-pressed': String(state.allocators.has(allocator))}, allocator);
    chip.addEventListener('click', () => {
      if (!state.allocators.delete(allocator)) state.allocators.add(allocator);
      chip.setAttribute('aria-pressed', String(state.allocators.has(allocator)));
      applyFilter();
    });
    return chip;
  }));
}

function drawTypes() {
  const plain = state.types.filter((type) => !type.container);
  const containers = state.types.filter((type) => type.container);
  drawChips(plain);
  typesTable.accepts = accepted();
  typesTable.show(plain);
  drawCount();
  at('containers').hidden = containers.length === 0;
  containersTable.show(containers);
}

/** The first paths of a list; the hint has the others. */
function shortened(origin) {
  const paths = origin.split(', ');
  return paths.length > 4 ? `${paths.slice(0, 3).join(', ')} and ${paths.length - 3} more` : origin;
}

function drawSources() {
  const cells = (source) => [
    ['source', source.name], ['state', source.state + (source.needs ? `, needs ${source.needs.replaceAll(',', ' and ')}` : '')], ['types', source.types ? count(source.types) : '-'],
    ['took', source.read_seconds ? `${(1000 * source.read_seconds).toFixed(1)} ms` : '-'],
    [source.error ? 'because' : 'reads', source.error ? source.error.replace(`${source.name}: `, '')
      : shortened(source.origin) + (source.left_out ? `; left out: ${source.left_out}` : ''), source.origin]];
  const rank = {down: 0, up: 1, 'not read yet': 2, 'not permitted': 3, replaced: 4, 'not present': 5, off: 6};
  const rows = [...state.sources].sort((a, b) => (rank[a.state] ?? 9) - (rank[b.state] ?? 9)).map((source) => element(
    'tr', {}, ...cells(source).map(([label, text, hint]) => element(
      'td', {'data-label': label, title: hint,
             class: label === 'types' || label === 'took' ? 'number' : label === 'state' ? source.state === 'down' ? 'bad-text name' : 'name' : label === 'source' ? 'name' : undefined},
      text))));
  at('sources').replaceChildren(element('table', {}, element('thead', {}, element('tr', {}, ...['Source', 'State', 'Types', 'Took', 'Reads, or why not'].map(
    (title, index) => element('th', {scope: 'col', class: index === 2 || index === 3 ? 'number' : undefined}, title)))), element('tbody', {}, ...rows)));
}

function drawDaemon(daemon) {
  const own = daemon.metrics;
  state.interval = own.memstat_poll_interval_seconds ?? state.interval;
  const polls = own.memstat_poll_duration_seconds_count;
  const facts = [
    ['Memory', own.process_resident_memory_bytes && bytes(own.process_resident_memory_bytes)],
    ['of that, history', daemon.history_bytes === undefined ? undefined : daemon.history_bytes ? bytes(daemon.history_bytes) : 'off'],
    ['CPU time since start', own.process_cpu_seconds_total !== undefined && `${own.process_cpu_seconds_total.toFixed(1)} s`],
    ['A poll takes', polls > 0 && `${(1000 * own.memstat_poll_duration_seconds_sum / polls).toFixed(1)} ms`],
    ['Polls every', `${duration(state.interval)}`], ['Polls missed', own.memstat_poll_missed_total !== undefined && count(own.memstat_poll_missed_total)],
    ['Warning', daemon.warning], ['Series on /metrics', own.memstat_series !== undefined && count(own.memstat_series)],
  ];
  at('daemon').replaceChildren(...facts.filter(([, text]) => text).map(([name, text]) => element('div', {}, element('dt', {}, name), element('dd', {}, text))));
  setText(at('version'), daemon.version);
}

function wantedType() {
  const match = /^#\/type\/([^/]+)\/(.*)$/.exec(location.hash);
  try {
    return match ? {allocator: decodeURIComponent(match[1]), type: decodeURIComponent(match[2])} : null;
  } catch {
    return null;  // an invalid escape
  }
}

async function drawType() {
  const wanted = wantedType();
  at('overview').hidden = wanted !== null;
  at('type').hidden = wanted === null;
  if (state.view && keyOf(state.view.wanted) !== keyOf(wanted ?? {})) {
    state.view.close();
    state.view = undefined;
  }
  if (!wanted) return;
  if (state.view === undefined) {
    state.view = new TypeView(at('type'), wanted);
    window.scrollTo(0, 0);
    at('type-title').focus({preventScroll: true});  // before the responses arrive: keys pressed meanwhile belong to this view
  }
  const view = state.view;
  const name = `allocator=${encodeURIComponent(wanted.allocator)}&type=${encodeURIComponent(wanted.type)}`;
  try {
    const [{body: type}, history, events] = await Promise.all([
      ask(`/api/v1/types/${encodeURIComponent(wanted.allocator)}/${encodeURIComponent(wanted.type)}`),
      ask(`/api/v1/history?${name}`).catch(() => null), ask('/api/v1/events').catch(() => null)]);
    if (state.view === view) view.show(type, history?.body, events?.body?.events);
  } catch (error) {
    if (state.view === view) view.fail(error.message);
  }
}

function complain(text) {
  at('trouble').hidden = !text;
  setText(at('trouble'), text ?? '');
}

function draw() {
  drawHost();
  drawAge();
  drawVerdict();
  drawFindings();
  drawIncidents();
  drawCauses();
  drawProblems();
  drawGrowth();
  drawMemory();
  drawTypes();
  drawSources();
}

async function refresh() {
  const memory = await ask('/api/v1/memory');
  if (!memory.changed && state.memory) return false;
  const asked = ask('/api/v1/history').catch(() => ({body: {times: [], series: []}}));  // the history may be off
  const grown = ask('/api/v1/growth').catch(() => ({body: null}));
  const found = ask('/api/v1/findings').catch(() => ({body: null}));
  const incidents = ask('/api/v1/incidents').catch(() => ({body: null}));
  const [types, sources] = await Promise.all([ask('/api/v1/types'), ask('/api/v1/sources')]);
  const isFirst = state.memory === null;
  state.findings = (await found).body;
  state.incidents = (await incidents).body;
  state.memory = memory.body;
  state.types = types.body.types;
  state.unlisted = types.body.unlisted;
  state.sources = sources.body.sources;
  drawDaemon(sources.body.daemon);
  if (isFirst) {
    draw();  // show the verdict before the sparklines arrive
    performance.mark('first-render');
  }
  const {times, series} = (await asked).body;
  state.history = new Map(series.map((one) => [keyOf(one), one]));
  state.growth = (await grown).body;
  // Without a history, growth is measured since memstatd started.
  const {history_bytes: kept, metrics: own} = sources.body.daemon;
  state.span = times.length ? times[times.length - 1] - times[0] : kept === 0 ? Math.max(0, state.memory.time - own.process_start_time_seconds) : 0;
  draw();
  await drawType();
  document.documentElement.dataset.generation = state.memory.generation;
  return true;
}

let timer = 0;
let wait = MIN_WAIT;
let isAsking = false;

async function tick() {
  clearTimeout(timer);
  if (document.hidden || isAsking) return;  // hidden: continues when the tab is shown again
  isAsking = true;
  try {
    const changed = await refresh();
    complain(null);
    // Right after the next poll is due; if it is late, a little later.
    const due = state.memory.host.replay ? MIN_WAIT : 1000 * (state.memory.time + state.interval + 0.3) - (Date.now() + state.skew);
    wait = changed ? Math.min(MAX_WAIT, Math.max(MIN_WAIT, due)) : Math.min(MAX_WAIT, Math.max(MIN_WAIT, wait * 1.3));
  } catch (error) {
    complain(error.status === 503 ? 'memstatd has not finished its first poll yet. This page will update itself.'
      : `memstatd does not answer (${error.message}). ${state.memory ? 'The figures are from the last answer. ' : ''}This page keeps trying.`);
    wait = Math.min(MAX_WAIT, Math.max(MIN_WAIT, 2 * wait));
    if (error.status === 503) wait = MIN_WAIT;
  }
  isAsking = false;
  timer = setTimeout(tick, wait);
}

at('filter').addEventListener('input', applyFilter);
document.addEventListener('visibilitychange', tick);
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && wantedType()) location.hash = '';
  if (event.key === '/' && document.activeElement.tagName !== 'INPUT' && !wantedType()) {
    event.preventDefault();
    at('filter').focus();
  }
});
window.addEventListener('hashchange', drawType);
setInterval(() => { if (!document.hidden) drawAge(); }, 1000);
drawType();
tick();
