// SPDX-License-Identifier: BSD-2-Clause
// Unlimited growth. Uses medians of half an hour, so that spikes do not count; compares with the same hour yesterday, so
// that day and night do not count; relative to the machine's memory, so that small machines warn early and large ones only
// when it matters.
local std = import '../lib/std.libsonnet';
function(c, l)
  local types = 'instance_allocator_type:memstat_type_bytes';
  local unaccounted = 'instance:memstat_unaccounted_bytes';
  // These are recorded every `slowInterval`, not at the time of evaluation, so an instant query would miss them.
  local now(metric) = 'last_over_time(%s[15m])' % metric;
  local ago(metric, offset) = 'last_over_time(%s[15m] offset %s)' % [metric, offset];
  local grew(metric, span) = now('%s:growth%s' % [metric, span]);
  local grewBefore(metric, span, offset) = ago('%s:growth%s' % [metric, span], offset);
  local each(growths, share) = std.join('\nand ', ['%s %s' % [growth, l.partOfMemory(share)] for growth in growths]);
  // The sum of the growths that are each this large. Few are, so few series are added.
  local added(growths, share) = std.join('\n+ ', ['(%s %s)' % [growth, l.partOfMemory(share)] for growth in growths]);
  // Growth in both halves of the hour, and well above the same hour yesterday. Without data of yesterday, more growth is
  // required.
  local hour(metric) = |||
    %(grew)s %(share)s
    and %(sinceYesterday)s %(share)s
    or %(grew)s %(more)s
    unless on (%(host)s) %(yesterday)s
  ||| % {
    grew: added([grew(metric, '30m'), grewBefore(metric, '30m', '30m')], c.leakHour / 3),
    sinceYesterday: grew(metric, '1d'),
    yesterday: ago(if metric == types then 'instance:memstat_type_bytes:count' else metric + ':median30m', '1d'),
    share: l.partOfMemory(c.leakHour),
    more: l.partOfMemory(c.leakHourWithoutYesterday),
    host: l.host,
  };
  // A little growth on each of the last three days, or more on the last day and in each quarter of it.
  local days(metric) = |||
    (
      %(sum)s
    )
    or (
      %(lastDay)s
      and %(quarters)s
    )
  ||| % {
    local daily = [grew(metric, '1d'), grewBefore(metric, '1d', '1d'), grewBefore(metric, '1d', '2d')],
    sum: added(daily, c.leakEachOfThreeDays),
    lastDay: '%s %s' % [daily[0], l.partOfMemory(c.leakDay)],
    quarters: each([grew(metric, '6h')] + [grewBefore(metric, '6h', offset) for offset in ['6h', '12h', '18h']], c.leakQuarterOfDay),
  };
  // A little growth over the week and in each half of it, too slow to show in days. A type that was too small to be recorded
  // a week ago counts as grown if it grew on the last day, too: otherwise it only has another name.
  local week = |||
    %(week)s > on (%(host)s) group_left () clamp_max(%(share)s * %(total)s, %(most)s)
    %(halves)s
    and on (%(host)s) %(watched)s
  ||| % {
    local median = types + ':median30m',
    local before(days) = if days == 0 then now(median) else ago(median, '%dh' % (24 * days)),
    // Growth between two times; no result if the type was not recorded at one of them.
    local between(from, to) = '(%s - %s)' % [before(to), before(from)],
    host: l.host,
    week: '(%s - %s or %s and %s > on (%s) group_left () clamp_max(%g * %s, %d))' % [
      before(0), before(7), before(0), between(1, 0), l.host, c.leakWeek / 28, l.total, c.leakWeekMost / 28
    ],
    share: '%g' % c.leakWeek,
    most: '%d' % c.leakWeekMost,
    total: l.total,
    halves: std.join('\n', [
      'unless %s <= on (%s) group_left () clamp_max(%g * %s, %d)' % [between(from, from - 3.5), l.host, c.leakWeek / 4, l.total, c.leakWeekMost / 4]
      for from in [7, 3.5]
    ]),
    watched: ago('instance:memstat_type_bytes:count', '7d'),
  };
  // Reclaimable caches count only while memory is short, when they should have been reclaimed.
  local counts = |||
    unless (
      last_over_time(%s{type=~"%s"}[15m])
      and on (%s) instance:memstat_available:ratio > %g
    )
  ||| % [types + ':median30m', c.reclaimable, l.host, c.memoryLow];
  local quiet(expr) = '(\n' + expr + ')\n' + counts;
  local typeName = '{{ $labels.allocator }} type {{ $labels.type }}';
  local gone(seconds) = l.duration(
    ' At this rate memory will be exhausted in ',
    '%s * %d / %%f' % [l.of('memstat_memory_available_bytes', l.hostMatchers), seconds],
    l.hostArguments + ' $value',
    '.'
  );
  {
    days: [
      l.alert(
        'MemstatKernelMemoryGoneInFourHours',
        now('instance:memstat_memory_gone:seconds1h') + ' < 4 * 3600',
        '10m',
        'critical',
        'memory',
        'The kernel will have used up all memory in less than four hours on ' + l.hostName,
        l.hostName + ': if the kernel continues to grow as in the last hour, memory is gone in {{ $value | humanizeDuration }}'
        + l.amount('; it holds ', 'instance:memstat_kernel_held_bytes:sum{%s}' % l.hostMatchers, l.hostArguments, ' now')
        + '.',
      ),
      l.alert(
        'MemstatKernelMemoryGoneInADay',
        now('instance:memstat_memory_gone:seconds4h') + ' < 24 * 3600',
        '30m',
        'warning',
        'memory',
        'The kernel will have used up all memory in less than a day on ' + l.hostName,
        l.hostName + ': if the kernel continues to grow as in the last four hours, memory is gone in {{ $value | humanizeDuration }}'
        + l.amount('; it holds ', 'instance:memstat_kernel_held_bytes:sum{%s}' % l.hostMatchers, l.hostArguments, ' now')
        + '.',
      ),
      l.alert(
        'MemstatLeakFast',
        quiet(hour(types)),
        '10m',
        'warning',
        'growth',
        'A kernel memory type grows fast on ' + l.hostName,
        l.hostName + ': ' + typeName + ' grew by ' + l.bytes + ' since ' + l.ago(3600) + ', and nothing like it happened at this hour '
        + 'yesterday.' + gone(3600),
        'type',
        ['allocator', 'type'],
      ),
      l.alert(
        'MemstatLeakSuspected',
        quiet(days(types)),
        '30m',
        'warning',
        'growth',
        'A kernel memory type grows day after day on ' + l.hostName,
        l.hostName + ': ' + typeName + ' grew steadily by ' + l.bytes + ' since '
        + '{{ if printf `count(%s)` %s | query }}%s.%s{{ else }}%s.%s{{ end }}' % [
          ago('%s:median30m{%s}' % [types, l.hostMatchers], '3d'),
          l.hostArguments,
          l.ago(259200),
          gone(259200),
          l.ago(86400),
          gone(86400),
        ],
        'type',
        ['allocator', 'type'],
      ),
      l.alert(
        'MemstatUnaccountedGrowth',
        '(\n' + hour(unaccounted) + ')\nor (\n' + days(unaccounted) + ')',
        '30m',
        'warning',
        'growth',
        'Unaccounted memory grows on ' + l.hostName,
        l.hostName + ": memory that the kernel does not account for grew steadily by " + l.bytes + '; drivers and the network use such '
        + 'memory.' + l.amount(' It is ', l.of('memstat_unaccounted_bytes', l.hostMatchers), l.hostArguments, ' now.'),
      ),
    ],
    weeks: [
      l.alert(
        'MemstatLeakSlow',
        quiet(week),
        '1h',
        'warning',
        'growth',
        'A kernel memory type grows week after week on ' + l.hostName,
        l.hostName + ': ' + typeName + ' grew steadily by ' + l.bytes + ' since ' + l.ago(604800) + '.' + gone(604800),
        'type',
        ['allocator', 'type'],
      ),
    ],
  }
