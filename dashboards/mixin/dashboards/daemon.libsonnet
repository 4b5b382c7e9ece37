// SPDX-License-Identifier: BSD-2-Clause
// The exporter's own health and cost.
local std = import '../lib/std.libsonnet';
function(c, g)
  local of(metric, matchers='') = metric + '{' + g.hostMatchers + (if matchers == '' then '' else ',' + matchers) + '}';
  local host = '{{instance}}';
  local stat = { kind: 'stat', width: 3, height: 5 };
  local lines = { kind: 'timeseries', min: 0 };
  {
    title: 'memstatd: daemon',
    description: 'Whether memstatd works, and what it costs.',
    variables: g.clusterVariable('memstat_poll_timestamp_seconds') + [
      { name: 'job', label: 'Job', description: 'Jobs of Prometheus that scrape memstatd', from: 'memstat_poll_timestamp_seconds{%s}' % std.join(',', ['%s=~"$%s"' % [l, l] for l in c.clusterLabels[:1]]) },
      { name: 'instance', label: 'Host', description: 'One host, or a few to compare', all: false, from: 'memstat_poll_timestamp_seconds{%s}' % g.fleetMatchers },
    ],
    rows: [
      { title: 'Now', panels: [
        stat { title: 'Answers', unit: 'short', base: 'red', mappings: [[0, 'does not answer', 'red'], [1, 'answers', 'green']], thresholds: [[1, 'green']], description: 'Whether Prometheus gets a page.', empty: 'not scraped', queries: [['min by (instance) (%s)' % of('up'), host]] },
        stat { title: 'Age of the figures', unit: 's', thresholds: [[60, 'orange'], [300, 'red']], width: 4, description: 'Seconds from the last poll to the scrape. Increases while there are no polls.', empty: 'not scraped, or read from a text file', queries: [[of('memstat_poll_age_seconds'), host]] },
        stat { title: 'Sources down', unit: 'short', thresholds: [[1, 'red']], description: 'Sources that cannot be read now.', empty: 'not scraped', queries: [['sum by (instance) (%s == bool 0)' % of('memstat_source_up'), host]] },
        stat { title: 'Series', unit: 'short', description: 'Series of memory types on the page.', empty: 'not scraped', queries: [[of('memstat_series'), host]] },
        stat { title: 'Series omitted', unit: 'short', thresholds: [[1, 'red']], description: 'Series omitted because of series_limit. The smallest types are missing.', empty: 'not scraped', queries: [[of('memstat_series_dropped'), host]] },
        stat { title: 'Configuration', unit: 'short', base: 'red', width: 4, mappings: [[0, 'last reload failed', 'red'], [1, 'as in the file', 'green']], thresholds: [[1, 'green']], description: 'Whether the last reload of the configuration succeeded. After a failed reload memstatd continues with the previous configuration.', empty: 'not scraped', queries: [[of('memstat_config_last_reload_successful'), host]] },
        stat { title: 'Memory locked', unit: 'short', base: 'orange', width: 4, mappings: [[0, 'not locked', 'orange'], [1, 'locked', 'green']], thresholds: [[1, 'green']], description: 'Whether memstatd\'s own memory is locked, so that it keeps working when memory is short.', empty: 'not scraped', queries: [[of('memstat_memory_locked'), host]] },
      ] },
      { title: 'Sources', panels: [
        { title: 'Sources over time', kind: 'states', unit: 'short', base: 'red', mappings: [[0, 'down', 'red'], [1, 'up', 'green']], thresholds: [[1, 'green']], description: 'Whether the last read of each source worked. Sources that this kernel does not have are omitted.', empty: 'not scraped', queries: [[of('memstat_source_up'), host + ' {{source}}']] },
        { title: 'Sources', kind: 'table', unit: 'short', sort: 'source', descending: false, description: 'The result and the time of each source\'s last read.', empty: 'not scraped',
          queries: [['max by (instance, source) (%s)' % of('memstat_source_up'), ''], ['max by (instance, source) (%s)' % of('memstat_source_types'), ''], ['max by (instance, source) (%s)' % of('memstat_source_read_bytes'), ''],
                    ['time() - max by (instance, source) (%s)' % of('memstat_source_last_success_timestamp_seconds'), '']],
          columns: [['instance', 'host'], ['source', 'source'], ['Value #A', 'up'], ['Value #B', 'types'], ['Value #C', 'read'], ['Value #D', 'last success ago']],
          units: { read: 'bytes', 'last success ago': 's' }, column_mappings: { up: [[0, 'down', 'red'], [1, 'up', 'green']] } },
        lines { title: 'Time to read', unit: 's', description: 'How long one read of each source takes on average, from classic or native histograms.', empty: 'not scraped for long enough', queries: [[g.average('memstat_source_read_seconds'), host + ' {{source}}']] },
        lines { title: 'Slowest reads', unit: 's', description: 'How long the slowest of a hundred reads of each source takes, from classic or native histograms.', empty: 'not scraped for long enough', queries: [[g.slowest('memstat_source_read_seconds', 'instance, source'), host + ' {{source}}']] },
        lines { title: 'Failed reads', unit: 'opm', description: 'Failed reads of a source per minute, by reason. Empty if none has failed.', empty: 'no read ever failed', queries: [['60 * rate(%s[$__rate_interval])' % of('memstat_source_errors_total'), host + ' {{source}}: {{reason}}']] },
        lines { title: 'Polls skipped or not published', unit: 'opm', description: 'Polls per minute that were skipped because the previous one took too long, or not published because slow readers held every snapshot.', empty: 'not scraped',
                queries: [['60 * rate(%s[$__rate_interval])' % of('memstat_poll_missed_total'), host + ': missed'], ['60 * rate(%s[$__rate_interval])' % of('memstat_snapshots_skipped_total'), host + ': not shown']] },
      ] },
      { title: 'What it costs', panels: [
        lines { title: 'Time to poll', unit: 's', description: 'How long a whole poll takes on average, from the first read to the finished page; from classic or native histograms.', empty: 'not scraped for long enough', queries: [[g.average('memstat_poll_duration_seconds'), host]] },
        lines { title: 'CPU', unit: 'percentunit', description: 'Part of one CPU that memstatd uses.', empty: 'not scraped', queries: [['rate(%s[$__rate_interval])' % of('process_cpu_seconds_total'), host]] },
        lines { title: 'Memory', unit: 'bytes', description: 'Memory of memstatd itself.', empty: 'not scraped', queries: [[of('process_resident_memory_bytes'), host]] },
        lines { title: 'Series of a scrape', unit: 'short', description: 'Series of memory types on the page, those omitted because of series_limit, and all samples of a scrape.', empty: 'not scraped',
                queries: [[of('memstat_series'), host + ': of types'], [of('memstat_series_dropped'), host + ': left out'], [of('scrape_samples_scraped'), host + ': of a scrape']] },
        lines { title: 'Time to scrape', unit: 's', description: 'How long Prometheus waits for the page.', empty: 'not scraped', queries: [[of('scrape_duration_seconds'), host]] },
        lines { title: 'Types too small for the page', unit: 'bytes', description: 'Bytes in use of the types omitted because of min_bytes or series_limit, by allocator.', empty: 'not scraped', queries: [[of('memstat_unlisted_bytes'), host + ' {{allocator}}']] },
        { title: 'Versions', kind: 'table', unit: 'none', width: 24, height: 6, sort: 'host', descending: false, description: 'The version of memstatd and of the kernel on each host.', empty: 'not scraped',
          queries: [['max by (instance, version) (%s)' % of('memstat_build_info'), ''], ['max by (instance, os, release) (%s)' % of('memstat_kernel_info'), '']],
          columns: [['instance', 'host'], ['version', 'version'], ['os', 'system'], ['release', 'kernel release']] },
      ] },
    ],
  }
