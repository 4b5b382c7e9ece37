// SPDX-License-Identifier: BSD-2-Clause
// What memstatd itself has found: memstatctl why, damped by the daemon, so no alert waits. The value of a finding is 4 (failing
// now), 3 (failing soon), 2 (wasteful) or 1 (notable). The warning continues while the critical alert fires, so that nothing is
// reported as resolved because it got worse; ../alertmanager.libsonnet keeps it back.
local std = import '../lib/std.libsonnet';
function(c, l)
  local wakes = (import '../causes.libsonnet').wakes;
  local key = ['cause', 'object'];
  local on = l.hostAnd(key);
  local poll = l.of('memstat_poll_timestamp_seconds');
  local finding = l.of('memstat_finding');
  // Objects without the IDs of containers, under a new label first: two series with the same labels would fail the rule for all hosts.
  local merged(expr, words=[]) = l.by(['cause', 'about'] + words, l.withoutIds('label_replace(%s, "about", "$1", "object", "(.*)")' % expr, 'about'));
  local replaced(expr, list) = std.foldl(function(so_far, one) 'label_replace(%s, "%s", "%s", "%s", "%s")' % ([so_far] + one), list, std.rstripChars(expr, '\n'));
  local named(expr) = replaced(expr, [['object', '$1', 'about', '(.*)'], ['about', '', '', '']]);
  // The labels of threshold alerts, from objects such as "slab/dentry" and "/system.slice". Containers count as their pod there.
  local labelled(expr) = replaced(expr, [
    ['allocator', '$1', 'object', '([^/]+)/.+'],
    ['type', '$1', 'object', '[^/]+/(.+)'],
    ['allocator', 'memcg', 'object', '/.*'],
    ['type', '$1', 'object', '(/.*)'],
    ['type', '$1', 'object', '(/.*kubepods.*[/-]pod[^/]+)/.+'],
    ['group', '$1', 'object', '(/.*)'],
    // Its objects are mounts.
    ['allocator', 'tmpfs', 'cause', 'tmpfs_full'],
    ['group', '', 'cause', 'tmpfs_full'],
  ]);
  local words = ['headline', 'culprit', 'next'];
  local level = 'instance_cause_object:memstat_finding:max';
  local described = 'instance_cause_object:memstat_finding:described';
  local plain = '{{ $labels.cause }}{{ with $labels.object }} of {{ . }}{{ end }}';
  local next = '{{ with $labels.next }}{{ . }}{{ else }}memstatctl why{{ end }}';
  local alert(name, severity, expr) =
    l.alert(
      name,
      expr,
      '0m',
      severity,
      'finding',
      '{{ with $labels.headline }}{{ . }}{{ else }}' + plain + '{{ end }} on ' + l.hostName,
      l.hostName + ': {{ with $labels.headline }}{{ . }}{{ else }}memstatctl why finds ' + plain + '{{ end }}.'
      + '{{ with $labels.culprit }} Who: {{ . }}.{{ end }} Next, on that host: `' + next + '`.',
    ) + {
      // An empty label is none: new words are not a new alert. The cause is the finding's.
      labels: { severity: severity } + { [word]: '' for word in words },
      annotations+: { command: next },
    };
  [
    // A finding remains while its host does not answer, because a host that died is not well.
    l.record(level, named('%s > 0 or %s > 0 unless on (%s) %s' % [merged(finding), merged('last_over_time(%s[%s])' % [finding, c.findingKept]), l.host, poll])),
    // With its words, which the alerts would have to query one by one. A host that died keeps them.
    l.record(described, labelled(|||
      %(level)s
        + on (%(on)s) group_left (%(words)s) 0 * topk by (%(on)s) (1, %(info)s or on (%(on)s) %(described)s unless on (%(host)s) %(poll)s)
      or on (%(on)s) %(level)s
    ||| % {
      level: level,
      on: on,
      words: l.labels(words),
      info: named(merged(l.of('memstat_finding_info'), words)),
      described: described,
      host: l.host,
      poll: poll,
    })),
    alert('MemstatFindingCritical', 'critical', '%s{cause=~"%s",object!~"/.*"} == 4' % [described, std.join('|', wakes)]),
    alert('MemstatFindingWarning', 'warning', described + ' >= 3'),
    alert('MemstatFindingInfo', 'info', described + ' < 3'),
  ]
