// SPDX-License-Identifier: BSD-2-Clause
// Presents the documents of /api/v1/ to people: words, order, amounts. Independent of the page, so that tests can run it alone.

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

// Amounts follow core/base/amount_text.cpp; tests/fixtures/amounts.txt has examples of both.
const withDigits = (number) => number < 9.95 && Math.abs(number - Math.round(number)) >= 0.05 ? number.toFixed(1) : String(Math.round(number));

export function bytes(amount) {
  let value = Math.abs(amount);
  let unit = 0;
  while (value >= 1023.5 && unit + 1 < UNITS.length) {
    value /= 1024;
    unit++;
  }
  return `${amount < 0 ? '-' : ''}${withDigits(value)} ${UNITS[unit]}`;
}

/** 12 345 with thin spaces, independent of language. */
export function count(number) {
  if (number < 10000) return String(Math.round(number));
  return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

export function percent(share) {
  const value = 100 * share;
  if (value > 0 && value < 0.05) return 'less than 0.1 %';
  if (value < 100 && value >= 99.5) return `${(Math.floor(10 * value) / 10).toFixed(1)} %`;  // rounding would make it all
  return `${value < 0.95 ? withDigits(value) : Math.round(value)} %`;
}

export function duration(seconds) {
  const [day, year] = [86400, 365 * 86400];
  if (seconds >= 100 * year) return 'over 100 y';
  if (seconds < 100) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 100 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 2 * day) return `${withDigits(seconds / 3600)} h`;
  return seconds < 2 * year ? `${Math.round(seconds / day)} d` : `${withDigits(seconds / year)} y`;
}

export function rate(perSecond, isBytes = true) {
  const readable = isBytes ? 1048576 : 1;
  const size = Math.abs(perSecond);
  const [factor, unit] = size >= readable ? [1, 's'] : 60 * size >= readable ? [60, 'min'] : [3600, 'h'];
  return `${perSecond > 0 ? '+' : ''}${(isBytes ? bytes : count)(factor * perSecond)}/${unit}`;
}

