// SPDX-License-Identifier: BSD-2-Clause
// What grows without end. On medians of half an hour, so that spikes do not count; against this hour of yesterday, so that day
// and night do not; relative to the machine's memory, so that a small machine warns early and a large one does not nag.
local std = import '../lib/std.libsonnet';
function(c, l)
  local medians = 'instance_allocator_type:memstat_type_bytes:median30m';
  local unaccounted = 'instance:memstat_unaccounted_bytes:median30m';
  // They are recorded every `slowInterval`, at other moments than these alerts are computed: an instant would miss them.
  local now(metric) = 'last_over_time(%s[15m])' % metric;
  local ago(metric, offset) = 'last_over_time(%s[15m] offset %s)' % [metric, offset];
  local before(metric, offset) = if metric == medians then l.before(metric, offset, now(metric)) else ago(metric, offset);
  local rises(metric, offsets, share) = std.join('\nand ', [
    '%s - %s %s' % [if i == 0 then now(metric) else before(metric, offsets[i - 1]), before(metric, offsets[i]), l.partOfMemory(share)]
    for i in std.range(0, std.length(offsets) - 1)
  ]);
  // Not when yesterday at this hour it was about as much. Without yesterday, by more.
  local isNew(metric) = |||
    (
      %(metric)s - %(yesterday)s %(share)s
      or %(metric)s - %(hour)s %(more)s
      unless on (%(host)s) %(day)s
    )
  ||| % {
    metric: now(metric),
    yesterday: before(metric, '1d'),
    hour: before(metric, '1h'),
    day: ago(if metric == medians then 'instance:memstat_type_bytes:count' else metric, '1d'),
    share: l.partOfMemory(c.leakHour),
    more: l.partOfMemory(c.leakHourWithoutYesterday),
    host: l.host,
  };
  local hour(metric) = |||
    %(metric)s - %(hour)s %(share)s
    and %(rises)s
    and %(isNew)s
  ||| % {
    metric: now(metric),
    hour: before(metric, '1h'),
    share: l.partOfMemory(c.leakHour),
    rises: rises(metric, ['30m', '1h'], c.leakHour / 3),
    isNew: isNew(metric),
  };
  // Each of the last three days by a little, or the last day by more and in each quarter of it.
  local days(metric) = |||
    (
      %(metric)s - %(three)s %(sum)s
      and %(eachDay)s
    )
    or (
      %(metric)s - %(one)s %(day)s
      and %(quarters)s
    )
  ||| % {
    metric: now(metric),
    three: before(metric, '3d'),
    one: before(metric, '1d'),
    sum: l.partOfMemory(3 * c.leakEachOfThreeDays),
    day: l.partOfMemory(c.leakDay),
    eachDay: rises(metric, ['1d', '2d', '3d'], c.leakEachOfThreeDays),
    quarters: rises(metric, ['6h', '12h', '18h', '1d'], c.leakQuarterOfDay),
  };
  // Caches that the kernel gives back count only while memory is short: then they are not given back.
  local counts = |||
    unless (
      last_over_time(%s{type=~"%s"}[15m])
      and on (%s) instance:memstat_available:ratio > %g
    )
  ||| % [medians, c.reclaimable, l.host, c.memoryLow];
  local quiet(expr) = '(\n' + expr + ')\n' + counts;
  local typeName = '{{ $labels.allocator }} type {{ $labels.type }}';
  local gone(seconds) = l.duration(
    ' At this speed memory is gone in ', '%s * %d / %%f' % [l.of('memstat_memory_available_bytes', l.hostMatchers), seconds],
    l.hostArguments + ' $value', '.'
  );
  [
    l.alert(
      'MemstatKernelMemoryGoneInFourHours',
      now('instance:memstat_memory_gone:seconds1h') + ' < 4 * 3600',
      '10m', 'critical', 'memory',
      'The kernel will have used up all memory in less than four hours on ' + l.hostName,
      l.hostName + ': if the kernel goes on growing as in the last hour, memory is gone in {{ $value | humanizeDuration }}'
      + l.amount('; it holds ', 'instance:memstat_kernel_held_bytes:sum{%s}' % l.hostMatchers, l.hostArguments, ' now')
      + '.',
    ),
    l.alert(
      'MemstatKernelMemoryGoneInADay',
      now('instance:memstat_memory_gone:seconds4h') + ' < 24 * 3600',
      '30m', 'warning', 'memory',
      'The kernel will have used up all memory in less than a day on ' + l.hostName,
      l.hostName + ': if the kernel goes on growing as in the last four hours, memory is gone in {{ $value | humanizeDuration }}'
      + l.amount('; it holds ', 'instance:memstat_kernel_held_bytes:sum{%s}' % l.hostMatchers, l.hostArguments, ' now')
      + '.',
    ),
    l.alert(
      'MemstatLeakFast',
      quiet(hour(medians)),
      '10m', 'warning', 'growth',
      'A kernel memory type grows fast on ' + l.hostName,
      l.hostName + ': ' + typeName + ' grew by ' + l.bytes + ' since ' + l.ago(3600) + ', and nothing like it happened at this hour '
      + 'yesterday.' + gone(3600),
      'type', ['allocator', 'type'],
    ),
    l.alert(
      'MemstatLeakSuspected',
      quiet(days(medians)),
      '30m', 'warning', 'growth',
      'A kernel memory type grows day after day on ' + l.hostName,
      l.hostName + ': ' + typeName + ' grew steadily by ' + l.bytes + ' since '
      + '{{ if printf `count(%s)` %s | query }}%s.%s{{ else }}%s.%s{{ end }}' % [
        ago(medians + '{' + l.hostMatchers + '}', '3d'), l.hostArguments,
        l.ago(259200), gone(259200), l.ago(86400), gone(86400)
      ],
      'type', ['allocator', 'type'],
    ),
    l.alert(
      'MemstatUnaccountedGrowth',
      '(\n' + hour(unaccounted) + ')\nor (\n' + days(unaccounted) + ')',
      '30m', 'warning', 'growth',
      'Memory that no account of the kernel names grows on ' + l.hostName,
      l.hostName + ': memory in none of the kernel\'s accounts grew steadily by ' + l.bytes + '; drivers and the network take such '
      + 'memory.' + l.amount(' It is ', l.of('memstat_unaccounted_bytes', l.hostMatchers), l.hostArguments, ' now.'),
    ),
  ]
