// SPDX-License-Identifier: BSD-2-Clause
// Recording rules. Names are level:metric:operation; the level says which labels are left, those of a host (config
// clusterLabels, job, instance) being "instance". Allocators are never added up: the memory of one is often another's.
//
// A host may be scraped twice under labels of its targets that are not its own. Nothing is added up or joined before duplicates are one.
// Prometheus computes a group at an offset that it takes from the path of the file: what another group records less often than each five
// minutes is read with last_over_time, or it would be missed on some paths for ever.
local std = import 'lib/std.libsonnet';
local lib = import 'lib/rules.libsonnet';
{
  local c = self._config,
  local l = lib(c),
  local record = l.record,

  prometheusRules+:: {
    groups+: [
      {
        // What alerts that wake somebody look at: a few figures of the machine, never one of every type.
        name: 'memstat-host',
        interval: c.interval,
        rules: [
          record(l.total, l.one('memstat_memory_total_bytes')),
          record('instance:memstat_available:ratio', '%s / %s' % [l.one('memstat_memory_available_bytes'), l.total]),
          record('instance:memstat_pressure_full:rate5m', l.by([], 'rate(%s[5m])' % l.of('memstat_pressure_stall_seconds_total', 'kind="full"'))),
          record('instance:memstat_allocation_stalls:rate5m', 'sum by (%s) (%s)' % [
            l.host, l.by(['zone'], 'rate(%s[5m])' % l.of('memstat_allocation_stalls_total'))
          ]),
        ],
      },
      {
        // What the kernel itself holds: alerts on it wait half an hour, or look at medians of that.
        name: 'memstat-kernel',
        interval: c.tablesInterval,
        rules: [
          // The kernel's own parts, and what of it cannot be taken back. What is in no account is mostly the kernel's too.
          // What ZFS caches on FreeBSD is given back.
          record('instance:memstat_kernel_held_bytes:sum', |||
            sum by (%(host)s) (%(kernel)s)
              + clamp_min(%(unaccounted)s, 0)
              - (sum by (%(host)s) (%(zfs)s) or 0 * %(total)s)
          ||| % {
            host: l.host,
            kernel: l.one('memstat_accounted_bytes', 'part!~"%s|%s"' % [c.notKernel, c.kernelReclaimable], ['part']),
            unaccounted: l.one('memstat_unaccounted_bytes'),
            zfs: l.one('memstat_type_bytes', 'allocator="uma",type=~"%s"' % c.zfsCaches, ['type']),
            total: l.total,
          }),
          record('instance:memstat_kernel_held:ratio', 'instance:memstat_kernel_held_bytes:sum / %s' % l.total),
        ],
      },
      {
        // What may be ten minutes old: what dashboards of many hosts show, and medians of half an hour, at which alerts on growth look
        // hours and days back. The only rules that touch every type, which is dear: those above `leakSmallest` of all memory are
        // written down, and the median is taken of these few. A peak of less than ten minutes is in one of three or four values.
        name: 'memstat-slow',
        interval: c.slowInterval,
        rules: [
          // Compared with the smallest machine's share first, which costs little, so that few are compared with their own machine's.
          record('instance_allocator_type:memstat_type_bytes:large', l.by(['allocator', 'type'], '%s > scalar(min(%g * %s)) %s' % [
            l.of('memstat_type_bytes', 'allocator!~"%s"' % c.overlapping), c.leakSmallest, l.total, l.partOfMemory(c.leakSmallest)
          ])),
          record('instance_allocator_type:memstat_type_bytes:median30m',
                 'quantile_over_time(0.5, instance_allocator_type:memstat_type_bytes:large[30m])'),
          // How many types of a host are in the medians: says that the host was looked at.
          record('instance:memstat_type_bytes:count', 'count by (%s) (instance_allocator_type:memstat_type_bytes:median30m)' % l.host),
          record('instance:memstat_kernel_held_bytes:median30m',
                 'quantile_over_time(0.5, instance:memstat_kernel_held_bytes:sum[30m])'),
          record('instance:memstat_unaccounted_bytes:median30m', l.by([], 'quantile_over_time(0.5, %s[30m])' % l.of('memstat_unaccounted_bytes'))),
          // Seconds until what is available is used up, when kernel memory grows on as in the last hour, and as in the last four.
          // Only where it grew by enough to foretell anything, in each half of that time, and is above yesterday's.
          record('instance:memstat_memory_gone:seconds1h', exhaustion(1, c.exhaustionHour)),
          record('instance:memstat_memory_gone:seconds4h', exhaustion(4, c.exhaustionThreeHours)),
        ] + growth('instance_allocator_type:memstat_type_bytes') + growth('instance:memstat_unaccounted_bytes') + [
          record('instance:memstat_kernel_bytes:sum', 'sum by (%s) (%s)' % [
            l.host, l.one('memstat_accounted_bytes', 'part!~"%s"' % c.notKernel, ['part'])
          ]),
          record('instance:memstat_unaccounted:ratio', '%s / %s' % [l.one('memstat_unaccounted_bytes'), l.total]),
          record('instance:memstat_oom_kills:increase1h', l.by([], 'increase(%s[1h])' % l.of('memstat_oom_kills_total'))),
          record('instance_allocator:memstat_type_failures:rate5m', 'sum by (%s) (%s)' % [
            l.hostAnd(['allocator']), l.by(['allocator', 'type'], 'rate(%s[5m])' % l.of('memstat_type_failures_total', 'type!~"%s"' % c.failsRoutinely))
          ]),
          // The type that has used most of its limit, by name.
          record('instance_allocator_type:memstat_type_limit_used:max', l.by(['allocator', 'type'], 'topk by (%s) (1, %s)' % [
            l.host, l.of('memstat_type_limit_used_ratio', 'allocator!~"%s",type!~"%s"' % [c.fullByDesign, c.fullByDesignTypes])
          ])),
          record('instance:memstat_sources_down:count', 'sum by (%s) (%s)' % [l.host, l.by(['source'], '%s == bool 0' % l.of('memstat_source_up'))]),
          record('instance:memstat_series:sum', l.one('memstat_series')),
        ],
      },
      {
        // How many hosts each job has: alerts compare with what it was, and dashboards list jobs by it.
        name: 'memstat-fleet',
        interval: c.slowInterval,
        rules: [
          record('job:memstat_hosts:count', 'count by (%s) (%s)' % [l.fleet, l.one('memstat_poll_timestamp_seconds')]),
        ],
      },
    ],
  },

  // Growth of medians in the last half hour, in the last quarter of a day, and since this hour of yesterday. Alerts on leaks add these
  // up: differences that they took themselves would be most of what all rules cost.
  local growth(metric) = [
    record('%s:growth%s' % [metric, span], '%s:median30m - last_over_time(%s:median30m[15m] offset %s)%s' % [metric, metric, span, fromNothing(metric, span)])
    for span in ['30m', '6h', '1d']
  ],
  // A type may have been too small then to be recorded: it had 0 if its host was looked at.
  local fromNothing(metric, span) =
    if metric == 'instance:memstat_unaccounted_bytes' then ''
    else ' or %s:median30m and on (%s) last_over_time(instance:memstat_type_bytes:count[15m] offset %s)' % [metric, l.host, span],

  local exhaustion(hours, share) = |||
    %(available)s
      / (
        deriv(%(median)s[%(hours)dh]) > 0
        and %(median)s - last_over_time(%(median)s[15m] offset %(half)dm)
          %(part)s
        and last_over_time(%(median)s[15m] offset %(half)dm) - last_over_time(%(median)s[15m] offset %(back)dm)
          %(part)s
        unless %(median)s - last_over_time(%(median)s[15m] offset 1d) < %(share)g * %(total)s
      )
  ||| % {
    available: l.one('memstat_memory_available_bytes'),
    total: l.total,
    median: 'instance:memstat_kernel_held_bytes:median30m',
    hours: hours,
    half: hours * 30,
    back: hours * 60,
    share: share,
    part: l.partOfMemory(share / 2),
  },
}
