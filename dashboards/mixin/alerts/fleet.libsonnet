// SPDX-License-Identifier: BSD-2-Clause
// Failures of monitoring as a whole. At least one of these must be noticed when all other alerts are silent.
local std = import '../lib/std.libsonnet';
function(c, l)
  local up = l.by([], 'up{%s}' % c.upSelector);
  local series = 'instance:memstat_series:sum';
  local gone = 'instance:memstat_series:gone';
  local poll = l.of('memstat_poll_timestamp_seconds');
  local alert(name, expr, wait, severity, summary, description) = l.alert(name, expr, wait, severity, 'fleet', summary, description, 'fleet');
  [
    // Always fires. An external service (a dead man's switch) notifies you when it stops arriving.
    alert(
      'MemstatWatchdog', 'vector(1)', '0m', 'none',
      'Prometheus computes the rules of memstatd',
      'This alert always fires. When it does not arrive, Prometheus, Alertmanager or the connection between them is broken.'
    ),
    // Hosts of jobs that had hosts within the last six hours and have no target now.
    l.record(gone, 'last_over_time(%s[6h]) unless on (%s) up{%s} unless on (%s) %s' % [series, l.fleet, c.upSelector, l.fleet, poll]),
    // Such a job, or no job at all. A job is not absent if half of its hosts are there under labels that they did not have six
    // hours ago: it was renamed, or a label was added.
    alert(
      'MemstatJobAbsent',
      |||
        count by (%(fleet)s) (%(gone)s unless on (instance) (%(poll)s unless on (%(host)s) last_over_time(%(series)s[15m] offset 6h)))
          > 0.5 * count by (%(fleet)s) (%(gone)s)
        or absent(up{%(up)s}) and absent(%(poll)s)
      ||| % { fleet: l.fleet, host: l.host, series: series, gone: gone, up: c.upSelector, poll: poll },
      '5m', 'critical',
      'No host of memstatd is monitored any more{{ with $labels.job }} in job {{ . }}{{ end }}',
      '{{ if $labels.job }}All targets of ' + l.fleetName + ' are gone{{ else }}There is no target of memstatd{{ end }}: service discovery or the configuration of Prometheus lost them. No alert about kernel memory can fire.'
    ),
    // A host that comes and goes counts, so a link that flaps before many hosts is one problem. It outlasts the alerts of the
    // hosts, which it keeps back.
    alert(
      'MemstatManyHostsDown',
      |||
        (count by (%(fleet)s) (%(down)s) >= %(fewest)s)
          / count by (%(fleet)s) (%(up)s)
          >= %(share)s
      ||| % {
        fleet: l.fleet,
        up: up,
        down: '%s == 0 or %s or %s' % [
          up,
          l.comesAndGoes(5),
          l.by([], 'min_over_time(up{%s}[6m]) == 0 and on (%s) ALERTS{alertname="MemstatManyHostsDown",alertstate="firing"}' % [c.upSelector, l.fleet]),
        ],
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
