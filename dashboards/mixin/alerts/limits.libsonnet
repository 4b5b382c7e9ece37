// SPDX-License-Identifier: BSD-2-Clause
// Types that fail, wait, or are near or at a limit; tables and sockets.
local std = import '../lib/std.libsonnet';
function(c, l)
  local typeName = '{{ $labels.allocator }} type {{ $labels.type }}';
  local type = ['allocator', 'type'];
  local byType(expr) = l.by(type, expr);
  // The share used, for types that use `limitFollowed` of their limit or more.
  local used = 'instance_allocator_type:memstat_type_limit_used:followed';
  // Those of them that are at their limit or close to it: few, so looking back over minutes is cheap.
  local exhausted = 'instance_allocator_type:memstat_type_limit_used:exhausted';
  local configured = 'unless on (%s) %s' % [l.hostAnd(type), l.of('memstat_type_limit_configured')];
  local typeAlert(name, expr, wait, severity, summary, description) =
    l.alert(name, expr, wait, severity, 'limit', summary + ' on ' + l.hostName, l.hostName + ': ' + description, 'type', type);
  // Growth in both halves of the time is required, so that a single step, such as a lowered limit, is not extrapolated, and
  // about as much in the second half, because a table that levels off is not extrapolated either. Nor is one that had as much
  // within a day, and was not almost full: tables fill each morning and after each boot. A type that was not followed then has
  // grown by more, if its host was scraped.
  local growsTo(hours, back, half, least) = |||
    predict_linear(%(used)s[%(back)s], %(seconds)s) > 1
    and %(used)s > 0.5
    and %(used)s < 1
    and on (%(host)s) %(poll)s offset %(back)s
    %(had)s
    unless %(used)s - %(used)s offset %(back)s <= %(least)s
    unless %(used)s - %(used)s offset %(half)s <= %(part)s
    unless %(used)s offset %(half)s - %(used)s offset %(back)s <= %(part)s
    unless %(used)s - %(used)s offset %(half)s < 0.85 * (%(used)s offset %(half)s - %(used)s offset %(back)s)
  ||| % {
    used: used,
    back: back,
    half: half,
    seconds: '%d' % (hours * 3600),
    least: '%g' % least,
    had: std.join('\n', ['unless (%s offset %s >= %s) < %g' % [used, ago, used, c.nearLimit] for ago in ['2h', '4h', '8h', '16h', '1d']]),
    part: '%g' % (least / 3),
    host: l.host,
    poll: l.of('memstat_poll_timestamp_seconds'),
  };
  local until(back) =
    l.duration(' At this speed the limit is reached in ', '(1 - memstat_type_limit_used_ratio{%s,allocator=%%q,type=%%q}) / (deriv(memstat_type_limit_used_ratio{%s,allocator=%%q,type=%%q}[%s]) > 0)' % [
      l.hostMatchers, l.hostMatchers, back
    ], '%s $labels.allocator $labels.type %s $labels.allocator $labels.type' % [l.hostArguments, l.hostArguments], '.');
  // ": 4096 of 4096", if both are counted. One query, the limit as a label of its answer, because this text is made again at each
  // evaluation as long as the alert is active.
  local counted =
    local figure(metric) = 'max(%s{%s,allocator=%%q,type=%%q})' % [metric, l.hostMatchers];
    local arguments = '%s $labels.allocator $labels.type' % l.hostArguments;
    '{{ with printf `%s * on () group_right () count_values("limit", %s)` %s | query }}{{ with first . }}: {{ value . | printf "%%.0f" }} of {{ label "limit" . }}{{ end }}{{ end }}' % [
      figure('memstat_type_objects'), figure('memstat_type_limit_objects'), arguments + ' ' + arguments
    ];
  local setting = ' `memstatctl limits`, on that host, names its setting.';
  {
    now: [
      // All alerts on limits use this series, so that the limits of all types are evaluated once.
      l.record(used, l.by(['allocator', 'type'], '%s > %g' % [
        l.of('memstat_type_limit_used_ratio', 'allocator!~"%s",type!~"%s"' % [c.fullByDesign, c.fullByDesignTypes]), c.limitFollowed
      ])),
      l.record(exhausted, '%s >= %g' % [used, c.atLimit]),
      // Critical only while the type is at a limit of the kernel itself. The kernel's count of refusals grows as long as
      // something asks for more, so a single sample with room does not end the alert. For tables without such a count, being
      // full is the failure.
      typeAlert(
        'MemstatLimitHit',
        |||
          (
            60 * %(hits)s
            and on (%(labels)s) max_over_time(%(at)s[10m])
            or 0 * (max_over_time(%(at)s{allocator="table"}[5m]) >= 1)
            unless on (%(labels)s) %(failures)s
          )
          %(configured)s
        ||| % {
          labels: l.hostAnd(type),
          hits: byType('rate(%s[5m]) > 0' % l.of('memstat_type_limit_hits_total', 'allocator!~"%s"' % c.fullByDesign)),
          at: exhausted,
          failures: l.of('memstat_type_failures_total', 'allocator="table"'),
          configured: configured,
        },
        '0m', 'critical', 'A kernel limit is reached',
        typeName + ' is at its limit, and requests for more wait or fail'
        + '{{ if ge $value 1.0 }}, ' + l.times('once', 'times') + ' a minute{{ end }}' + counted + '.' + setting
      ),
      // Hardly anything works without files. Once none is left, nobody can log in.
      typeAlert(
        'MemstatFileHandles',
        local files = '%s{allocator="table",type="files"}' % used;
        '(%s) %s' % [l.held('%s > %g' % [files, c.fileHandles], 'max_over_time(%s[11m]) > %g' % [files, c.fileHandles]), configured],
        '3m', 'critical', 'The file table is almost full',
        l.percent + ' of the maximum number of open files are in use' + counted + '; at 100% no program can open another file.' + until('1h')
        + ' The limit is `sysctl fs.file-max`, on FreeBSD `sysctl kern.maxfiles`.'
      ),
    ],
    soon: [
      typeAlert(
        'MemstatAllocationFailures',
        '60 * %s' % byType('rate(%s[5m]) > %g' % [l.of('memstat_type_failures_total', 'allocator!~"memcg|zswap|kmalloc_site",type!~"%s"' % c.failsRoutinely), c.failures / 60]),
        '2m', 'warning', 'Kernel allocations fail',
        l.number + ' allocations of ' + typeName + ' fail a minute.'
      ),
      typeAlert(
        'MemstatConfiguredLimitExceeded',
        '%s >= 1 and on (%s) %s' % [used, l.hostAnd(type), l.of('memstat_type_limit_configured')],
        '4m', 'warning', 'A type is above the limit that you configured',
        typeName + ' uses ' + l.percent + ' of the limit in the configuration of memstatd. The kernel does not enforce it.'
      ),
      typeAlert(
        'MemstatLimitWaits',
        '60 * %s' % byType('rate(%s[5m]) > %g' % [l.of('memstat_type_sleeps_total', 'allocator!~"%s"' % c.fullByDesign), c.waits / 60]),
        '4m', 'warning', 'Threads wait for kernel memory',
        l.number + ' allocations of ' + typeName + ' had to wait at the limit a minute.'
      ),
      l.alert(
        'MemstatSocketPressure',
        l.by(['type'], '%s > 0' % l.of('memstat_socket_memory_pressure')),
        '4m', 'warning', 'limit',
        'Sockets hold too much memory on ' + l.hostName,
        l.hostName + ': {{ $labels.type }} sockets hold so much memory that the kernel shrinks their buffers; connections get slow.',
      ),
    ],
    // These wait for a quarter of an hour or longer, so evaluating every few minutes is enough.
    tables: [
      // Not a zone of uma(9) most of whose limit is taken by items that are cached and free. Nor the file table, which has an alert
      // of its own, unless this one fired before: it is not resolved because it got worse.
      typeAlert(
        'MemstatNearLimit',
        '%s > %g %s unless on (%s) (%s{allocator="table",type="files"} > %g unless on (%s) ALERTS{alertname="MemstatNearLimit",alertstate="firing"}) unless on (%s) %s > 0.5 * %s' % [
          used, c.nearLimit, configured, l.hostAnd(type), used, c.fileHandles, l.hostAnd(type), l.hostAnd(type), l.one('memstat_type_free_objects', 'allocator="uma"', type), l.one('memstat_type_limit_objects', 'allocator="uma"', type)
        ],
        '15m', 'warning', 'A kernel limit is almost reached',
        typeName + ' uses ' + l.percent + ' of its limit' + counted + '.' + until('1h') + setting
      ),
      l.alert(
        'MemstatUserQuota',
        l.by(['type', 'kind'], '%s > %g' % [l.of('memstat_table_user_used_ratio'), c.userQuota]),
        '15m', 'warning', 'limit',
        'A user has almost used up a kernel quota on ' + l.hostName,
        l.hostName + ': one user has ' + l.percent + ' of the quota of {{ $labels.type }}'
        + '{{ with $labels.kind }} ({{ . }}){{ end }}; its programs fail at 100%.',
      ),
      l.alert(
        'MemstatSoftLimit',
        '%s / on (%s) group_left () %s > 1' % [
          l.one('memstat_type_objects', 'allocator="table"', type), l.hostAnd(['type']), l.one('memstat_table_soft_limit_objects', '', ['type'])
        ],
        '15m', 'warning', 'limit',
        'A kernel table is so full that entries are evicted on ' + l.hostName,
        l.hostName + ': table {{ $labels.type }} has ' + l.percent + ' of the entries at which the kernel begins to evict some.',
        'type', type,
      ),
      l.alert(
        'MemstatNegativeDentries',
        l.by([], '192 * %s %s' % [l.of('memstat_negative_dentries'), l.partOfMemory(c.negativeDentries)]),
        '30m', 'warning', 'memory',
        'The kernel caches very many names of missing files on ' + l.hostName,
        l.hostName + ': directory entries for files that do not exist take about ' + l.bytes + '; a program looks for such files '
        + 'again and again.',
      ),
    ],
    // These look back over hours.
    trends: [
      typeAlert(
        'MemstatLimitWithinFourHours', growsTo(4, '1h', '30m', 0.02), '30m', 'warning',
        'A kernel limit will be reached within four hours',
        typeName + ' grows: if this continues as in the last hour, in four hours it uses ' + l.percent + ' of its limit.' + until('1h')
      ),
      typeAlert(
        'MemstatLimitWithinADay', growsTo(24, '6h', '3h', 0.05), '1h', 'info',
        'A kernel limit will be reached within a day',
        typeName + ' grows: if this continues as in the last six hours, in a day it uses ' + l.percent + ' of its limit.' + until('6h')
      ),
    ],
  }
