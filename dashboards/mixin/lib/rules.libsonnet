// SPDX-License-Identifier: BSD-2-Clause
// How rules and texts are put together.
function(config) {
  local this = self,
  hostLabels:: config.clusterLabels + ['job', 'instance'],
  // For by (...), on (...): what names a host, and more.
  host:: std.join(', ', self.hostLabels),
  hostAnd(labels):: std.join(', ', self.hostLabels + labels),
  fleet:: std.join(', ', config.clusterLabels + ['job']),
  fleetAnd(labels):: std.join(', ', config.clusterLabels + ['job'] + labels),

  // A metric with matchers.
  of(metric, matchers=''):: metric + (
    local all = std.join(',', [part for part in [config.selector, matchers] if part != '']);
    if all == '' then '' else '{' + all + '}'
  ),
  // A comparison with a part of each host's memory.
  partOfMemory(part):: '> on (%s) group_left () (%g * %s)' % [self.host, part, self.of('memstat_memory_total_bytes')],

  // In a text.
  hostName:: '{{ $labels.instance }}' + (
    if config.clusterLabels == [] then '' else '{{ with $labels.%s }} ({{ . }}){{ end }}' % config.clusterLabels[0]
  ),
  bytes:: '{{ $value | humanize1024 }}B',
  percent:: '{{ $value | humanizePercentage }}',
  // "2", "1500" or "33k": `$value` as a person says it.
  number:: '{{ if lt $value 10000.0 }}{{ printf "%.0f" $value }}{{ else }}{{ humanize $value }}{{ end }}',
  times(one, many):: '{{ if eq (printf "%.0f" $value) "1" }}' + one + '{{ else }}' + self.number + ' ' + many + '{{ end }}',
  // The first value of a query as a duration, in words around it; nothing when there is none. `format` and its arguments are
  // a template's printf.
  duration(before, format, arguments, after=''):: '{{ with printf `' + format + '` ' + arguments + ' | query }}' + before
                                        + '{{ . | first | value | humanizeDuration }}' + after + '{{ end }}',
  amount(before, format, arguments, after=''):: '{{ with printf `' + format + '` ' + arguments + ' | query }}' + before
                                      + '{{ . | first | value | humanize1024 }}B' + after + '{{ end }}',
  // The time of day that many seconds ago.
  ago(seconds):: '{{ with query "time() - %d" }}{{ . | first | value | humanizeTimestamp }}{{ end }}' % seconds,
  // Matchers of the alert's own host in a query of a text, and the arguments for them.
  hostMatchers:: std.join(',', ['%s=%%q' % label for label in self.hostLabels]),
  hostArguments:: std.join(' ', ['$labels.' + label for label in self.hostLabels]),

  record(name, expr):: { record: name, expr: expr },

  // `cause`: what Alertmanager groups and inhibits by. `dashboard`: where to look, and the labels to take there.
  alert(name, expr, wait, severity, cause, summary, description, dashboard='host', labels=[]):: {
    alert: name,
    expr: expr,
    'for': wait,
    labels: { severity: severity, cause: cause },
    annotations: {
      summary: summary,
      description: description,
      runbook_url: config.runbookBase + '#' + std.asciiLower(name),
      dashboard_url: config.grafanaBase + '/d/memstatd-' + dashboard + '?' + std.join('&', [
        'var-%s={{ $labels.%s | urlquery }}' % [label, label]
        for label in config.clusterLabels[:1] + ['job', 'instance'] + labels
      ]),
    },
  },
}
