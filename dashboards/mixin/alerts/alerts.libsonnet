// SPDX-License-Identifier: BSD-2-Clause
// All alerts. What each means on FreeBSD and on Linux, what to run next and how to quiet it stands in runbooks.md, where every
// alert has a section of its name.
//
// Left out on purpose:
// - uma(9)'s bucket zones, which fail routinely; pools of huge pages, zswap, buffer cache and TIME-WAIT sockets at their limit:
//   to be full is what they are for;
// - control groups in what is about limits of types: page cache fills a group up to its limit on healthy hosts;
// - failures of kmalloc_site: each is a slab cache's failure, too, which is alerted on;
// - out-of-memory kills on FreeBSD: its kernel counts none. What leads to them, a page daemon that frees too little, it counts.
//
// Labels: `severity` is critical only for what must wake somebody; `cause` is what prometheus/alertmanager.yml groups by. No other labels than
// those of a host, a type or a group are left, so that a host that is scraped twice raises one alert.
{
  local c = self._config,
  local l = (import '../lib/rules.libsonnet')(c),

  prometheusAlerts+:: {
    groups+: [
      { name: 'memstat-watch', interval: c.soonInterval, rules: (import 'fleet.libsonnet')(c, l) },
      { name: 'memstat-memory', interval: c.interval, rules: (import 'memory.libsonnet')(c, l).now },
      {
        name: 'memstat-soon',
        interval: c.soonInterval,
        rules: (import 'memory.libsonnet')(c, l).soon + (import 'limits.libsonnet')(c, l).soon + (import 'daemon.libsonnet')(c, l).soon,
      },
      { name: 'memstat-integrity', interval: c.soonInterval, rules: (import 'integrity.libsonnet')(c, l) },
      { name: 'memstat-limits', interval: c.soonInterval, rules: (import 'limits.libsonnet')(c, l).now },
      { name: 'memstat-tables', interval: c.tablesInterval, rules: (import 'limits.libsonnet')(c, l).tables },
      { name: 'memstat-daemon', interval: c.tablesInterval, rules: (import 'daemon.libsonnet')(c, l).parts },
      // These look at medians that are recorded every `slowInterval`, and have to be computed when those are.
      {
        name: 'memstat-growth',
        interval: c.slowInterval,
        rules: (import 'growth.libsonnet')(c, l).days + (import 'limits.libsonnet')(c, l).trends + (import 'daemon.libsonnet')(c, l).trends,
      },
      // Dear for what it is, and of weeks.
      { name: 'memstat-weeks', interval: c.weeksInterval, rules: (import 'growth.libsonnet')(c, l).weeks },
      { name: 'memstat-groups', interval: c.slowInterval, rules: (import 'groups.libsonnet')(c, l) },
    ],
  },
}
