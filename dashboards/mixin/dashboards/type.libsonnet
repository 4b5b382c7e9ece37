// SPDX-License-Identifier: BSD-2-Clause
// One memory type of one host, or a few, over time, by CPU and node.
local std = import '../lib/std.libsonnet';
function(c, g)
  local of(metric, matchers='') = metric + '{' + g.hostMatchers + (if matchers == '' then '' else ',' + matchers) + '}';
  local choice = 'allocator=~"$allocator",type=~"$type"';
  local type(metric) = of(metric, choice);
  // Functions that allocate (kmalloc_site) have no bytes in use.
  local known = '__name__=~"memstat_type_(bytes|allocations_total)"';
  local perCpu(metric) = metric + '{' + std.strReplace(g.hostMatchers, 'job=~"$job"', 'job=~"($job)(-percpu)?"') + ',' + choice + '}';
  local name = '{{instance}} {{type}}';
  local stat = { kind: 'stat', width: 4, height: 5 };
  local lines = { kind: 'timeseries', min: 0 };
  {
    title: 'memstatd: type',
    description: 'One memory type over time, by CPU and node.',
    variables: g.clusterVariable('memstat_poll_timestamp_seconds') + [
      { name: 'job', label: 'Job', description: 'Jobs of Prometheus that scrape memstatd', from: 'memstat_poll_timestamp_seconds{%s}' % std.join(',', ['%s=~"$%s"' % [l, l] for l in c.clusterLabels[:1]]) },
      { name: 'instance', label: 'Host', description: 'One host, or a few to compare', all: false, from: 'memstat_poll_timestamp_seconds{%s}' % g.fleetMatchers },
      { name: 'allocator', label: 'Allocator', description: 'Families of memory types', all: false, from: of('', known) },
      { name: 'type', label: 'Type', description: 'One memory type, or a few to compare', all: false, from: of('', known + ',allocator=~"$allocator"') },
    ],
    rows: [
      { title: 'Now', panels: [
        stat { title: 'In use', unit: 'bytes', description: 'Bytes in use now.', empty: 'this type has objects and no bytes', queries: [[type('memstat_type_bytes'), name]] },
        stat { title: 'Held', unit: 'bytes', description: 'Bytes taken from the system, free objects and padding included. malloc(9), vmalloc and call sites hold none themselves.', empty: 'this allocator does not show what it holds', queries: [[type('memstat_type_held_bytes'), name]] },
        stat { title: 'Objects', unit: 'short', description: 'Objects in use now.', empty: 'this allocator does not count objects', queries: [[type('memstat_type_objects'), name]] },
        stat { title: 'Of its limit', unit: 'percentunit', thresholds: [[0.8, 'orange'], [c.nearLimit, 'red']], description: 'Share of its limit that the type uses; of two limits, the nearer. Most types have no limit.', empty: 'it has no limit', queries: [[type('memstat_type_limit_used_ratio'), name]] },
        stat { title: 'Failures', unit: 'short', decimals: 0, thresholds: [[1, 'red']], description: 'Allocations that failed in the time shown. Linux counts failures of few allocators.', empty: 'this allocator counts no failures', queries: [['increase(%s[$__range])' % type('memstat_type_failures_total'), name]] },
        stat { title: 'Since yesterday', unit: 'bytes', description: 'Growth since this hour of yesterday, by medians of half an hour. From the recording rules, which need a day and omit small types.', empty: 'too small, or there is no yesterday yet', queries: [['last_over_time(%s[15m])' % type('instance_allocator_type:memstat_type_bytes:growth1d'), name]] },
      ] },
      { title: 'Over time', panels: [
        lines { title: 'Bytes', unit: 'bytes', description: 'Bytes in use, bytes taken from the system, and the limit where there is one. malloc(9), vmalloc and call sites hold none themselves.', empty: 'this type has objects and no bytes',
                queries: [[type('memstat_type_bytes'), name + ': in use'], [type('memstat_type_held_bytes'), name + ': held'], [type('memstat_type_limit_bytes'), name + ': limit']] },
        lines { title: 'Objects over time', unit: 'short', description: 'Objects in use, those that are free and kept for reuse, and the limit where there is one.', empty: 'this allocator does not count objects',
                queries: [[type('memstat_type_objects'), name + ': in use'], [type('memstat_type_free_objects'), name + ': free'], [type('memstat_type_limit_objects'), name + ': limit']] },
        { title: 'Growth', kind: 'timeseries', unit: 'binBps', description: 'Bytes gained per second over the growth window of memstatd\'s configuration.', empty: 'seen for the first time, or without bytes',
          queries: [[type('memstat_type_growth_bytes_per_second'), name]] },
        lines { title: 'Allocations, frees, failures, waits, limit hits', unit: 'ops', description: 'Per second. Linux counts these of few allocators, and of slab caches only when the kernel has SLUB statistics or key events.mode is counters.', empty: 'not counted for this allocator: Linux does of few, FreeBSD of malloc and uma',
                queries: [['rate(%s[$__rate_interval])' % type('memstat_type_allocations_total'), name + ': allocated'], ['rate(%s[$__rate_interval])' % type('memstat_type_frees_total'), name + ': freed'],
                          ['rate(%s[$__rate_interval])' % type('memstat_type_failures_total'), name + ': failed'], ['rate(%s[$__rate_interval])' % type('memstat_type_sleeps_total'), name + ': waited'],
                          ['rate(%s[$__rate_interval])' % type('memstat_type_limit_hits_total'), name + ': limit hits']] },
      ] },
      { title: 'Who allocates it, and what it asks for (Linux, key events.mode)', collapsed: true, panels: [
        lines { title: 'By control group, program and call', unit: 'binBps', width: 24, height: 11,
                description: 'Bytes of this slab cache allocated per second, by control group, name of the task, and kernel function that calls the allocator. Includes memory that is freed again at once. Needs key events.mode full and root; not available on FreeBSD.',
                empty: 'slab caches of Linux with events.mode full only; not available on FreeBSD',
                queries: [['topk(10, sum by (instance, cache, group, command, call_site) (rate(%s[$__rate_interval])))' % of('memstat_slab_origin_allocated_bytes_total', 'cache=~"$type"'), '{{instance}} {{cache}}: {{group}} {{command}} {{call_site}}']] },
        lines { title: 'Requested and allocated', unit: 'binBps',
                description: 'Bytes allocated per second, and the part that was requested. The rest is waste, because the allocator has only larger blocks. Needs tier full, and on Linux key events.mode counters; FreeBSD reports it for malloc(9).',
                empty: 'not counted for this allocator, or it needs tier full and events.mode',
                queries: [['rate(%s[$__rate_interval])' % type('memstat_type_allocated_bytes_total'), name + ': received'], ['rate(%s[$__rate_interval])' % type('memstat_type_requested_bytes_total'), name + ': requested']] },
        lines { title: 'Average requested size', unit: 'bytes',
                description: 'Bytes requested by an allocation, on average. Needs tier full and key events.mode counters; not available on FreeBSD.',
                empty: 'Linux at tier full with events.mode counters only; not available on FreeBSD',
                queries: [['rate(%s[$__rate_interval]) / (rate(%s[$__rate_interval]) > 0)' % [type('memstat_type_requested_bytes_total'), type('memstat_type_allocations_total')], name]] },
      ] },
      { title: 'By CPU and node: needs per_cpu in memstatd.yaml, or tier full', collapsed: true, panels: [
        { title: 'Allocations by CPU', kind: 'heatmap', unit: 'ops', rows: 'CPU', description: 'Objects allocated per second on each CPU. Linux does not count by CPU. Needs the types in per_cpu of memstatd.yaml, and a scrape of /metrics/percpu as a job whose name ends in -percpu.', empty: 'needs per_cpu in memstatd.yaml; Linux does not count by CPU',
          queries: [['sum by (cpu) (rate(%s[$__rate_interval]))' % perCpu('memstat_cpu_allocations_total'), '{{cpu}}']] },
        { title: 'Cached objects by CPU', kind: 'heatmap', unit: 'short', rows: 'CPU', description: 'Objects in the cache of each CPU: uma(9) of FreeBSD, and the page allocator of Linux. Needs the types in per_cpu of memstatd.yaml, and a scrape of /metrics/percpu as a job whose name ends in -percpu.', empty: 'needs per_cpu in memstatd.yaml',
          queries: [['sum by (cpu) (%s)' % perCpu('memstat_cpu_free_objects'), '{{cpu}}']] },
        lines { title: 'Memory by node', unit: 'bytes', description: 'Bytes of each NUMA node\'s memory that the type uses: zones of uma(9) on FreeBSD; slab caches, vmalloc, huge pages and others on Linux.', empty: 'needs tier full, and not every allocator shows it',
                queries: [[type('memstat_node_held_bytes'), name + ' node {{node}}']] },
      ] },
      { title: 'Sizes', collapsed: true, panels: [
        { title: 'Size of an object', kind: 'bars', unit: 'bytes', description: 'Bytes that one object occupies, including padding, and at tier full its usable bytes. malloc(9) has many sizes and therefore none.', empty: 'this allocator has no single size',
          queries: [['max by (type) (%s)' % type('memstat_type_object_footprint_bytes'), '{{type}}: takes'], ['max by (type) (%s)' % type('memstat_type_object_size_bytes'), '{{type}}: gives']] },
        { title: 'Details', kind: 'table', unit: 'none', sort: 'type', description: 'File and line of call sites, and similar details. FreeBSD provides only names; Linux needs tier full.', empty: 'FreeBSD has nothing more; Linux needs tier full',
          queries: [[type('memstat_type_detail'), '']], columns: [['instance', 'host'], ['allocator', 'allocator'], ['type', 'type'], ['detail', 'what is known']] },
      ] },
    ],
  }
