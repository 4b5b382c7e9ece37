// SPDX-License-Identifier: BSD-2-Clause
// Recording rules. Names are level:metric:operation. The level names the remaining labels, with "instance" for those of a
// host (clusterLabels of the configuration, job, instance). Allocators are never added up, because their memory overlaps.
//
// A host may be scraped twice, under target labels that are not its own. Nothing is summed or joined before duplicates are
// merged. Prometheus evaluates a group at an offset derived from the file's path. So series that another group records less
// often than every five minutes are read with last_over_time; otherwise they would always be missing at some paths.
local std = import 'lib/std.libsonnet';
local lib = import 'lib/rules.libsonnet';
{
  local c = self._config,
  local l = lib(c),
  local record = l.record,

  prometheusRules+:: {
    groups+: [
      {
        // For alerts that wake somebody: a few figures of the machine, never one for every type.
        name: 'memstat-host',
        interval: c.soonInterval,
        rules: [
          record(l.total, l.one('memstat_memory_total_bytes')),
          // Huge pages that an administrator set aside are not there for programs, even if most of them are in use.
          record('instance:memstat_available:ratio', '%s / (%s - %s or %s)' % [
            l.one('memstat_memory_available_bytes'), l.total, l.one('memstat_accounted_bytes', 'part="hugetlb"'), l.total
          ]),
          // Of a host that is scraped every five minutes there is one sample in five minutes.
          record('instance:memstat_pressure_full:rate5m', l.by([], l.rate('memstat_pressure_stall_seconds_total', 'kind="full"'))),
        ],
      },
      {
        // Memory held by the kernel. Alerts on it wait for half an hour, or use medians.
        name: 'memstat-kernel',
        interval: c.tablesInterval,
        rules: [
          // The kernel's own parts, without reclaimable ones. Most of the unaccounted memory is the kernel's, too. FreeBSD
          // can reclaim the caches of ZFS.
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
        // May be ten minutes old: for dashboards of many hosts, and medians of half an hour, which alerts on growth compare
        // over hours and days. Only these rules evaluate every type, which is expensive. So types above `leakSmallest` of
        // the memory are recorded, and medians are computed of these few. A peak shorter than ten minutes affects one of
        // three or four values.
        name: 'memstat-slow',
        interval: c.slowInterval,
        rules: [
          // First compares with the smallest machine's share, which is cheap, so that few types are compared with their own
          // machine's.
          record('instance_allocator_type:memstat_type_bytes:large', l.by(['allocator', 'type'], '%s > scalar(min(%g * %s)) %s' % [
            l.of('memstat_type_bytes', 'allocator!~"%s"' % c.overlapping), c.leakSmallest, l.total, l.partOfMemory(c.leakSmallest)
          ])),
          record('instance_allocator_type:memstat_type_bytes:median30m',
                 'quantile_over_time(0.5, instance_allocator_type:memstat_type_bytes:large[30m])'),
          // Number of a host's types in the medians. Shows that the host was scraped.
          record('instance:memstat_type_bytes:count', 'count by (%s) (instance_allocator_type:memstat_type_bytes:median30m)' % l.host),
          record('instance:memstat_kernel_held_bytes:median30m',
                 'quantile_over_time(0.5, instance:memstat_kernel_held_bytes:sum[30m])'),
          record('instance:memstat_unaccounted_bytes:median30m', l.by([], 'quantile_over_time(0.5, %s[30m])' % l.of('memstat_unaccounted_bytes'))),
          // Seconds until available memory is used up, if kernel memory continues to grow as in the last hour, or the last
          // four. Only if it grew by enough for a prediction, in each half of that time, and is above yesterday's.
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
          // The type that is nearest to its limit.
          record('instance_allocator_type:memstat_type_limit_used:max', l.by(['allocator', 'type'], 'topk by (%s) (1, %s)' % [
            l.host, l.of('memstat_type_limit_used_ratio', 'allocator!~"%s",type!~"%s"' % [c.fullByDesign, c.fullByDesignTypes])
          ])),
          record('instance:memstat_sources_down:count', 'sum by (%s) (%s)' % [l.host, l.by(['source'], '%s == bool 0' % l.of('memstat_source_up'))]),
          record('instance:memstat_series:sum', l.one('memstat_series')),
        ],
      },
      {
        // Number of hosts of each job: alerts compare it with earlier values, and dashboards list jobs by it.
        name: 'memstat-fleet',
        interval: c.slowInterval,
        rules: [
          record('job:memstat_hosts:count', 'count by (%s) (%s)' % [l.fleet, l.one('memstat_poll_timestamp_seconds')]),
        ],
      },
    ],
  },

  // Growth of medians in the last half hour, in the last quarter of a day, and since the same hour yesterday. Alerts on
  // leaks add these up; computing the differences themselves would be the largest part of the cost of all rules.
  local growth(metric) = [
    record('%s:growth%s' % [metric, span], '%s:median30m - last_over_time(%s:median30m[15m] offset %s)%s' % [metric, metric, span, fromNothing(metric, span)])
    for span in ['30m', '6h', '1d']
  ],
  // The type may have been too small to be recorded then; it counts as 0 if its host was scraped.
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
