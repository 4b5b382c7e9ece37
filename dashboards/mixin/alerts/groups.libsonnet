// SPDX-License-Identifier: BSD-2-Clause
// Control groups: shortages, and the kernel memory charged to them, which resident sizes do not include.
local std = import '../lib/std.libsonnet';
local kinds = (import '../causes.libsonnet').kinds;
function(c, l)
  local failures = l.of('memstat_type_failures_total', 'allocator="memcg"');
  // Labels that examples/kubernetes derives from the path of a pod's group.
  local ids = ['pod_uid', 'container_id'];
  // By type or group. Events of a container are reported for its pod, because a pod that fails repeatedly has a new
  // container each time. The containers of a pod are merged under a new label: two series with the same labels, which a
  // changed type would make of them, fail the rule for all hosts.
  local ofPods(expr) = 'label_replace(label_replace(%s, "type", "$1", "path", "(.+)"), "path", "", "", "")' % l.by(
    ['allocator', 'path', 'pod_uid'],
    l.withoutIds('label_replace(label_replace(%s, "path", "$1", "type", "(.+)"), "path", "$1", "type", "(.*kubepods.*[/-]pod[^/]+)/.+")' % expr, 'path')
  );
  // Includes a group that was created since then and lost a process before it was first seen.
  local lacking = '(increase(%(f)s[15m]) > 0.5 or (%(f)s > 0 unless %(f)s offset 15m and on (%(host)s) %(poll)s offset 15m))' % {
    f: failures, host: l.host, poll: l.of('memstat_poll_timestamp_seconds')
  };
  local ofGroup(metric, matchers='') = l.one(metric, matchers, ['group'] + ids);
  local low = 'instance_group:memstat_memcg_headroom:followed';
  local left = 'until="max"';
  local kernel(ago='') = l.by(['group'] + ids, l.of('memstat_memcg_kernel_bytes') + ago);
  local anonymous(ago='') = l.by(['group'], l.of('memstat_memcg_anonymous_bytes') + ago);
  local limit = l.by(['group'], 'label_replace(%s, "group", "$1", "type", "(.*)")' % l.of('memstat_type_limit_bytes', 'allocator="memcg"'));
  local reclaimable(before) = l.amount(before, 'memstat_memcg_reclaimable_kernel_bytes{%s,group=%%q}' % l.hostMatchers,
                               l.hostArguments + ' $labels.group', ' can be reclaimed.');
  local part(share) = '%g * %s' % [share, limit];
  local offset(seconds) = if seconds == 0 then '' else ' offset ' + l.span(seconds);
  // Its growth over `seconds`, up to `ago` seconds ago.
  local grew(seconds, ago) = '%s - %s' % [kernel(offset(ago)), kernel(offset(ago + seconds))];
  // Names the likely cache; caches are counted for the machine, not for each group. Then the program and call, if events are
  // counted by them, or else the command that shows them.
  // Users choose the names of groups, so a name is quoted for the shell.
  local command = "`memstatctl stacks --control-group '{{ reReplaceAll `'` `'\\''` $labels.group }}'";
  local shows = '`, run as root on that machine, shows which program and which call take it.';
  local origin(seconds) =
    '{{ with printf `topk(1, sum by (command, call_site) (increase(memstat_slab_origin_allocated_bytes_total{%s,group=%%q,cache=%%q}[%s])) > 0)` %s $labels.group .Labels.type | query }}'
    % [l.hostMatchers, l.span(seconds), l.hostArguments]
    + '{{ with first . }} In this group {{ .Labels.command }} allocated most of it, {{ .Value | humanize1024 }}B, through {{ .Labels.call_site }}.{{ end }}{{ end }}';
  local culprit(seconds) =
    '{{ with printf `topk(1, max by (type) (memstat_type_bytes{%s,allocator="slab"} - memstat_type_bytes{%s,allocator="slab"} offset %s) > 0)` %s %s | query }}'
    % [l.hostMatchers, l.hostMatchers, l.span(seconds), l.hostArguments, l.hostArguments]
    + '{{ with first . }} Of the slab caches of the whole machine {{ .Labels.type }} grew most in that time, by {{ .Value | humanize1024 }}B.'
    + origin(seconds) + ' ' + command + ' --type {{ .Labels.type }}' + shows + '{{ end }}{{ else }} ' + command + shows + '{{ end }}';
  // Time until it reaches its limit at the current growth rate, which is the alert's value.
  local reached(seconds) = l.duration(
    ' At this rate the group will reach its limit in ',
    '(max by (instance) (memstat_type_limit_bytes{%s,allocator="memcg",type=%%q}) - max by (instance) (memstat_type_bytes{%s,allocator="memcg",type=%%q})) * %d / %%f' % [
      l.hostMatchers, l.hostMatchers, seconds
    ], '%s $labels.group %s $labels.group $value' % [l.hostArguments, l.hostArguments], '.'
  );
  // Grew by this share of the limit within this time, and steadily throughout, while its programs hardly grew.
  local growth(name, seconds, parts, share, wait, unless_='') =
    local each = seconds / parts;
    l.alert(
      name,
      '%s > on (%s, group) group_left () %s\n' % [grew(seconds, 0), l.host, part(share)]
      + std.join('', [
        'and %s > on (%s, group) group_left () %s\n' % [grew(each, i * each), l.host, part(share / parts / 1.5)]
        for i in std.range(0, parts - 1)
      ])
      + |||
        and on (%(host)s, group)
          %(anonymous)s - %(before)s < on (%(host)s, group) 0.2 * max by (%(host)s, group) (%(grew)s)
      ||| % { host: l.host, anonymous: anonymous(), before: anonymous(offset(seconds)), grew: grew(seconds, 0) }
      + unless_,
      wait, 'warning', 'group',
      'The kernel uses more and more memory for a control group on ' + l.hostName,
      l.hostName + ': memory that the kernel uses for control group {{ $labels.group }}' + l.podName + ' grew by ' + l.bytes + ' since ' + l.ago(seconds)
      + ' while its programs did not grow.' + reclaimable(' Of all that it took ') + reached(seconds) + culprit(seconds),
    );
  [
    l.alert(
      'MemstatControlGroupOutOfMemory',
      // The last kill is longer ago than a finding lasts, so nothing is repeated when that ends.
      l.deepest(ofPods(lacking)) + 'unless on (%s, type) last_over_time(instance_cause_object:memstat_finding:described{cause=~"%s"}[25m])\n' % [
        l.host, std.join('|', kinds.groups + kinds.partialKills)
      ],
      '0m', 'warning', 'group',
      'A control group ran out of memory on ' + l.hostName,
      l.hostName + ': control group {{ $labels.type }}' + l.podName + ', or one below it that is gone or not listed, ran out of memory '
      + l.times('once', 'times') + ' in the last 15 minutes; the kernel usually kills a process in it.',
      'host',
    ),
    // A group at its limit usually just reclaims page cache. Report only one that does little else.
    l.alert(
      'MemstatControlGroupAtLimit',
      l.deepest('60 * ' + ofPods('rate(%s[15m]) > 10' % l.of('memstat_type_limit_hits_total', 'allocator="memcg"'))),
      '10m', 'info', 'group',
      'A control group is slowed down by its limit on ' + l.hostName,
      l.hostName + ': control group {{ $labels.type }}' + l.podName + ' hit its limit ' + l.number + ' times a minute, and had to reclaim memory each time.',
    ),
    // It hits its limit, or memory.high, all the time, and its programs wait for that.
    l.alert(
      'MemstatControlGroupThrottled',
      l.by(['group'], 'rate(%s[15m]) > %g' % [l.of('memstat_memcg_pressure_stall_seconds_total', 'kind="full"'), c.groupPressure])
      + ' and on (%s, group) %s' % [l.host, l.by(['group'], 'rate(%s[15m]) > 1 / 60' % l.of('memstat_memcg_events_total', 'event=~"high|max"'))],
      '50m', 'warning', 'group',
      'A control group waits for memory on ' + l.hostName,
      l.hostName + ': for ' + l.percent + ' of the last 15 minutes, and for an hour, no program of control group {{ $labels.group }}' + l.podName
      + ' could run, because it is at its limit or at memory.high.',
    ),
    l.alert(
      'MemstatControlGroupKernelMemory',
      '%s / on (%s, group) group_left () %s > %g' % [kernel(), l.host, limit, c.groupKernelShare],
      '20m', 'warning', 'group',
      'The kernel holds most of a control group\'s memory on ' + l.hostName,
      l.hostName + ': ' + l.percent + ' of the limit of control group {{ $labels.group }}' + l.podName + ' is memory that the kernel uses for it (slab, '
      + 'page tables, sockets), which sizes of its programs do not show.' + reclaimable(' Of it '),
    ),
    l.alert(
      'MemstatControlGroupTasks',
      '%s / on (%s, group) group_left () %s > %g' % [ofGroup('memstat_memcg_tasks'), l.host, l.one('memstat_memcg_tasks_limit', '', ['group']), c.nearLimit],
      '15m', 'warning', 'group',
      'A control group has almost reached its limit of threads on ' + l.hostName,
      l.hostName + ': control group {{ $labels.group }}' + l.podName + ' has ' + l.percent + ' of its maximum number of threads; at 100% its programs cannot start '
      + 'another one.',
    ),
    // Of groups that have less than half of their own limit left, so that few are examined over an hour. The headroom of a group
    // that runs out first above it is left to that one, which has as much or less.
    l.record(low, '%s < on (%s, group) group_left () %s' % [l.one('memstat_memcg_headroom_bytes', left, ['group']), l.host, part(0.5)]),
    l.alert(
      'MemstatControlGroupHeadroom',
      |||
        %(left)s and on (%(host)s, group) %(low)s
        and on (%(host)s, group) predict_linear(%(low)s[1h], %(seconds)d) < 0
        and on (%(host)s, group) %(low)s offset 30m - %(low)s > %(low)s / 12
        and on (%(host)s, group) %(low)s offset 1h - %(low)s offset 30m > %(low)s / 12
        unless on (%(host)s, group)
          label_replace(%(low)s, "above", "$1", "group", "(.+)/[^/]+")
          >= on (%(host)s, above) group_left ()
          label_replace(%(low)s, "above", "$1", "group", "(.+)")
      ||| % { left: ofGroup('memstat_memcg_headroom_bytes', left), low: low, host: l.host, seconds: 4 * 3600 },
      '20m', 'warning', 'group',
      'A control group will be out of memory within four hours on ' + l.hostName,
      l.hostName + ': control group {{ $labels.group }}' + l.podName + ' can allocate only ' + l.bytes + ' more until the kernel kills a process in it.'
      + l.duration(' At this rate that is used up in ', 'max(memstat_memcg_headroom_bytes{%s,group=%%q,until="max"}) / max(-deriv(memstat_memcg_headroom_bytes{%s,group=%%q,until="max"}[1h]) > 0)' % [
        l.hostMatchers, l.hostMatchers
      ], '%s $labels.group %s $labels.group' % [l.hostArguments, l.hostArguments], '.'),
    ),
    growth('MemstatControlGroupKernelGrowth', c.groupKernelGrowthSeconds, 2, c.groupKernelGrowth, c.groupKernelGrowthWait),
    // Growth over weeks, unless the alert on hourly growth fires for the group.
    growth('MemstatControlGroupKernelSlowGrowth', c.groupKernelDaySeconds, 4, c.groupKernelDay, c.groupKernelDayWait,
           'unless on (%s, group) %s > on (%s, group) group_left () %s\n' % [l.host, grew(c.groupKernelGrowthSeconds, 0), l.host, part(c.groupKernelGrowth)]),
  ]
