// SPDX-License-Identifier: BSD-2-Clause
// All hosts. Queries use recorded series and metrics with few series per host, never those of every type of every host.
local std = import '../lib/std.libsonnet';
function(c, g)
  local fleet(metric, matchers='') = metric + '{' + g.fleetMatchers + (if matchers == '' then '' else ',' + matchers) + '}';
  local of(metric, matchers='') = metric + '{' + g.hostMatchers + (if matchers == '' then '' else ',' + matchers) + '}';
  local hosts = std.join(', ', c.clusterLabels[:1] + ['job', 'instance']);
  local byHost(expr) = 'max by (%s) (%s)' % [hosts, expr];
  local recent(metric) = 'last_over_time(%s[15m])' % metric;
  local stat = { kind: 'stat', width: 4, height: 5 };
  local lines = { kind: 'timeseries', min: 0 };
  local bars = { kind: 'bars', width: 12, height: 10 };
  // Hosts with their kernel release; causes of hosts with theirs.
  local releases = 'topk by (%s) (1, max by (%s, release) (%s))' % [hosts, hosts, of('memstat_kernel_info')];
  local ill = 'max by (%s, cause) (%s > 1) * on (%s) group_left (release) %s' % [hosts, of('memstat_finding'), hosts, releases];
  local ranked = 'allocator=~"$allocator",allocator!~"%s",type=~"$type",type!~"%s"' % [c.notRanked, c.notRankedTypes];
  {
    title: 'memstatd: fleet',
    description: 'Kernel memory of all hosts. Needs the recording rules.',
    variables: g.clusterVariable('job:memstat_hosts:count') + [
      { name: 'job', label: 'Job', description: 'Jobs of Prometheus that scrape memstatd', from: 'job:memstat_hosts:count{%s}' % std.join(',', ['%s=~"$%s"' % [l, l] for l in c.clusterLabels[:1]]) },
      { name: 'instance', label: 'Host', description: 'Hosts of the tables', from: fleet('instance:memstat_series:sum') },
      { name: 'allocator', label: 'Allocator', description: 'Families of memory types', from: of('instance_allocator_type:memstat_type_bytes:median30m') },
      { name: 'type', label: 'Type', description: 'Memory types, by the name that the kernel gives them', from: of('instance_allocator_type:memstat_type_bytes:median30m', 'allocator=~"$allocator"') },
    ],
    rows: [
      { title: 'What is wrong', panels: [
        { title: 'What is wrong, and where', kind: 'table', unit: 'none', width: 24, height: 10, to: 'host', sort: 'severity',
          description: 'Findings that are active now, as in memstatctl why, with who holds it: now, soon or wasteful, but not those that are only notable. At most 200. A click leads to the host at the same time.',
          empty: 'nothing is wrong, or no host is scraped',
          queries: [['topk(200, %s)' % g.findings(g.hostMatchers, 1), '']],
          columns: [['Value #A', 'severity'], ['instance', 'host'], ['headline', 'what is wrong'], ['object', 'object'], ['culprit', 'who'], ['since', 'since'], ['cause', 'cause']] + [[l, l] for l in c.clusterLabels[:1] + ['job']],
          column_widths: { severity: 70, host: 130, object: 130, who: 150, since: 165, cause: 140, job: 80 } + { [l]: 80 for l in c.clusterLabels[:1] } } + g.findingColumns,
        { title: 'On which kernels', kind: 'table', unit: 'short', width: 10, height: 8, sort: 'share',
          description: 'Hosts with each cause by kernel release, and their share of the hosts that run it: a defect of one release shows on most of them.',
          empty: 'nothing is wrong, or no host is scraped',
          queries: [['count by (cause, release) (%s)' % ill, ''],
                    ['count by (cause, release) (%s) / on (release) group_left () count by (release) (%s)' % [ill, releases], '']],
          columns: [['cause', 'cause'], ['release', 'kernel release'], ['Value #A', 'hosts'], ['Value #B', 'share']],
          units: { share: 'percentunit' }, column_widths: { hosts: 60, share: 70 } },
        { title: 'Firing alerts', kind: 'alerts', unit: 'none', width: 14, height: 8, sort: 'severity', descending: false, to: 'host',
          description: 'Critical alerts and warnings of these rules that fire now, of the hosts chosen, and those about all hosts of a job.',
          empty: 'no alert fires',
          queries: [['max by (%s, alertname, severity, allocator, type, group) (%s or ALERTS{alertstate="firing",cause="fleet",alertname!="MemstatWatchdog"})' % [hosts, g.firing(g.hostMatchers)], '']],
          columns: [['severity', 'severity'], ['alertname', 'alert']] + [[l, l] for l in c.clusterLabels[:1] + ['job']] + [['instance', 'host'], ['type', 'type'], ['group', 'group']],
          column_widths: { severity: 80, alert: 210, host: 150, job: 80 } + { [l]: 80 for l in c.clusterLabels[:1] } },
      ] },
      { title: 'All hosts', panels: [
        stat { title: 'Hosts', unit: 'short', description: 'Hosts that report now.', empty: 'no host is scraped, or the recording rules have not run yet',
               queries: [['count(%s)' % recent(of('instance:memstat_series:sum')), 'hosts']] },
        stat { title: 'Memory is gone within a day', unit: 'short', thresholds: [[1, 'red']], description: 'Hosts whose kernel will have used up the memory within a day.', empty: 'no host is scraped, or the recording rules have not run yet',
               queries: [['count(%s < 86400) or 0 * count(%s)' % [recent(of('instance:memstat_memory_gone:seconds4h')), recent(of('instance:memstat_series:sum'))], 'hosts']] },
        stat { title: 'Low on memory', unit: 'short', thresholds: [[1, 'red']], description: 'Hosts with little memory available.', empty: 'no host is scraped, or the recording rules have not run yet',
               queries: [['sum(%s < bool %g)' % [of('instance:memstat_available:ratio'), c.memoryLow], 'hosts']] },
        stat { title: 'Memory of the kernel', unit: 'bytes', description: 'The kernel\'s own parts of all hosts\' memory.', empty: 'no host shows the parts of its memory',
               queries: [['sum(%s)' % recent(of('instance:memstat_kernel_bytes:sum')), 'bytes']] },
        stat { title: 'Processes killed in an hour', unit: 'short', decimals: 0, thresholds: [[1, 'red']], description: 'Processes that kernels killed because memory ran out. On FreeBSD, memstatd counts them from the kernel\'s log.', empty: 'no host counts them',
               queries: [['sum(%s)' % recent(of('instance:memstat_oom_kills:increase1h')), 'killed']] },
        stat { title: 'Sources down', unit: 'short', thresholds: [[1, 'red']], description: 'Sources of all hosts that cannot be read now.', empty: 'no host is scraped',
               queries: [['sum(%s)' % recent(of('instance:memstat_sources_down:count')), 'sources']] },
      ] },
      { title: 'Hosts', panels: [
        { title: 'Hosts', kind: 'table', unit: 'short', width: 24, height: 14, to: 'host', sort: 'available', descending: false,
          description: 'The main figures of each host; click a heading to sort. A cell is empty if nothing grows, or if the kernel does not count: FreeBSD has no pressure and no kills, and Linux counts failures of few allocators.',
          empty: 'no host is scraped, or the recording rules have not run yet',
          queries: [[byHost(of('instance:memstat_available:ratio')), ''],
                    [byHost(recent(of('instance:memstat_memory_gone:seconds4h'))), ''],
                    [byHost(of('instance:memstat_kernel_held:ratio')), ''],
                    [byHost(recent(of('instance:memstat_unaccounted:ratio'))), ''],
                    [byHost(recent(of('instance_allocator_type:memstat_type_limit_used:max'))), ''],
                    ['60 * sum by (%s) (%s)' % [hosts, recent(of('instance_allocator:memstat_type_failures:rate5m', 'allocator!~"memcg|zswap|kmalloc_site"'))], ''],
                    [byHost(of('instance:memstat_pressure_full:rate5m')), ''],
                    [byHost(recent(of('instance:memstat_oom_kills:increase1h'))), ''],
                    [byHost(recent(of('instance:memstat_sources_down:count'))), ''],
                    ['max by (%s, os, release) (%s)' % [hosts, of('memstat_kernel_info')], '']],
          columns: [[l, l] for l in c.clusterLabels[:1] + ['job']] + [['instance', 'host'], ['Value #A', 'available'], ['Value #B', 'memory gone in'], ['Value #C', 'held by the kernel'],
                    ['Value #D', 'in no account'], ['Value #E', 'nearest limit'], ['Value #F', 'failures a minute'], ['Value #G', 'pressure'], ['Value #H', 'killed in an hour'], ['Value #I', 'sources down'], ['os', 'system'], ['release', 'kernel release']],
          column_widths: { host: 170, job: 80 } + { [l]: 80 for l in c.clusterLabels[:1] },
          units: { available: 'percentunit', 'memory gone in': 's', 'held by the kernel': 'percentunit', 'in no account': 'percentunit', 'nearest limit': 'percentunit', pressure: 'percentunit' } },
        bars { title: 'Nearest to a limit', unit: 'percentunit', min: 0, max: 1, to: 'type', thresholds: [[0.8, 'orange'], [c.nearLimit, 'red']],
               description: 'The type nearest to its limit on each host. Without control groups and pools that are meant to be full.',
               empty: 'no type has a limit',
               queries: [['topk(12, %s)' % recent(of('instance_allocator_type:memstat_type_limit_used:max')), '{{instance}} {{allocator}} {{type}}']] },
        bars { title: 'Sources down', unit: 'short', to: 'daemon', thresholds: [[1, 'red']], description: 'Hosts on which a source of memstatd cannot be read now. Empty if every source is up.',
               empty: 'every source is up',
               queries: [['topk(12, %s > 0)' % recent(of('instance:memstat_sources_down:count')), '{{instance}}']] },
      ] },
      { title: 'Types', panels: [
        { title: 'Which type grows, and on how many hosts', kind: 'table', unit: 'short', width: 24, height: 10, sort: 'hosts',
          description: 'Types that grew since yesterday by more than a leak\'s share of memory, with the kernel release: a leak of one release shows on the hosts that run it. From the recording rules, which need a day.',
          empty: 'no type grows, or there is no yesterday yet',
          queries: [['count by (allocator, type, release) ((%s > on (%s) group_left () (%g * %s)) * on (%s) group_left (release) topk by (%s) (1, max by (%s, release) (%s)))' % [
            recent(of('instance_allocator_type:memstat_type_bytes:growth1d', 'allocator=~"$allocator",type=~"$type"')), hosts, c.leakEachOfThreeDays, byHost(of('instance:memstat_memory_total_bytes:max')),
            hosts, hosts, hosts, of('memstat_kernel_info')
          ], '']],
          columns: [['allocator', 'allocator'], ['type', 'type'], ['release', 'kernel release'], ['Value #A', 'hosts']] },
        { title: 'Hosts on which a type grows', kind: 'table', unit: 'bytes', width: 24, height: 10, to: 'type', sort: 'grew',
          description: 'The chosen types by host, with a link to the type on that host. Medians of half an hour against yesterday\'s; from the recording rules, which need a day.',
          empty: 'no type grows, or there is no yesterday yet',
          queries: [['topk(50, %s > 0)' % recent(of('instance_allocator_type:memstat_type_bytes:growth1d', ranked)), '']],
          columns: [[l, l] for l in c.clusterLabels[:1] + ['job']] + [['instance', 'host'], ['allocator', 'allocator'], ['type', 'type'], ['Value #A', 'grew']] },
        lines { title: 'Largest types', unit: 'bytes', to: 'fleet',
                description: 'The ten types with the most bytes in use on all hosts, medians of half an hour. Without types whose memory is part of other types.',
                empty: 'the recording rules have not run yet',
                queries: [['topk(10, sum by (allocator, type) (%s))' % recent(of('instance_allocator_type:memstat_type_bytes:median30m', ranked)), '{{allocator}} {{type}}']] },
        lines { title: 'Types that grew most since yesterday', unit: 'bytes', to: 'fleet',
                description: 'The ten types that grew most on all hosts since this hour of yesterday. From the recording rules, which need a day.',
                empty: 'nothing grew, or there is no yesterday yet',
                queries: [['topk(10, sum by (allocator, type) (%s) > 0)' % recent(of('instance_allocator_type:memstat_type_bytes:growth1d', ranked)), '{{allocator}} {{type}}']] },
      ] },
      { title: 'Over time', collapsed: true, panels: [
        { title: 'Memory by part', kind: 'stack', unit: 'bytes', min: 0, colors: g.partColors, description: 'The parts of the chosen hosts\' memory; they are disjoint and may be stacked.', empty: 'no host shows the parts of its memory',
          queries: [['sum by (part) (max by (%s, part) (%s)) > 0' % [hosts, of('memstat_accounted_bytes')], '{{part}}'],
                    ['clamp_min(sum(%s), 0)' % byHost(of('memstat_unaccounted_bytes')), 'in no account'],
                    ['sum(%s)' % byHost(of('instance:memstat_memory_total_bytes:max')), 'all memory']], lines: ['all memory'] },
        lines { title: 'In use by allocator', unit: 'bytes', description: 'Bytes in use of the larger types by allocator, over the chosen hosts, medians of half an hour, not stacked. Without allocators whose memory is another\'s.', empty: 'the recording rules have not run yet',
                queries: [['sum by (allocator) (%s)' % recent(of('instance_allocator_type:memstat_type_bytes:median30m', ranked)), '{{allocator}}']] },
        lines { title: 'Hosts', unit: 'short', description: 'Chosen hosts that report.', empty: 'no host is scraped',
                queries: [['count by (job) (%s)' % byHost(recent(of('instance:memstat_series:sum'))), '{{job}}']] },
      ] },
    ],
  }
