// SPDX-License-Identifier: BSD-2-Clause
// An example for Alertmanager, as text. What inhibits has the labels `equal` in common with what it inhibits, and always those of
// clusters: a problem of one datacenter hides none of another.
local std = import 'lib/std.libsonnet';
function(c, groups)
  local l = (import 'lib/rules.libsonnet')(c);
  local listed(words) = '[' + std.join(', ', words) + ']';
  local quoted(matchers) = listed(["'" + matcher + "'" for matcher in matchers]);
  local job = c.clusterLabels + ['job'];
  local host = l.hostLabels;
  local type = host + ['allocator', 'type'];
  local causes = import 'causes.libsonnet';
  // Severities from the most severe, each with the alert of its findings.
  local findings = [['critical', 'MemstatFindingCritical'], ['warning', 'MemstatFindingWarning'], ['info', 'MemstatFindingInfo']];
  local severity = { [rule.alert]: rule.labels.severity for group in groups for rule in group.rules if std.objectHas(rule, 'alert') };
  // What a finding repeats is kept back if the finding is at least as severe.
  local repeated = std.flattenArrays([
    [
      {
        local from = if std.objectHas(one, 'fromSeverity') then one.fromSeverity else level[0],
        source: [
          'alertname=~"%s"' % std.join('|', [findings[i][1] for i in std.range(0, 2) if i <= std.find(from, [each[0] for each in findings])[0]]),
          'cause=~"%s"' % std.join('|', std.set(one.causes)),
        ],
        target: ['alertname=~"%s"' % std.join('|', [alert for alert in one.alerts if severity[alert] == level[0]])],
        equal: host + one.by,
      }
      for level in findings
      if std.length([alert for alert in one.alerts if severity[alert] == level[0]]) > 0
    ]
    for one in causes.repeated
  ]);
  local inhibitions = [
    { about: 'A finding that got worse is one problem.', source: ['alertname="MemstatFindingCritical"'], target: ['alertname="MemstatFindingWarning"'], equal: host + ['cause', 'object'] },
  ] + [
    repeated[i] + (if i == 0 then { about: 'Threshold alerts that a finding repeats: see mixin/causes.libsonnet.' } else {})
    for i in std.range(0, std.length(repeated) - 1)
  ] + [
    { about: 'Many unreachable hosts are one problem, and so is a job whose targets are all gone.', source: ['alertname="MemstatManyHostsDown"'], target: ['alertname=~"MemstatDaemonMissing|MemstatDaemonUnsteady"'], equal: job },
    { source: ['alertname="MemstatDaemonUnsteady"'], target: ['alertname="MemstatDaemonMissing"'], equal: host },
    { source: ['alertname="MemstatJobAbsent"'], target: ['alertname="MemstatHostVanished"'], equal: job },
    { about: 'While memory is gone, suppress that it is low, that programs wait or are killed, and what grows.', source: ['alertname="MemstatMemoryVeryLow"'], target: ['cause=~"memory|growth|limit|group"', 'alertname!="MemstatMemoryVeryLow"'], equal: host },
    { source: ['alertname="MemstatKernelMemoryGoneInFourHours"'], target: ['cause=~"memory|growth"', 'severity=~"warning|info"'], equal: host },
    { source: ['alertname="MemstatMemoryPressureHigh"'], target: ['alertname=~"MemstatMemoryPressure|MemstatMemoryPressureSome|MemstatZoneBelowMin|MemstatCompactionFails|MemstatCompactionStalls|MemstatMemoryLow"'], equal: host },
    { source: ['alertname="MemstatMemoryPressure"'], target: ['alertname="MemstatMemoryPressureSome"'], equal: host },
    { source: ['alertname="MemstatCompactionFails"'], target: ['alertname="MemstatCompactionStalls"'], equal: host },
    { source: ['alertname="MemstatKernelMemoryGoneInADay"'], target: ['cause="growth"'], equal: host },
    { about: 'A type at its limit also fails, waits, and is near its limit.', source: ['alertname="MemstatLimitHit"'], target: ['cause="limit"', 'alertname!="MemstatLimitHit"'], equal: type },
    { source: ['alertname="MemstatFileHandles"'], target: ['alertname=~"MemstatNearLimit|MemstatLimitWithin.*"'], equal: type },
    { source: ['alertname=~"MemstatNearLimit|MemstatLimitWithinFourHours"'], target: ['alertname="MemstatLimitWithinADay"'], equal: type },
    { source: ['alertname="MemstatNearLimit"'], target: ['alertname="MemstatLimitWithinFourHours"'], equal: type },
    { source: ['alertname="MemstatLeakFast"'], target: ['alertname=~"MemstatLeakSuspected|MemstatLeakSlow"'], equal: type },
    { source: ['alertname="MemstatLeakSuspected"'], target: ['alertname="MemstatLeakSlow"'], equal: type },
    { source: ['alertname="MemstatControlGroupOutOfMemory"'], target: ['alertname="MemstatControlGroupAtLimit"'], equal: host + ['type'] },
    { about: 'A host that does not answer has no sources, and old figures say nothing else. What fired before is not resolved either.', source: ['alertname="MemstatDaemonMissing"'], target: ['cause!="fleet"', 'alertname=~"Memstat.*"', 'alertname!="MemstatDaemonMissing"'], equal: host },
    { about: 'Figures of two hosts in turn mean nothing.', source: ['alertname="MemstatTwoHostsInOne"'], target: ['cause!="fleet"', 'alertname=~"Memstat.*"', 'alertname!="MemstatTwoHostsInOne"'], equal: host },
    { source: ['alertname="MemstatServerClockWrong"'], target: ['alertname="MemstatClockWrong"'], equal: job },
    { source: ['alertname="MemstatSourceStuck"'], target: ['alertname="MemstatSourceDown"'], equal: host + ['source'] },
  ];
  local rule(one) =
    (if std.objectHas(one, 'about') then '  # ' + one.about + '\n' else '')
    + '  - source_matchers: %s\n    target_matchers: %s\n    equal: %s\n' % [quoted(one.source), quoted(one.target), listed(one.equal)];
  |||
    # An example for Alertmanager: one cause, one notification. All alerts of a host come together, and consequences of another
    # alert of that host are not sent. Replace the receivers with your own.
    route:
      receiver: day
      group_by: %(group_by)s
      group_wait: 1m
      group_interval: 10m
      repeat_interval: 12h
      routes:
        # Always fires. Send it to an external service that notifies you when it stops arriving.
        - matchers: ['alertname="MemstatWatchdog"']
          receiver: watchdog
          group_wait: 0s
          group_interval: 1m
          repeat_interval: 5m
        - matchers: ['severity="info"']
          receiver: nowhere
        - matchers: ['severity="critical"']
          receiver: night

    inhibit_rules:
    %(inhibitions)s
    receivers:
      - name: nowhere
      - name: watchdog
        webhook_configs:
          - url: http://127.0.0.1:9099/watchdog
            send_resolved: false
      # Wakes somebody.
      - name: night
        webhook_configs:
          - url: http://127.0.0.1:9099/night
      # For the morning.
      - name: day
        webhook_configs:
          - url: http://127.0.0.1:9099/day
  ||| % { group_by: listed(c.clusterLabels + ['instance']), inhibitions: std.join('', [rule(one) for one in inhibitions]) }
