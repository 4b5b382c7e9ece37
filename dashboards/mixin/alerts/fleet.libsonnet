// SPDX-License-Identifier: BSD-2-Clause
// Failures of monitoring as a whole. At least one of these must be noticed when all other alerts are silent.
local std = import '../lib/std.libsonnet';
function(c, l)
  local up = l.by([], 'up{%s}' % c.upSelector);
  local alert(name, expr, wait, severity, summary, description) = l.alert(name, expr, wait, severity, 'fleet', summary, description, 'fleet');
  [
    // Always fires. An external service (a dead man's switch) notifies you when it stops arriving.
    alert(
      'MemstatWatchdog', 'vector(1)', '0m', 'none',
      'Prometheus computes the rules of memstatd',
      'This alert always fires. When it does not arrive, Prometheus, Alertmanager or the connection between them is broken.'
    ),
    // A job that had hosts within the last six hours and has no target now, or no job at all. A job is not absent if its hosts
    // are there under labels that they did not have six hours ago: it was renamed, or a label was added.
    alert(
      'MemstatJobAbsent',
      |||
        (
          count by (%(fleet)s) (
            (
              last_over_time(%(series)s[6h])
              unless on (%(fleet)s) up{%(up)s}
              unless on (%(fleet)s) %(poll)s
            )
            unless on (instance) (%(poll)s unless on (%(host)s) last_over_time(%(series)s[15m] offset 6h))
          )
        )
        or absent(up{%(up)s}) and absent(%(poll)s)
      ||| % { fleet: l.fleet, host: l.host, series: 'instance:memstat_series:sum', up: c.upSelector, poll: l.of('memstat_poll_timestamp_seconds') },
      '5m', 'critical',
      'No host of memstatd is monitored any more{{ with $labels.job }} in job {{ . }}{{ end }}',
      '{{ if $labels.job }}All targets of ' + l.fleetName + ' are gone{{ else }}There is no target of memstatd{{ end }}: service discovery or the configuration of Prometheus lost them. No alert about kernel memory can fire.'
    ),
    // A host that comes and goes counts, so a link that flaps before many hosts is one problem.
    alert(
      'MemstatManyHostsDown',
      |||
        (count by (%(fleet)s) (%(down)s) >= %(fewest)s)
          / count by (%(fleet)s) (%(up)s)
          >= %(share)s
      ||| % {
        fleet: l.fleet,
        up: up,
        down: '%s == 0 or %s' % [up, l.by([], 'resets(up{%s}[20m]) >= 3' % c.upSelector)],
        share: '%g' % c.hostsDown,
        fewest: '%d' % c.fewestHostsDown,
      },
      '3m', 'critical',
      'Many hosts of ' + l.fleetName + ' do not answer',
      l.percent + ' of the hosts of ' + l.fleetName + ' have not answered for 3 minutes, or only at times: a network, a roll-out, or all of them are down.'
    ),
    // Most hosts agree with each other, not with Prometheus.
    alert(
      'MemstatServerClockWrong',
      l.mostClocksDiffer,
      '4m', 'warning',
      'The clock of Prometheus is wrong, or of most hosts of ' + l.fleetName,
      l.percent + ' of the hosts of ' + l.fleetName + ' have a clock that differs from that of Prometheus: probably that of Prometheus is wrong, and all times in its data are.'
    ),
    // Needs a Prometheus that scrapes itself. A failing group computes nothing, so this rule joins no recorded series.
    alert(
      'MemstatRuleFailures',
      'sum by (job, instance, rule_group) (increase(prometheus_rule_evaluation_failures_total{rule_group=~".*;memstat-.*"}[15m])) > 0',
      '0m', 'critical',
      'Rules of memstatd fail on {{ $labels.instance }}',
      'Prometheus {{ $labels.instance }} could not compute rules of {{ $labels.rule_group }} ' + l.times('once', 'times') + ' in a quarter of an hour: their alerts cannot fire. Its log and its page of rules have the error.'
    ),
  ]
