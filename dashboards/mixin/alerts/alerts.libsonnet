// SPDX-License-Identifier: BSD-2-Clause
// All alerts. runbooks.md has a section for each, by its name: what it means on FreeBSD and on Linux, what to run next, and
// how to silence it.
//
// Deliberately without an alert:
// - zones of uma(9) that fail routinely; pools of huge pages, zswap, the buffer cache and TIME-WAIT sockets at their
// limit, because they are meant to be full;
// - control groups near a limit, because page cache fills a group up to its limit on healthy hosts;
// - failures of kmalloc_site, because each is also a failure of a slab cache;
// - out-of-memory kills on FreeBSD, whose kernel does not count them. It counts what precedes them: a page daemon that frees
// too little.
//
// Labels: `severity` is critical only if somebody must be woken; prometheus/alertmanager.yml groups by `cause`. Otherwise
// only the labels of a host, a type or a group remain, so that a host that is scraped twice raises one alert.
{
  local c = self._config,
  local l = (import '../lib/rules.libsonnet')(c),

  prometheusAlerts+:: {
    groups+: [
      { name: 'memstat-findings', interval: c.interval, rules: (import 'findings.libsonnet')(c, l).now },
      { name: 'memstat-watch', interval: c.soonInterval, rules: (import 'fleet.libsonnet')(c, l) },
      {
        name: 'memstat-soon',
        interval: c.soonInterval,
        rules: (import 'memory.libsonnet')(c, l).soon + (import 'limits.libsonnet')(c, l).soon + (import 'daemon.libsonnet')(c, l).soon,
      },
      { name: 'memstat-integrity', interval: c.soonInterval, rules: (import 'integrity.libsonnet')(c, l) },
      { name: 'memstat-limits', interval: c.tablesInterval, rules: (import 'limits.libsonnet')(c, l).now },
      {
        name: 'memstat-tables',
        interval: c.tablesInterval,
        rules: (import 'memory.libsonnet')(c, l).tables + (import 'limits.libsonnet')(c, l).tables + (import 'findings.libsonnet')(c, l).tables,
      },
      { name: 'memstat-daemon', interval: c.tablesInterval, rules: (import 'daemon.libsonnet')(c, l).parts },
      // These examine medians that are recorded every `slowInterval`, so a shorter interval is useless.
      {
        name: 'memstat-growth',
        interval: c.slowInterval,
        rules: (import 'growth.libsonnet')(c, l).days + (import 'limits.libsonnet')(c, l).trends + (import 'daemon.libsonnet')(c, l).trends,
      },
      // Expensive, and about weeks.
      { name: 'memstat-weeks', interval: c.weeksInterval, rules: (import 'growth.libsonnet')(c, l).weeks },
      { name: 'memstat-groups', interval: c.slowInterval, rules: (import 'groups.libsonnet')(c, l) },
    ],
  },
}
