// SPDX-License-Identifier: BSD-2-Clause
// Makes Grafana dashboards from the choices of a person: titles, descriptions, queries, units, widths. This file adds the
// rest that Grafana needs (numbers, positions, the datasource of each query, links). The fields of a panel:
//
//   title, description   what it shows, and why it may be empty on FreeBSD or on Linux
//   kind                 timeseries, stack, stat, bars, table, heatmap, states, alerts or text
//   unit                 an identifier of Grafana, such as bytes
//   queries              [[expression, legend], ...]; instant for bars, stat and table, otherwise over the time shown
//   width, height        of 24 columns, and in rows of 30 pixels
//   empty                the text shown if there is no data
//   to                   the dashboard to which a click on a series leads, with that series' labels
//   drill                [label, ...]: with the hosts shown, and only these labels of the series
//   thresholds           [[value, color], ...]; mappings [[value, text, color], ...]
//   columns              of a table: [[label, heading], ...]; units {heading: unit}; column_mappings, column_thresholds {heading: as above};
//                        column_links {heading: [title, address]}; column_widths {heading: pixels}
//   lines, colors        series that are lines in a stack; {series: color}
local std = import 'std.libsonnet';
local datasource = { type: 'prometheus', uid: '${datasource}' };
local kinds = { stack: 'timeseries', bars: 'bargauge', states: 'state-timeline', alerts: 'table' };
local isInstant(panel) = std.member(['stat', 'bars', 'table', 'alerts'], panel.kind);
local isTable(panel) = std.member(['table', 'alerts'], panel.kind);
local get(object, key, default) = if std.objectHas(object, key) then object[key] else default;

