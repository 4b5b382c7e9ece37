// SPDX-License-Identifier: BSD-2-Clause
// What memstatd itself has found: memstatctl why, damped by the daemon, so no alert waits. The value of a finding is 4 (failing
// now), 3 (failing soon), 2 (wasteful) or 1 (notable). The warning continues while the critical alert fires, so that nothing is
// reported as resolved because it got worse; ../alertmanager.libsonnet keeps it back.
local std = import '../lib/std.libsonnet';
function(c, l)
  local wakes = (import '../causes.libsonnet').wakes;
  // A finding remains while its host does not answer, because a host that died is not well.
  local active(matchers, level) = |||
    %(now)s %(level)s
    or %(before)s %(level)s
      unless on (%(host)s) %(poll)s
  ||| % {
    local finding = l.of('memstat_finding', matchers),
    // Under a new label: two series with the same labels would fail the rule for all hosts.
    local merged(expr) = l.by(['cause', 'about'], l.withoutIds('label_replace(%s, "about", "$1", "object", "(.*)")' % expr, 'about')),
    now: merged(finding),
    before: merged('last_over_time(%s[%s])' % [finding, c.findingKept]),
    level: level,
    host: l.host,
    poll: l.of('memstat_poll_timestamp_seconds'),
  };
  // The labels of threshold alerts, from objects such as "slab/dentry" and "/system.slice". Containers count as their pod there.
  local labelled(expr) = std.foldl(
    function(so_far, one) 'label_replace(%s, "%s", "%s", "%s", "%s")' % [so_far, one[0], one[1], one[2], one[3]],
    [
      ['object', '$1', 'about', '(.*)'],
      ['about', '', '', ''],
      ['allocator', '$1', 'object', '([^/]+)/.+'],
      ['type', '$1', 'object', '[^/]+/(.+)'],
      ['allocator', 'memcg', 'object', '/.*'],
      ['type', '$1', 'object', '(/.*)'],
      ['type', '$1', 'object', '(/.*kubepods.*[/-]pod[^/]+)/.+'],
      ['group', '$1', 'object', '(/.*)'],
      // Its objects are mounts.
      ['allocator', 'tmpfs', 'cause', 'tmpfs_full'],
      ['group', '', 'cause', 'tmpfs_full'],
    ],
    std.rstripChars(expr, '\n')
  );
  // A word of memstat_finding_info, or `otherwise` if the daemon does not serve it. The object is a name with * for an ID.
  local object = '(reReplaceAll `[*]` `.*` (reReplaceAll `([\\\\.+()|?{}^$\\[\\]])` `\\$1` $labels.object))';
  // A query costs more than the rest of a rule, so that each annotation has one.
  local withWords(word, words, otherwise) =
    '{{ with printf `memstat_finding_info{%s,cause=%%q,object=~%%q,%s!=""}` %s $labels.cause ' % [l.hostMatchers, word, l.hostArguments] + object
    + ' | query }}{{ with (first .).Labels }}' + words + '{{ end }}{{ else }}' + otherwise + '{{ end }}';
  local named = '{{ $labels.cause }}{{ with $labels.object }} of {{ . }}{{ end }}';
  local alert(name, severity, expr) =
    local plain = l.alert(
      name,
      labelled(expr),
      '0m',
      severity,
      'finding',
      withWords('headline', '{{ .headline }}', named) + ' on ' + l.hostName,
      l.hostName + ': ' + withWords(
        'headline',
        '{{ .headline }}.{{ with .culprit }} Who: {{ . }}.{{ end }} Next, on that host: `{{ with .next }}{{ . }}{{ else }}memstatctl why{{ end }}`.',
        'memstatctl why finds ' + named + '. Next, on that host: `memstatctl why`.'
      ),
    );
    // The cause is the finding's.
    plain { labels: { severity: severity }, annotations+: { command: withWords('next', '{{ .next }}', 'memstatctl why') } };
  [
    alert('MemstatFindingCritical', 'critical', active('cause=~"%s",object!~"/.*"' % std.join('|', wakes), '== 4')),
    alert('MemstatFindingWarning', 'warning', active('', '>= 3')),
    alert('MemstatFindingInfo', 'info', active('', '< 3 > 0')),
  ]
