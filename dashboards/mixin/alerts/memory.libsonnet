// SPDX-License-Identifier: BSD-2-Clause
// The machine is short of memory, or soon will be.
local std = import '../lib/std.libsonnet';
function(c, l)
  local held(before, after='') = l.amount(before, 'instance:memstat_kernel_held_bytes:sum{%s}' % l.hostMatchers, l.hostArguments, after);
  // The median over these minutes, so that one sample beyond the threshold neither delays nor ends the alert. Once it fires,
  // it continues until a tenth more is available, so that memory around the threshold causes one alert, not many, and for some
  // minutes after its host stopped answering, until the alert about that fires. A small share of a large machine is much.
  local available(name, minutes, share, suffices) = |||
    (
      quantile_over_time(0.5, instance:memstat_available:ratio[%(minutes)sm]) < %(share)s
      or last_over_time(instance:memstat_available:ratio[11m]) < %(more)s
        and on (%(host)s) ALERTS{alertname="%(name)s",alertstate="firing"}
    )
    unless on (%(host)s) last_over_time(%(available)s[15m]) > %(suffices)d
  ||| % {
    name: name, minutes: minutes, share: '%g' % share, more: '%g' % (1.1 * share), host: l.host, available: l.of('memstat_memory_available_bytes'), suffices: suffices,
  };
  local stalls = 'instance:memstat_allocation_stalls:rate5m';
  local kills = 'instance_type:memstat_memcg_failures:increase10m';
  {
    // Findings report these sooner, too.
    soon: [
      l.alert(
        'MemstatMemoryVeryLow',
        available('MemstatMemoryVeryLow', 5, c.memoryVeryLow, c.memoryVeryLowMost),
        '2m', 'critical', 'memory',
        'Memory is almost gone on ' + l.hostName,
        l.hostName + ': only ' + l.percent + ' of the memory is available' + held(', of which the kernel itself holds ')
        + '. Programs will be killed if this continues.',
      ),
      l.alert(
        'MemstatMemoryPressureHigh',
        l.held('instance:memstat_pressure_full:rate5m > %g' % c.pressureHigh, 'max_over_time(instance:memstat_pressure_full:rate5m[11m]) > %g' % c.pressureHigh),
        '4m', 'critical', 'memory',
        'Hardly anything runs, for lack of memory, on ' + l.hostName,
        l.hostName + ': for ' + l.percent + ' of the last 5 minutes nothing could run because all tasks waited for memory.',
      ),
      // Out-of-memory events of control groups in the same time, evaluated together with all kills. A group that was created
      // since then may have lost a process before it was first seen.
      l.record(kills, l.by(['type'], |||
        increase(%(groups)s[10m]) > 0
        or (%(groups)s > 0 unless %(groups)s offset 10m) and on (%(host)s) %(poll)s offset 10m
      ||| % { groups: l.of('memstat_type_failures_total', 'allocator="memcg"'), host: l.host, poll: l.of('memstat_poll_timestamp_seconds') })),
      // The whole machine ran out of memory, or a group that is not listed: kills in listed groups are subtracted. Version 2
      // also counts them in the groups above, so the top level has all of them. Version 1 does not, so there the deepest
      // groups are used.
      l.alert(
        'MemstatOutOfMemoryKill',
        |||
          %(all)s
            - (
              max by (%(host)s) (
                label_replace(sum by (%(host)s) (%(kills)s{type=~"/[^/]*"}), "counted", "top", "", "")
                or label_replace(sum by (%(host)s) (%(deepest)s), "counted", "deepest", "", "")
              )
              or 0 * %(all)s
            )
            >= 0.5
        ||| % {
          host: l.host,
          kills: kills,
          all: l.by([], 'increase(%s[10m])' % l.of('memstat_oom_kills_total')),
          deepest: l.deepest(kills),
        },
        '0m', 'critical', 'memory',
        'The kernel killed a process because memory ran out on ' + l.hostName,
        l.hostName + ': ' + l.times('1 process was', 'processes were') + ' killed in the last 10 minutes because memory ran out, on the '
        + 'whole machine or in a control group that is not listed.',
      ),
      // Two alerts of this group use it. Findings and the alerts on available memory work at a scrape interval of five minutes;
      // these need two samples in five minutes.
      l.record(stalls, 'sum by (%s) (%s)' % [l.host, l.by(['zone'], 'rate(%s[5m])' % l.of('memstat_allocation_stalls_total'))]),
      l.alert(
        'MemstatMemoryLow',
        available('MemstatMemoryLow', 15, c.memoryLow, c.memoryLowMost),
        '8m', 'warning', 'memory',
        'Memory is low on ' + l.hostName,
        l.hostName + ': ' + l.percent + ' of the memory has been available for a quarter of an hour' + held('; the kernel itself holds ')
        + '.',
      ),
      l.alert(
        'MemstatMemoryPressure',
        'instance:memstat_pressure_full:rate5m > %g' % c.pressure,
        '10m', 'warning', 'memory',
        'Programs wait for memory on ' + l.hostName,
        l.hostName + ': for ' + l.percent + ' of the last 5 minutes nothing could run because all tasks waited for memory.',
      ),
      // Free memory of a zone, as counted by the page allocator. Only a few callers may use the reserve; all others stall.
      l.alert(
        'MemstatZoneBelowMin',
        |||
          (
            %(free)s * %(page)s
              < on (%(host)s, type)
            label_replace(label_join(%(min)s, "zone_name", " ", "node", "zone"), "type", "node $1", "zone_name", "(.+)")
          )
          and on (%(host)s) %(stalls)s > %(least)s
        ||| % {
          host: l.host,
          free: l.one('memstat_type_free_objects', 'allocator="page"', ['type']),
          page: l.one('memstat_type_object_footprint_bytes', 'allocator="page"', ['type']),
          min: l.one('memstat_zone_watermark_bytes', 'watermark="min"', ['node', 'zone']),
          stalls: stalls,
          least: '%g' % c.stalls,
        },
        '4m', 'warning', 'memory',
        'A memory zone is below its reserve on ' + l.hostName,
        l.hostName + ': zone {{ $labels.type }} has only ' + l.bytes + ' free, which is below what the kernel keeps for emergencies, and '
        + 'allocations wait for reclaim.',
      ),
      l.alert(
        'MemstatMemoryShortfall',
        '%s > 5' % l.by([], 'increase(%s[10m])' % l.of('memstat_page_events_total', 'kind="daemon_shortfall"')),
        '4m', 'warning', 'memory',
        'The kernel cannot free as much memory as it wants on ' + l.hostName,
        l.hostName + ': the page daemon freed too little ' + l.number + ' times in the last 10 minutes; if this continues, the kernel '
        + 'kills processes.',
      ),
    ],
    // These last for a quarter of an hour or longer, so evaluating every few minutes is enough.
    tables: [
      l.alert(
        'MemstatKernelShareHigh',
        |||
          instance:memstat_kernel_held:ratio > %g
          and on (%s) instance:memstat_available:ratio < %g
        ||| % [c.kernelShare, l.host, c.kernelShareAvailable],
        '28m', 'warning', 'memory',
        'The kernel itself holds much of the memory on ' + l.hostName,
        l.hostName + ': the kernel holds ' + l.percent + ' of the memory and cannot release it'
        + l.amount('; ', l.of('memstat_memory_available_bytes', l.hostMatchers), l.hostArguments, ' are available to programs') + '.',
      ),
      l.alert(
        'MemstatMemoryPressureSome',
        l.by([], '(%s) > %g' % [l.rate('memstat_pressure_stall_seconds_total', 'kind="some"'), c.pressureSome]),
        '8m', 'warning', 'memory',
        'Some programs wait for memory most of the time on ' + l.hostName,
        l.hostName + ': for ' + l.percent + ' of the last 5 minutes at least one task waited for memory while others could run.',
      ),
      // For kernels without pressure stall information, and for swap.
      l.alert(
        'MemstatThrashing',
        |||
          %(page)d * 60 * (
            sum by (%(host)s) (%(refaults)s)
            or %(in)s < %(out)s
            or %(out)s
          )
          / on (%(host)s) %(total)s > %(share)s
        ||| % {
          page: 4096,
          host: l.host,
          refaults: l.by(['kind'], 'rate(%s[10m])' % l.of('memstat_refaulted_pages_total')),
          'in': l.by([], 'rate(%s[10m])' % l.of('memstat_paged_pages_total', 'pager="swap",direction="in"')),
          out: l.by([], 'rate(%s[10m])' % l.of('memstat_paged_pages_total', 'pager="swap",direction="out"')),
          total: l.total,
          share: '%g' % c.thrashing,
        },
        '8m', 'warning', 'memory',
        'Memory is read again and again on ' + l.hostName,
        l.hostName + ': ' + l.percent + ' of the memory is read again each minute soon after its reclaim, or moves to swap and back.',
      ),
      l.alert(
        'MemstatCompactionFails',
        |||
          60 * %(failures)s > %(failing)s
          and on (%(host)s) (%(stalls)s > 1 or %(compaction)s > 1)
        ||| % {
          host: l.host,
          failures: l.by([], 'rate(%s[10m])' % l.of('memstat_compaction_failures_total')),
          compaction: l.by([], 'rate(%s[10m])' % l.of('memstat_compaction_stalls_total')),
          failing: '%g' % c.failures,
          stalls: stalls,
        },
        '12m', 'warning', 'memory',
        'Free memory is too fragmented on ' + l.hostName,
        l.hostName + ': ' + l.times('an allocation of contiguous memory fails', 'allocations of contiguous memory fail')
        + ' a minute after the kernel moved pages to make room, and allocations wait.',
      ),
      l.alert(
        'MemstatCompactionStalls',
        '%s > %g' % [l.by([], 'rate(%s[10m])' % l.of('memstat_compaction_stalls_total')), c.compactionStalls],
        '8m', 'warning', 'memory',
        'Allocations wait for the kernel to move pages on ' + l.hostName,
        l.hostName + ': ' + l.number + ' allocations a second move pages themselves to get contiguous memory, and wait for it.',
      ),
    ],
  }