function(config) {
  local cluster = config.clusterLabels[:1],
  // Matchers of all queries, including the configured ones. Locals are evaluated once, fields each time that they are used.
  local matchers(list) = std.join(',', [part for part in [config.selector] + list if part != '']),
  local fleetMatchers = matchers(['%s=~"$%s"' % [label, label] for label in cluster + ['job']]),
  local hostMatchers = matchers(['%s=~"$%s"' % [label, label] for label in cluster + ['job', 'instance']]),
  // Memory of programs is blue, of the kernel in warm colors, free memory green. A part always has the same color.
  partColors:: {
    anonymous: 'blue', page_cache: 'light-blue', shared: 'semi-dark-blue', buffers: 'super-light-blue', swap_cache: 'dark-blue', detached: 'super-light-green',
    active: 'blue', inactive: 'light-blue', laundry: 'semi-dark-blue', cache: 'super-light-blue', unswappable: 'super-light-green', user_wired: 'dark-blue',
    slab_unreclaimable: 'red', slab: 'red', slab_reclaimable: 'light-orange', kernel_misc: 'super-light-orange', vmalloc: 'orange', percpu: 'dark-orange', per_cpu_pages: 'light-purple',
    kernel_stacks: 'yellow', page_tables: 'purple', secondary_page_tables: 'dark-purple', memory_map: 'super-light-yellow', sockets: 'light-red', tracing: 'super-light-red',
    zswap: 'light-yellow', zsmalloc: 'dark-yellow', bounce: 'semi-dark-orange', writeback_copies: 'semi-dark-yellow', gpu: 'light-green', cma: 'dark-green',
    hugetlb: 'semi-dark-purple', balloon: 'super-light-purple', hardware_corrupted: 'semi-dark-red', kmem: 'red', wired_other: 'orange', pv_entries: 'yellow',
    set_aside: 'semi-dark-green', arc: '#9d7660', 'in no account': 'dark-red', free: 'green',
  },
  // Firing alerts. For alerts evaluated every ten minutes or more rarely, the last result, which Prometheus shows for only
  // five.
  firing(matchers):: 'ALERTS{alertstate="firing",alertname=~"Memstat.*",severity=~"critical|warning",%(m)s} or last_over_time(ALERTS{alertstate="firing",severity=~"critical|warning",cause=~"growth|group",%(m)s}[15m])' % { m: matchers },
  // Active findings with their words, whose series are absent if memstatd's findings.info is off: by host, cause and object, with the
  // severity as value, from `above` on.
  findings(matchers, above):: (
    local names = { m: matchers, above: above, hosts: std.join(', ', cluster + ['job', 'instance', 'cause', 'object']) };
    |||
      (max by (%(hosts)s) (memstat_finding{%(m)s} > %(above)d)
      * on (%(hosts)s) group_left (headline, culprit, next, since) topk by (%(hosts)s) (1, memstat_finding_info{%(m)s}))
      or on (%(hosts)s) max by (%(hosts)s) (memstat_finding{%(m)s} > %(above)d)
    ||| % names
  ),
  // How a table shows findings.
  findingColumns:: {
    column_mappings: { severity: [[4, 'now', 'red'], [3, 'soon', 'orange'], [2, 'wasteful', 'yellow'], [1, 'notable', 'text']] },
    column_thresholds: { severity: [] },
    column_links: { cause: ['runbook', 'http://${__data.fields.instance}/runbooks/${__data.fields.cause}'] },
  },
  // Variables of hosts, from left to right.
  hostVariables:: cluster + ['job', 'instance'],
  fleetMatchers:: fleetMatchers,
  hostMatchers:: hostMatchers,

  // Each histogram is queried as classic and as native, because a Prometheus that stores native histograms does not also
  // store the classic series. The average of a host, and the slowest hundredth.
  average(histogram):: |||
    rate(%(h)s_sum{%(m)s}[$__rate_interval]) / rate(%(h)s_count{%(m)s}[$__rate_interval])
    or histogram_sum(rate(%(h)s{%(m)s}[$__rate_interval])) / histogram_count(rate(%(h)s{%(m)s}[$__rate_interval]))
  ||| % { h: histogram, m: hostMatchers },
  slowest(histogram, by):: |||
    histogram_quantile(0.99, sum by (%(by)s, le) (rate(%(h)s_bucket{%(m)s}[$__rate_interval])))
    or histogram_quantile(0.99, sum by (%(by)s) (rate(%(h)s{%(m)s}[$__rate_interval])))
  ||| % { h: histogram, m: hostMatchers, by: by },

  local address(name, variables) = '/d/memstatd-' + name + '?${datasource:queryparam}'
                                   + std.join('', ['&' + variable for variable in variables]) + '&${__url_time_range}',
  local link(name, url, keeps) = {
    title: 'memstatd: ' + name, type: 'link', url: url, icon: 'dashboard', tooltip: '', tags: [], asDropdown: false,
    targetBlank: false, includeVars: keeps, keepTime: keeps,
  },
  local names = ['fleet', 'host', 'type', 'daemon'],
  local linksOf(name) = [
    link(other, address(other, ['${%s:queryparam}' % v for v in cluster + ['job'] + if other == 'fleet' || name == 'fleet' then [] else ['instance']]), false)
    for other in names if other != name
  ],
  local targets = {
    host: cluster + ['job', 'instance'], daemon: cluster + ['job', 'instance'],
    type: cluster + ['job', 'instance', 'allocator', 'type'], fleet: cluster + ['job', 'allocator', 'type'],
  },
  // A panel that drills down keeps the hosts, and chooses values of its own labels.
  local dataLink(to, table, drill) = {
    title: if drill == [] then 'show in memstatd: ' + to else 'only this ' + drill[std.length(drill) - 1],
    url: address(to, (if drill == [] then [] else ['${%s:queryparam}' % v for v in targets[to]])
                     + ['var-%s=${__%s.%s}' % ([label] + if table then ['data.fields', label] else ['field.labels', label]) for label in if drill == [] then targets[to] else drill]),
  },

  local steps(panel) = {
    mode: 'absolute',
    steps: [{ color: if std.objectHas(panel, 'thresholds') then get(panel, 'base', 'green') else 'text', value: null }]
           + [{ color: step[1], value: step[0] } for step in get(panel, 'thresholds', [])],
  },
  local mappings(list) = if list == [] then [] else [{
    type: 'value',
    options: { [std.toString(list[i][0])]: { text: list[i][1], color: list[i][2], index: i } for i in std.range(0, std.length(list) - 1) },
  }],
  // The text "no failures" must not appear if no host is scraped.
  local reason(empty) = if std.strReplace(empty, 'scraped', '') != empty then empty else empty + ' (or no host is scraped)',
  local defaults(panel) = {
    unit: panel.unit,
    mappings: mappings(get(panel, 'mappings', [])),
    thresholds: steps(panel),
    links: if std.objectHas(panel, 'to') then [dataLink(panel.to, isTable(panel), get(panel, 'drill', []))] else [],
    color: { mode: if isTable(panel) || std.member(['stat', 'bars', 'states'], panel.kind) then
      (if panel.kind == 'bars' && !std.objectHas(panel, 'thresholds') then 'continuous-BlPu' else 'thresholds')
    else 'palette-classic-by-name' },
    custom: if std.member(['timeseries', 'stack'], panel.kind) then {
      drawStyle: 'line', lineWidth: 1, fillOpacity: if panel.kind == 'stack' then 60 else 8, showPoints: 'auto', pointSize: 4,
      // Rules that look back over hours are evaluated only every slowInterval.
      spanNulls: 1800000,
      lineInterpolation: 'linear', axisPlacement: 'auto', thresholdsStyle: { mode: 'off' },
      stacking: { mode: if panel.kind == 'stack' then 'normal' else 'none', group: 'A' },
    } else if panel.kind == 'states' then { fillOpacity: 80, lineWidth: 0 }
    else if panel.kind == 'heatmap' then { hideFrom: { legend: false, tooltip: false, viz: false }, scaleDistribution: { type: 'linear' } }
    else if isTable(panel) then { align: 'auto', cellOptions: { type: 'auto' }, inspect: false, filterable: true }
    else {},
  } + (if std.objectHas(panel, 'empty') then { noValue: reason(panel.empty) } else {})
                          + { [key]: panel[key] for key in ['min', 'max', 'decimals'] if std.objectHas(panel, key) },

  local reduce = { calcs: ['lastNotNull'], fields: '', values: false },
  local options(panel) = (
    local kind = panel.kind;
    if kind == 'timeseries' || kind == 'stack' then {
      legend: { displayMode: 'table', placement: get(panel, 'legend', 'bottom'), showLegend: true, calcs: ['lastNotNull', 'max'],
                sortBy: 'Last *', sortDesc: true },
      tooltip: { mode: 'multi', sort: 'desc' },
    } else if kind == 'stat' then {
      reduceOptions: reduce, orientation: 'auto', textMode: get(panel, 'text_mode', 'auto'), wideLayout: true, colorMode: 'value',
      graphMode: 'none', justifyMode: 'auto', showPercentChange: false,
    } else if kind == 'bars' then {
      reduceOptions: reduce, orientation: 'horizontal', displayMode: 'gradient', showUnfilled: true, valueMode: 'color',
      namePlacement: 'auto', sizing: 'auto', minVizWidth: 8, minVizHeight: 16, maxVizHeight: 300,
    } else if isTable(panel) then {
      showHeader: true, cellHeight: 'sm', frameIndex: 0,
      footer: { show: false, reducer: ['sum'], countRows: false, fields: [] },
      sortBy: [{ displayName: panel.sort, desc: get(panel, 'descending', true) }],
    } else if kind == 'heatmap' then {
      calculate: false, cellGap: 1, cellValues: { unit: panel.unit },
      color: { mode: 'scheme', scheme: 'Oranges', steps: 64, reverse: false, exponent: 0.5, fill: 'dark-orange', scale: 'exponential' },
      exemplars: { color: 'rgba(255,0,255,0.7)' }, filterValues: { le: 1e-9 }, legend: { show: true }, rowsFrame: { layout: 'auto' },
      showValue: 'never', tooltip: { mode: 'single', yHistogram: false },
      yAxis: { axisPlacement: 'left', axisLabel: panel.rows, unit: get(panel, 'row_unit', 'none'), reverse: false },
    } else if kind == 'states' then {
      mergeValues: true, showValue: 'never', alignValue: 'left', rowHeight: 0.9,
      legend: { displayMode: 'list', placement: 'bottom', showLegend: true, calcs: [] }, tooltip: { mode: 'single', sort: 'none' },
    } else { mode: 'markdown', content: panel.text }
  ),

  local target(index, query, panel) = {
    refId: std.char(65 + index), datasource: datasource, editorMode: 'code', expr: std.join(' ', [w for w in std.split(std.strReplace(query[0], '\n', ' '), ' ') if w != '']),
    legendFormat: if query[1] == '' then '__auto' else query[1], instant: isInstant(panel), range: !isInstant(panel),
    format: if isTable(panel) then 'table' else if get(panel, 'buckets', false) then 'heatmap' else 'time_series',
  },

  // One row for each set of labels, with the values of the queries as columns.
  local transformations(panel, single) = if !isTable(panel) then [] else (
    local columns = panel.columns;
    local field(column) = if single && column[0] == 'Value #A' then 'Value' else column[0];
    [
      { id: 'merge', options: {} },
      { id: 'filterFieldsByName', options: { include: { names: [field(column) for column in columns] } } },
      { id: 'organize', options: {
        excludeByName: {},
        indexByName: { [field(columns[i])]: i for i in std.range(0, std.length(columns) - 1) },
        renameByName: { [field(column)]: column[1] for column in columns },
      } },
    ]
  ),
  local overrides(panel) =
    [{ matcher: { id: 'byName', options: name }, properties: [{ id: 'unit', value: panel.units[name] }] }
     for name in std.objectFields(get(panel, 'units', {}))]
    + [{ matcher: { id: 'byName', options: name }, properties: [{ id: 'mappings', value: mappings(panel.column_mappings[name]) }] }
       for name in std.objectFields(get(panel, 'column_mappings', {}))]
    + [{ matcher: { id: 'byName', options: name }, properties: [{ id: 'thresholds', value: {
      mode: 'absolute', steps: [{ color: 'text', value: null }] + [{ color: s[1], value: s[0] } for s in panel.column_thresholds[name]],
    } }, { id: 'custom.cellOptions', value: { type: 'color-text' } }] }
       for name in std.objectFields(get(panel, 'column_thresholds', {}))]
    + [{ matcher: { id: 'byName', options: name }, properties: [{ id: 'links', value: [{ title: panel.column_links[name][0], url: panel.column_links[name][1], targetBlank: true }] }] }
       for name in std.objectFields(get(panel, 'column_links', {}))]
    + [{ matcher: { id: 'byName', options: name }, properties: [{ id: 'custom.width', value: panel.column_widths[name] }] }
       for name in std.objectFields(get(panel, 'column_widths', {}))]
    + [{ matcher: { id: 'byName', options: name }, properties: [{ id: 'color', value: { mode: 'fixed', fixedColor: panel.colors[name] } }] }
       for name in std.objectFields(get(panel, 'colors', {}))]
    + [{ matcher: { id: 'byName', options: name }, properties: [
      { id: 'custom.fillOpacity', value: 0 },
      { id: 'custom.stacking', value: { mode: 'none', group: 'A' } },
      { id: 'custom.lineStyle', value: { fill: 'dash', dash: [10, 10] } },
      { id: 'color', value: { mode: 'fixed', fixedColor: 'red' } },
    ] } for name in get(panel, 'lines', [])],

  // A field of an object is evaluated each time that it is used, a local once.
  local made(panel, place, links) = (local queries = panel.queries; {
    id: place.id, type: get(kinds, panel.kind, panel.kind), title: panel.title, description: panel.description,
    gridPos: { h: place.h, w: place.w, x: place.x, y: place.y }, links: links, options: options(panel),
  } + (if panel.kind == 'text' then {} else {
         datasource: datasource,
         fieldConfig: { defaults: defaults(panel), overrides: overrides(panel) },
         targets: [target(i, queries[i], panel) for i in std.range(0, std.length(queries) - 1)],
         transformations: transformations(panel, std.length(queries) == 1),
       }) + (if isInstant(panel) then { maxDataPoints: 1 } else {})),

  // Positions from left to right, in rows 24 wide; appends to {panels, y, id}.
  local placed(panels, y, id, links) = (
    local step(state, panel) = (
      local width = get(panel, 'width', 12);
      local height = get(panel, 'height', 9);
      local wraps = state.x + width > 24;
      local x = if wraps then 0 else state.x;
      local top = if wraps then state.y + state.tallest else state.y;
      {
        x: x + width, y: top, tallest: if wraps then height else std.max(state.tallest, height), id: state.id + 1,
        panels: state.panels + [made(panel, { id: state.id, h: height, w: width, x: x, y: top }, links)],
      }
    );
    std.foldl(step, panels, { x: 0, y: y, tallest: 0, id: id, panels: [] })
  ),
  local rows(source, links) = (
    local step(state, row) = (
      local collapsed = get(row, 'collapsed', false);
      local inside = placed(row.panels, state.y + 1, state.id + 1, links);
      local head = {
        id: state.id, type: 'row', title: row.title, collapsed: collapsed, gridPos: { h: 1, w: 24, x: 0, y: state.y },
        panels: if collapsed then inside.panels else [],
      };
      {
        y: if collapsed then state.y + 1 else inside.y + inside.tallest, id: inside.id,
        panels: state.panels + [head] + (if collapsed then [] else inside.panels),
      }
    );
    std.foldl(step, source, { y: 0, id: 1, panels: [] }).panels
  ),

  local variable(v) = (
    local all = get(v, 'all', true);
    {
      name: v.name, label: v.label, description: v.description, type: 'query', datasource: datasource,
      query: { query: 'label_values(%s, %s)' % [v.from, get(v, 'of', v.name)], refId: v.name, qryType: 1 }, regex: '', refresh: 2, sort: 1, hide: 0,
      multi: true, includeAll: all, allValue: get(v, 'all_value', '.+'), options: [], skipUrlSync: false,
    } + if all then { current: { selected: true, text: ['All'], value: ['$__all'] } } else {}
  ),
  // Clusters; targets without the label count as one cluster.
  clusterVariable(metric):: [
    { name: label, label: 'Cluster', description: 'Clusters, where targets have the label %s' % label, from: metric, all_value: '.*' }
    for label in cluster
  ],

  annotation(title, expression, color):: {
    name: title, datasource: datasource, enable: true, hide: false, iconColor: color, expr: expression, step: '60s',
    titleFormat: title, textFormat: '{{instance}}', tagKeys: 'instance', useValueForTime: false,
  },

  dashboard(name, source):: {
    uid: 'memstatd-' + name, title: source.title, description: source.description, tags: ['memstatd', 'kernel', 'memory'],
    schemaVersion: 39, version: 1, editable: false, graphTooltip: 1, refresh: '1m', time: { from: get(source, 'from', 'now-6h'), to: 'now' },
    timepicker: {}, timezone: 'browser', weekStart: '', fiscalYearStartMonth: 0, liveNow: false,
    annotations: { list: get(source, 'annotations', []) },
    links: [link(other, '/d/memstatd-' + other, true) for other in names if other != name],
    templating: { list: [{
      name: 'datasource', label: 'Datasource', type: 'datasource', query: 'prometheus', regex: '', refresh: 1, hide: 0, multi: false,
      includeAll: false, options: [], skipUrlSync: false,
    }] + [variable(v) for v in source.variables] },
    panels: rows(source.rows, linksOf(name)),
  },
}
