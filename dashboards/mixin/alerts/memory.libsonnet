// SPDX-License-Identifier: BSD-2-Clause
// The machine's memory is short, now or soon.
local std = import '../lib/std.libsonnet';
function(c, l) {
  now: [
    l.alert(
      'MemstatMemoryVeryLow',
      'instance:memstat_available:ratio < %g' % c.memoryVeryLow,
      '5m', 'critical', 'memory',
      'Memory is almost gone on ' + l.hostName,
      l.hostName + ': only ' + l.percent + ' of the memory is available'
      + l.amount(', of which the kernel itself holds ', 'instance:memstat_kernel_held_bytes:sum{%s}' % l.hostMatchers, l.hostArguments)
      + '. Programs will be killed when it goes on.',
    ),
    l.alert(
      'MemstatMemoryLow',
      'instance:memstat_available:ratio < %g' % c.memoryLow,
      '15m', 'warning', 'memory',
      'Memory is low on ' + l.hostName,
      l.hostName + ': ' + l.percent + ' of the memory has been available for a quarter of an hour'
      + l.amount('; the kernel itself holds ', 'instance:memstat_kernel_held_bytes:sum{%s}' % l.hostMatchers, l.hostArguments)
      + '.',
    ),
    l.alert(
      'MemstatKernelShareHigh',
      |||
        instance:memstat_kernel_held:ratio > %g
        and on (%s) instance:memstat_available:ratio < %g
      ||| % [c.kernelShare, l.host, c.kernelShareAvailable],
      '28m', 'warning', 'memory',
      'The kernel itself holds much of the memory on ' + l.hostName,
      l.hostName + ': the kernel holds ' + l.percent + ' of the memory and cannot give it back'
      + l.amount('; ', l.of('memstat_memory_available_bytes', l.hostMatchers), l.hostArguments, ' are available to programs') + '.',
    ),
    l.alert(
      'MemstatMemoryPressureHigh',
      'instance:memstat_pressure_full:rate5m > %g' % c.pressureHigh,
      '5m', 'critical', 'memory',
      'Hardly anything runs for lack of memory on ' + l.hostName,
      l.hostName + ': for ' + l.percent + ' of the last 5 minutes nothing could run because all waited for memory.',
    ),
    l.alert(
      'MemstatMemoryPressure',
      'instance:memstat_pressure_full:rate5m > %g' % c.pressure,
      '10m', 'warning', 'memory',
      'Programs wait for memory on ' + l.hostName,
      l.hostName + ': for ' + l.percent + ' of the last 5 minutes nothing could run because all waited for memory.',
    ),
    // The whole machine ran out, or a group that is not listed: what a listed control group lost is MemstatControlGroupOutOfMemory.
    l.alert(
      'MemstatOutOfMemoryKill',
      |||
        increase(%(kills)s[10m]) >= 0.5
        unless on (%(host)s) (
          increase(%(groups)s[10m]) > 0
          or %(groups)s > 0 unless %(groups)s offset 10m
        )
      ||| % { host: l.host, kills: l.of('memstat_oom_kills_total'), groups: l.of('memstat_type_failures_total', 'allocator="memcg"') },
      '0m', 'critical', 'memory',
      'The kernel killed a process because memory ran out on ' + l.hostName,
      l.hostName + ': ' + l.times('1 process was', 'processes were') + ' killed in the last 10 minutes because memory ran out, on the '
      + 'whole machine or in a control group that is not listed.',
    ),
  ],
  // No machine dies of these in minutes.
  soon: [
    // Free memory of a zone by the page allocator's own count. Who may take the reserve is few; all others stall.
    l.alert(
      'MemstatZoneBelowMin',
      |||
        (
          %(free)s * on (%(host)s, type) %(page)s
            < on (%(host)s, type)
          label_replace(label_join(%(min)s, "zone_name", " ", "node", "zone"), "type", "node $1", "zone_name", "(.+)")
        )
        and on (%(host)s) instance:memstat_allocation_stalls:rate5m > %(stalls)g
      ||| % {
        host: l.host,
        free: l.of('memstat_type_free_objects', 'allocator="page"'),
        page: l.of('memstat_type_object_footprint_bytes', 'allocator="page"'),
        min: l.of('memstat_zone_watermark_bytes', 'watermark="min"'),
        stalls: c.stalls,
      },
      '4m', 'warning', 'memory',
      'A memory zone is below its reserve on ' + l.hostName,
      l.hostName + ': zone {{ $labels.type }} has only ' + l.bytes + ' free, which is below what the kernel keeps for emergencies, and '
      + 'allocations wait for reclaim.',
    ),
    l.alert(
      'MemstatCompactionFails',
      |||
        60 * sum by (%(host)s) (rate(%(failures)s[10m])) > %(failing)g
        and on (%(host)s) instance:memstat_allocation_stalls:rate5m > 1
      ||| % { host: l.host, failures: l.of('memstat_compaction_failures_total'), failing: c.failures },
      '14m', 'warning', 'memory',
      'Free memory is in pieces that are too small on ' + l.hostName,
      l.hostName + ': ' + l.times('an allocation of contiguous memory fails', 'allocations of contiguous memory fail')
      + ' a minute after the kernel moved pages to make room, and allocations wait.',
    ),
    l.alert(
      'MemstatMemoryShortfall',
      'sum by (%s) (increase(%s[10m])) > 5' % [l.host, l.of('memstat_page_events_total', 'kind="daemon_shortfall"')],
      '4m', 'warning', 'memory',
      'The kernel cannot free as much memory as it wants on ' + l.hostName,
      l.hostName + ': the page daemon freed too little ' + l.number + ' times in the last 10 minutes; when it goes on, the kernel '
      + 'kills processes.',
    ),
  ],
}
