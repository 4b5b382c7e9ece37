// SPDX-License-Identifier: BSD-2-Clause
// Functions that build rules and their texts.
local std = import 'std.libsonnet';
function(config) {
  // Locals are evaluated once, fields each time that they are used.
  local hostLabels = config.clusterLabels + ['job', 'instance'],
  local host = std.join(', ', hostLabels),
  local hostMatchers = std.join(',', ['%s=%%q' % label for label in hostLabels]),
  local hostArguments = std.join(' ', ['$labels.' + label for label in hostLabels]),
  local hostName = '{{ $labels.instance }}' + (
    if config.clusterLabels == [] then '' else '{{ with $labels.%s }} ({{ . }}){{ end }}' % config.clusterLabels[0]
  ),
  local hostLink = std.join('&', ['var-%s={{ $labels.%s | urlquery }}' % [label, label] for label in config.clusterLabels[:1] + ['job', 'instance']]),

  // Of the address that Prometheus scrapes, or the default one. Of addresses of IPv6 only those in brackets have a port.
  local port = '{{ with reReplaceAll "^(?:[^:]*|.*[]])(:[0-9]+)$|^.*$" "$1" $labels.instance }}{{ . }}{{ else }}:8947{{ end }}',

  // Paths with an ID that is new at each start: of a container (64 digits, or a UUID; a pod keeps its own), of a unit that
  // systemd-run made, of a session or of a program of a desktop.
  local containerId = '(/.*[/-])(?:[0-9a-f]{64}|[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12})((?:[.][^/]*)?(?:/.*)?)'
                      + '|(/.*/run-)(?:r[0-9a-f]{32}|u[0-9]+|p[0-9]+-i[0-9]+)([.].*)|(/.*/(?:session|app-.+)-)[0-9]+([.]scope(?:/.*)?)',

  hostLabels:: hostLabels,
  // For by (...) and on (...): the labels that identify a host, and more.
  host:: host,
  labels(list):: std.join(', ', list),
  hostAnd(labels):: std.join(', ', hostLabels + labels),
  fleet:: std.join(', ', config.clusterLabels + ['job']),
  fleetAnd(labels):: std.join(', ', config.clusterLabels + ['job'] + labels),

  // A metric with matchers.
  of(metric, matchers=''):: metric + (
    local all = std.join(',', [part for part in [config.selector, matchers] if part != '']);
    if all == '' then '' else '{' + all + '}'
  ),
  // A metric by host and these labels, without other labels of its targets: a host that is scraped twice, for instance under
  // two names of a pod, counts once. Every join uses this, because PromQL fails for all hosts if one side has duplicates.
  by(labels, expr):: 'max by (%s) (%s)' % [self.hostAnd(labels), expr],
  one(metric, matchers='', labels=[]):: self.by(labels, self.of(metric, matchers)),
  // In five minutes, or in eleven if there are not two samples in five.
  rate(metric, matchers=''):: local it = self.of(metric, matchers); 'rate(%s[5m]) or rate(%s[11m])' % [it, it],
  // Hosts that came and went three times in twenty minutes, or within an hour of which much is missing. One that stays away is
  // missing, and one that is back is there. `more`: minutes by which these times are longer.
  comesAndGoes(more=0):: self.by([], '(resets(%(up)s[%(soon)dm]) >= 3 or resets(%(up)s[%(hour)dm]) >= 3 and avg_over_time(%(up)s[%(hour)dm]) < %(part).2f and avg_over_time(%(up)s[%(soon)dm]) < 1) and max_over_time(%(up)s[20m]) == 1' % {
    up: 'up{%s}' % config.upSelector, soon: 20 + more, hour: 60 + 3 * more, part: 1 - 9 / (60 + 3 * more),
  }),
  // Continues for some minutes after a host stopped answering, until the alert about that fires: what killed it is not resolved.
  held(expr, before):: '%s or %s unless on (%s) %s' % [expr, before, host, self.of('memstat_poll_timestamp_seconds')],
  // Control groups of version 2 also count the events of groups below them, so the deepest group is where it happened.
  deepest(expr):: |||
    %(expr)s
    unless on (%(host)s, type)
    label_replace(
      max by (%(host)s, parent) (label_replace(%(expr)s, "parent", "$1", "type", "(.+)/[^/]+")),
      "type", "$1", "parent", "(.+)"
    )
  ||| % { expr: expr, host: host },
  // "docker-*.scope", so that each start of a container is not a group of its own.
  withoutIds(expr, label):: 'label_replace(%s, "%s", "$1$3$5*$2$4$6", "%s", "%s")' % [expr, label, label, containerId],
  containerId:: containerId,
  // Metrics with one series per host.
  total:: 'instance:memstat_memory_total_bytes:max',
  // A comparison with a share of each host's memory.
  partOfMemory(part):: '> on (%s) group_left () (%g * %s)' % [host, part, self.total],

  // For texts.
  hostName:: hostName,
  bytes:: '{{ $value | humanize1024 }}B',
  percent:: '{{ $value | humanizePercentage }}',
  // "2", "1500" or "33k": `$value` for people.
  number:: '{{ if lt $value 10000.0 }}{{ printf "%.0f" $value }}{{ else }}{{ humanize $value }}{{ end }}',
  times(one, many):: '{{ if eq (printf "%.0f" $value) "1" }}' + one + '{{ else }}' + self.number + ' ' + many + '{{ end }}',
  // The first value of a query as a duration, with words around it; nothing if there is none. `format` and its arguments are
  // for printf in a template.
  duration(before, format, arguments, after=''):: '{{ with printf `' + format + '` ' + arguments + ' | query }}' + before
                                        + '{{ . | first | value | humanizeDuration }}' + after + '{{ end }}',
  amount(before, format, arguments, after=''):: '{{ with printf `' + format + '` ' + arguments + ' | query }}' + before
                                      + '{{ . | first | value | humanize1024 }}B' + after + '{{ end }}',
  // Seconds in the notation of queries: 1h, 30m, 90s.
  span(seconds):: if seconds % 3600 == 0 then '%dh' % (seconds / 3600) else if seconds % 60 == 0 then '%dm' % (seconds / 60) else '%ds' % seconds,
  // The time of day this many seconds ago.
  ago(seconds):: '{{ with query "time() - %d" }}{{ . | first | value | humanizeTimestamp }}{{ end }}' % seconds,
  fleetName:: 'job {{ $labels.job }}' + (if config.clusterLabels == [] then '' else '{{ with $labels.%s }} ({{ . }}){{ end }}' % config.clusterLabels[0]),
  // The pod and container of a control group, if kube-state-metrics has them: see ../kubernetes.libsonnet.
  podName:: '{{ with $labels.container_id }}{{ with printf `kube_pod_container_info{container_id=~".+://%s"}` . | query }}{{ with first . }}'
            + ' (container {{ .Labels.container }} of pod {{ .Labels.namespace }}/{{ .Labels.pod }}){{ end }}{{ end }}{{ else }}'
            + '{{ with $labels.pod_uid }}{{ with printf `kube_pod_info{uid=%q}` . | query }}{{ with first . }}'
            + ' (pod {{ .Labels.namespace }}/{{ .Labels.pod }}){{ end }}{{ end }}{{ end }}{{ end }}',
  // Matchers for the alert's own host in a query within a text, and their arguments.
  hostMatchers:: hostMatchers,
  hostArguments:: hostArguments,

  // Hosts whose clock differs from that of Prometheus, with the difference. With a correct clock, the last poll was `age` before
  // the scrape.
  clockDifference:: 'abs(%s) > %d' % [
    local poll = self.of('memstat_poll_timestamp_seconds');
    self.by([], '%s + (%s < 120) - timestamp(%s)' % [poll, self.of('memstat_poll_age_seconds'), poll]), config.clockDifference
  ],

  // Jobs most of whose hosts disagree with Prometheus, with their share.
  mostClocksDiffer:: '(count by (%s) (%s) >= %d) / count by (%s) (%s) > 0.5' % [
    self.fleet, self.clockDifference, config.fewestHostsDown, self.fleet, self.one('memstat_poll_timestamp_seconds')
  ],

  record(name, expr):: { record: name, expr: expr },

  // `cause`: the key for Alertmanager's grouping and inhibition. `dashboard`: the dashboard to link to, with these labels.
  alert(name, expr, wait, severity, cause, summary, description, dashboard='host', labels=[]):: {
    alert: name,
    expr: expr,
    'for': wait,
    labels: { severity: severity, cause: cause },
    annotations: {
      summary: summary,
      description: description,
      // memstatd serves its runbooks. Typed on that host, the command needs no network.
      runbook_command: 'curl -s http://127.0.0.1' + (if cause == 'fleet' then ':8947' else port) + '/runbooks/' + name,
    } + (
      if config.runbookBase != '' then { runbook_url: config.runbookBase + '#' + std.asciiLower(name) }
      else if cause == 'fleet' then {}
      else { runbook_url: '{{ if match "^([^:]*|.*[]]):[0-9]+$" $labels.instance }}http://{{ $labels.instance }}/runbooks/' + name + '{{ end }}' }
    ) + (if config.grafanaBase == '' then {} else {
      dashboard_url: config.grafanaBase + '/d/memstatd-' + dashboard + '?' + hostLink + std.join('', [
        '&var-' + label + '={{ $labels.' + label + ' | urlquery }}'
        for label in labels
      ]),
    }),
  },
}
