// SPDX-License-Identifier: BSD-2-Clause
// Control groups: what they lack, and what the kernel holds for them, which figures of resident memory do not show.
local std = import '../lib/std.libsonnet';
function(c, l)
  local failures = l.of('memstat_type_failures_total', 'allocator="memcg"');
  // Groups of version 2 count what happens below them, too: the deepest one is where it happened.
  local deepest(expr) = |||
    %(expr)s
    unless on (%(host)s, type)
    label_replace(
      max by (%(host)s, parent) (label_replace(%(expr)s, "parent", "$1", "type", "(.+)/[^/]+")),
      "type", "$1", "parent", "(.+)"
    )
  ||| % { expr: expr, host: l.host };
  // Also a group that was made since, and lost a process before it was first seen.
  local lacking = '(increase(%(f)s[15m]) > 0.5 or (%(f)s > 0 unless %(f)s offset 15m and on (%(host)s) %(poll)s offset 15m))' % {
    f: failures, host: l.host, poll: l.of('memstat_poll_timestamp_seconds')
  };
  local kernel = l.of('memstat_memcg_kernel_bytes');
  local anonymous = l.of('memstat_memcg_anonymous_bytes');
  local limit = 'label_replace(%s, "group", "$1", "type", "(.*)")' % l.of('memstat_type_limit_bytes', 'allocator="memcg"');
  local reclaimable = l.amount(' Of it ', 'memstat_memcg_reclaimable_kernel_bytes{%s,group=%%q}' % l.hostMatchers,
                               l.hostArguments + ' $labels.group', ' can be taken back.');
  [
    l.alert(
      'MemstatControlGroupOutOfMemory',
      deepest(lacking),
      '0m', 'warning', 'group',
      'A control group ran out of memory on ' + l.hostName,
      l.hostName + ': control group {{ $labels.type }}' + l.podName + ', or one below it that is gone or not listed, ran out of memory '
      + l.times('once', 'times') + ' in the last 15 minutes; the kernel usually kills a process in it.',
      'host',
    ),
    // A group at its limit gives page cache back and goes on, which is usual; only one that does little else is told of.
    l.alert(
      'MemstatControlGroupAtLimit',
      deepest('60 * rate(%s[15m]) > 600' % l.of('memstat_type_limit_hits_total', 'allocator="memcg"')),
      '10m', 'info', 'group',
      'A control group is held back by its limit on ' + l.hostName,
      l.hostName + ': control group {{ $labels.type }}' + l.podName + ' met its limit ' + l.number + ' times a minute, and had to free memory each time.',
    ),
    l.alert(
      'MemstatControlGroupKernelMemory',
      '%s / on (%s, group) group_left () %s > %g' % [kernel, l.host, limit, c.groupKernelShare],
      '20m', 'warning', 'group',
      'The kernel holds most of a control group\'s memory on ' + l.hostName,
      l.hostName + ': ' + l.percent + ' of the limit of control group {{ $labels.group }}' + l.podName + ' is memory that the kernel took for it (slab, '
      + 'page tables, sockets), which sizes of its programs do not show.' + reclaimable,
    ),
    l.alert(
      'MemstatControlGroupKernelGrowth',
      |||
        %(kernel)s - %(kernel)s offset 1h > on (%(host)s, group) %(share)g * %(limit)s
        and %(kernel)s offset 30m - %(kernel)s offset 1h > on (%(host)s, group) %(half)g * %(limit)s
        and on (%(host)s, group)
          abs(%(anonymous)s - %(anonymous)s offset 1h) < 0.2 * (%(kernel)s - %(kernel)s offset 1h)
      ||| % {
        host: l.host,
        kernel: kernel,
        limit: limit,
        anonymous: anonymous,
        share: c.groupKernelGrowth,
        half: c.groupKernelGrowth / 3,
      },
      '20m', 'warning', 'group',
      'The kernel takes more and more memory for a control group on ' + l.hostName,
      l.hostName + ': memory that the kernel took for control group {{ $labels.group }}' + l.podName + ' grew by ' + l.bytes + ' since ' + l.ago(3600)
      + ' while its programs did not grow.' + reclaimable
      + l.duration(' At this speed the group is at its limit in ',
                   '(max by (instance) (memstat_type_limit_bytes{%s,allocator="memcg",type=%%q}) - max by (instance) (memstat_type_bytes{%s,allocator="memcg",type=%%q})) * 3600 / %%f' % [
                     l.hostMatchers, l.hostMatchers
                   ], '%s $labels.group %s $labels.group $value' % [l.hostArguments, l.hostArguments], '.'),
    ),
  ]