export function clock(seconds) {
  const date = new Date(seconds * 1000);
  const two = (number) => String(number).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ` +
    `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

export const readable = (part) => part.replaceAll('_', ' ');
export const times = (number) => number === 1 ? 'once' : `${count(number)} times`;

/** Types that are normally at their limit: pools are created full, and caches fill all they may. */
const FULL_BY_DESIGN = new Set(['memcg', 'hugetlb', 'zswap', 'cma']);
const isFullByDesign = (type) => FULL_BY_DESIGN.has(type.allocator) ||
  (type.allocator === 'table' && ['buffer_space', 'buffer_headers', 'tcp_time_wait'].includes(type.type));

/** Failures within the window, or nothing if the history does not reach that far. */
const recent = (history, type) => history?.get(`${type.allocator}/${type.type}`)?.failures;

/** Types that failed or are near their limit, most urgent first. `history`: by "allocator/type". */
export function problems(types, history) {
  const found = [];
  for (const type of types) {
    const used = isFullByDesign(type) ? 0 : type.limit_used ?? 0;
    const failures = type.fails_routinely || type.allocator === 'memcg' ? 0 : type.failures ?? 0;
    if (used < 0.8 && failures === 0 && !(type.limit_hits > 0 && used > 0)) continue;
    const now = recent(history, type);
    // Failures before the first poll do not count: nothing shows that they still occur.
    const isBad = used >= 0.995 || (failures > 0 && now > 0);
    const isNear = used >= 0.9;
    found.push({type, used, failures, recent: now, state: isBad ? 'bad' : isNear ? 'warn' : 'note'});
  }
  const order = {bad: 0, warn: 1, note: 2};
  const urgency = (one) => one.used + (one.recent > 0 ? 2 : 0);
  return found.sort((a, b) => order[a.state] - order[b.state] || urgency(b) - urgency(a) || b.failures - a.failures);
}

export function problemWords({used, failures, recent: now}) {
  const words = [];
  if (used >= 1) words.push('is at its limit');
  else if (used >= 0.8) words.push(`is at ${percent(used)} of its limit`);
  if (failures > 0) words.push(`failed ${times(failures)}${now > 0 && now < failures ? `, ${count(now)} of them lately` : now === 0 ? ', not since the first poll' : ''}`);
  return words.join(' and ') || 'hit its limit before';
}

/** The amount that a type uses of its limits, in its own units. */
export function limitWords(type) {
  const words = [];
  if (type.allocator === 'uma' && type.free_objects > 0 && type.limit_objects !== undefined) {  // uma(9) also counts cached objects
    return `${count(type.objects)} in use and ${count(type.free_objects)} cached of ${count(type.limit_objects)} objects`;
  }
  if (type.limit_objects !== undefined) words.push(`${count(type.objects ?? 0)} of ${count(type.limit_objects)} objects`);
  if (type.limit_bytes !== undefined) words.push(`${bytes(type.bytes ?? 0)} of ${bytes(type.limit_bytes)}`);
  return words.join(', ') + (type.limit_configured ? ' (limit of the configuration)' : '');
}

/** Time until a row of /api/v1/growth reaches its limit or exhausts available memory, in words; nothing if unknown. */
export function timeLeft(row) {
  const ways = [[row.limit_in_seconds, 'until its limit'], [row.memory_gone_in_seconds, 'until no memory is available']]
    .filter(([seconds]) => seconds !== undefined).sort(([a], [b]) => a - b);
  return ways.length ? {seconds: ways[0][0], words: ways[0][0] < 365 * 86400 ? `${duration(ways[0][0])} ${ways[0][1]}` : 'no end within a year'} : undefined;
}

/** An amount of a row of /api/v1/growth. */
export const grownText = (row, amount) => row.of === 'bytes' ? bytes(amount) : `${count(amount)} objects`;

/** The types that grow with a row, by as many objects: "dentry and lsm_file_cache". */
export function withWords(row) {
  const names = (row.with ?? []).map((one) => one.type);
  if (names.length < 2) return names.join('');
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

/** Minimum seconds of history for a growth rate; less is startup or noise. */
export const ENOUGH = 300;

/** One sentence on the state of the machine, the first finding, and its severity: good, warn, bad. `findings`: the document. */
export function verdict({types, findings}) {
  if (!findings) return {state: 'warn', text: 'Findings are unknown: /api/v1/findings did not answer.'};
  const [first, ...others] = findings.findings;
  if (first) {
    const more = others.length > 0 ? ` ${others.length} more ${others.length === 1 ? 'finding' : 'findings'}: memstatctl why.` : '';
    return {state: first.severity === 'now' ? 'bad' : 'warn', text: `${first.headline}.${more}`, about: first.about[0]};
  }
  if (types.length === 0) return {state: 'warn', text: 'There are no memory types: no source has reported any.'};
  const looked = findings.ruled_out.length;
  const examined = `${looked} ${looked === 1 ? 'cause' : 'causes'} examined, ${findings.not_checked.length} could not be checked`;
  if (!findings.view) return {state: 'good', text: `Nothing is wrong: ${examined}.`};
  const {words, permit} = findings.view;
  return {state: 'warn', text: `Nothing is wrong in the part that can be seen: ${examined}: ${words}; ${permit}.`};
}

/** Causes that could not be checked, by reason: [[why, [cause, ...]], ...], the reason of most first. */
export function uncheckedByReason({not_checked: unchecked}) {
  const causes = new Map();
  for (const {cause, why} of unchecked) causes.set(why, [...causes.get(why) ?? [], cause]);
  return [...causes].sort(([, a], [, b]) => b.length - a.length);
}

/** What remains until growth can be told from chance. `interval`: seconds between two polls; undefined: there will be no more. */
export function growthToGo({polls, polls_needed: needed}, interval) {
  const rest = interval === undefined ? '' : `; the rest takes ${duration(Math.max(1, needed - polls) * interval)}`;
  return `${polls} of the ${needed} polls that it takes to distinguish growth from chance${rest}.`;
}

/** The lowest and the highest value of a sparkline, and its scale: a line of less than a tenth of the highest value stays low. */
export function sparkScale(values) {
  const known = (values ?? []).filter((value) => value !== null);
  if (known.length < 2) return undefined;
  let [least, most] = [Infinity, -Infinity];
  for (const value of known) [least, most] = [Math.min(least, value), Math.max(most, value)];
  const span = Math.max(most - least, 0.1 * most);
  return {least, most, from: (least + most - span) / 2, span};
}

/** How urgent a finding is: "now", "6 h left", "wasteful". */
export const urgency = ({severity, seconds_left: left}) => severity === 'soon' && left !== null ? `${duration(left)} left` : severity;

/** The lines under a finding's headline: evidence, who, effect, what else it explains. */
export function findingWords({evidence, who, effect, explains}) {
  return [evidence.map((fact) => fact.text).join('; '), who.map((one) => `${one.kind} ${one.name}`).join(', '), effect, explains.join('; ')]
    .map((text, index) => text && `${['', 'Who: ', '', 'This explains, too: '][index]}${text}`).filter(Boolean);
}

const RECENT = 600;  // seconds of an incident that its charts show

/** The charts of an incident's last minutes: of available memory, and of its control group with the limit. `points`: [time, amount]. */
export function incidentCharts({figures = [], object, time}) {
  const shown = figures.filter((one) => one.time >= (figures.at(-1)?.time ?? 0) - RECENT);
  const chart = (what, key, limit) => {
    const points = shown.filter((one) => one[key] !== undefined).map((one) => [one.time, one[key]]);
    if (points.length < 2) return undefined;
    const amounts = points.map(([, amount]) => amount);
    const most = Math.max(...amounts, limit ?? 0, 1);
    const words = `${what}: ${bytes(amounts[0])}, then from ${bytes(Math.min(...amounts))} to ${bytes(Math.max(...amounts))}, at the end ${bytes(amounts.at(-1))}` +
      (limit === undefined ? '' : `; its limit is ${bytes(limit)}`);
    return {points, most, limit, moment: time, words};
  };
  return [chart('Available memory', 'available_bytes'), chart(object, 'bytes', shown.findLast((one) => one.limit_bytes !== undefined)?.limit_bytes)].filter(Boolean);
}

/** The path of [time, amount] points in a box of 100 by `height`, from 0 to `most`. */
export function timePath({points, most}, height) {
  const [from, to] = [points[0][0], points.at(-1)[0]];
  return points.map(([time, amount], index) => `${index === 0 ? 'M' : 'L'}${timePlace(time, from, to)} ${(height - amount * height / most).toFixed(1)}`).join('');
}

/** Where a time is in a box of 100, as text. */
export function timePlace(time, from, to) {
  return (to > from ? 100 * Math.min(1, Math.max(0, (time - from) / (to - from))) : 0).toFixed(1);
}

/** Parts by colour: eight colours, then the same with lines, with dots and with bars. The usual ones are plain. */
const PARTS = [
  ['page_cache', 'anonymous', 'slab_reclaimable', 'buffers', 'slab_unreclaimable', 'shared', 'page_tables', 'per_cpu_pages',
   'memory_map', 'vmalloc', 'percpu', 'kernel_stacks', 'sockets', 'hugetlb', 'zswap', 'kernel_misc',
   'swap_cache', 'tracing', 'gpu', 'zsmalloc', 'arc', 'cma', 'secondary_page_tables', 'detached', 'bounce', 'writeback_copies', 'balloon', 'hardware_corrupted', 'slab'],
  ['inactive', 'active', 'wired_other', 'buffers', 'kmem', 'laundry', 'page_tables', 'unswappable', 'user_wired', 'pv_entries', 'set_aside', 'cache']];

/** The classes that draw a part: the same on each machine, whatever other parts there are. */
export function lookOf(part) {
  const known = Math.max(...PARTS.map((names) => names.indexOf(part)));
  const index = known >= 0 ? known : 29 + [...part].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % 3;  // added since
  return `c${index % 8} t${Math.floor(index / 8)}`;
}

/** The parts of all memory, largest first, with unaccounted and free memory: they add up to the total. */
export function memoryParts(memory) {
  if (!(memory.total_bytes > 0)) return [];
  const parts = memory.parts.filter((part) => part.bytes > 0).sort((a, b) => b.bytes - a.bytes)
    .map((part) => ({name: readable(part.part), bytes: part.bytes, color: lookOf(part.part)}));
  if (memory.unaccounted_bytes > 0) parts.push({name: 'unaccounted', bytes: memory.unaccounted_bytes, color: 'crest'});
  if (memory.free_bytes > 0) parts.push({name: 'free', bytes: memory.free_bytes, color: 'cfree'});
  return parts;
}
