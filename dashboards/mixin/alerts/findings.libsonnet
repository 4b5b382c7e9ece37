// SPDX-License-Identifier: BSD-2-Clause
// What memstatd itself has found: memstatctl why, damped by the daemon, so no alert waits. The value of a finding is 4 (failing
// now), 3 (failing soon), 2 (wasteful) or 1 (notable).
//
// Prometheus parses and executes the template of each label and annotation of each alert at each evaluation, which is nearly
// all that these rules cost. So recorded series have the words, an alert has few annotations, and a finding has one alert.
local std = import '../lib/std.libsonnet';
function(c, l)
  local wakes = (import '../causes.libsonnet').wakes;
  local key = ['cause', 'object'];
  local on = l.hostAnd(key);
  local poll = l.of('memstat_poll_timestamp_seconds');
  local replaced(expr, list) = std.foldl(function(so_far, one) 'label_replace(%s, "%s", "%s", "%s", "%s")' % ([so_far] + one), list, std.rstripChars(expr, '\n'));
  // Objects without the IDs of containers, under a new label first: two series with the same labels would fail the rule for all hosts.
  local about(expr) = l.withoutIds(replaced(expr, [['about', '$1', 'object', '(.*)']]), 'about');
  local named(expr) = replaced(expr, [['object', '$1', 'about', '(.*)'], ['about', '', '', '']]);
  local hasId = 'object=~"%s"' % l.containerId;
  local hasNone = 'object!~"%s"' % l.containerId;
  local finding(matcher) = 'max by (%s) (%s > 0)' % [on, l.of('memstat_finding', matcher)];
  // The labels of threshold alerts, from objects such as "slab/dentry" and "/system.slice". Containers count as their pod there.
  local ofGroup(expr) = replaced(expr, [
    ['allocator', 'memcg', '', ''],
    ['type', '$1$2', 'object', '(/.*kubepods.*[/-]pod[^/]+)/.+|(/.*)'],
    ['group', '$1', 'object', '(.*)'],
  ]);
  local withoutId = named(l.by(['cause', 'about'], about(l.of('memstat_finding', hasId) + ' > 0')));
  local labelled = std.join('\n  or ', [
    replaced(finding('object!~"/.*"'), [['allocator', '$1', 'object', '([^/]+)/.+'], ['type', '$1', 'object', '[^/]+/(.+)']]),
    ofGroup(finding('object=~"/.*",cause!="tmpfs_full",' + hasNone)),
    replaced(ofGroup(withoutId), [['allocator', 'tmpfs', 'cause', 'tmpfs_full'], ['group', '', 'cause', 'tmpfs_full']]),
    // Its objects are mounts.
    replaced(finding('object=~"/.*",cause="tmpfs_full",' + hasNone), [['allocator', 'tmpfs', '', ''], ['type', '$1', 'object', '(.*)']]),
  ]);
  // One of the words of a host that is scraped twice.
  local topmost(expr, label) = 'topk by (%s) (1, %s)' % [l.hostAnd(['cause', label]), expr];
  local info(matcher) = l.of('memstat_finding_info', matcher);
  local words = 'label_join(%s, "words", "", "host", "headline", "culprit", "next", "incident")' % replaced(
    '(%s or %s)' % [topmost(info(hasNone), 'object'), named(topmost(about(info(hasId)), 'about'))],
    [['host', '$1: ', 'instance', '(.+)'], ['culprit', '. Who: $1', 'culprit', '(.+)'], ['next', '. Next, on that host: `$1`', 'next', '(.+)'], ['incident', '; `memstatctl why --incident $1`', 'incident', '(.+)']]
  );
  local described = 'instance_cause_object:memstat_finding:described';
  local alert(name, severity, expr) = (
    local base = l.alert(name, expr, '0m', severity, 'finding', '{{ or $labels.words $labels.cause }}.', '');
    base {
      // An empty label is none: new words are not a new alert. The cause is the finding's.
      labels: { severity: severity, words: '' },
      annotations: { [key]: base.annotations[key] for key in ['summary', 'runbook_url', 'dashboard_url'] if std.objectHas(base.annotations, key) },
    }
  );
  local critical = '%s{cause=~"%s",object!~"/.*"} == 4' % [described, std.join('|', wakes)];
  {
    // The threshold alerts that a finding keeps back are no faster than these.
    now: [
      // With its words, which the alerts would have to query one by one. While its host does not answer, a finding remains with
      // its words, because a host that died is not well.
      l.record(described, |||
        (%(labelled)s)
          + on (%(on)s) group_left (words) 0 * (%(words)s or on (%(on)s) (%(all)s))
        or %(described)s unless on (%(host)s) %(poll)s and on (%(host)s) last_over_time(%(finding)s[%(kept)s])
      ||| % {
        labelled: labelled,
        on: on,
        words: words,
        all: '%s or %s' % [finding(hasNone), withoutId],
        described: described,
        host: l.host,
        poll: poll,
        finding: l.of('memstat_finding'),
        kept: c.findingKept,
      }),
      alert('MemstatFindingCritical', 'critical', critical),
      // A warning continues while it got worse, so that nothing is reported as resolved; ../alertmanager.libsonnet keeps it back.
      alert('MemstatFindingWarning', 'warning', '%s >= 3 unless on (%s) (ALERTS{alertname="MemstatFindingCritical"} unless on (%s) ALERTS{alertname="MemstatFindingWarning"})' % [described, on, on]),
    ],
    // Nothing fails because of these.
    tables: [alert('MemstatFindingInfo', 'info', described + ' < 3')],
  }
