// SPDX-License-Identifier: BSD-2-Clause
// memstatd itself. None of these is critical: the host may be fine, but it is not being monitored.
local std = import '../lib/std.libsonnet';
function(c, l)
  local slab = 'source=~"linux_slab(info|_sysfs|_bpf)"';
  local boot = l.of('memstat_boot_timestamp_seconds');
  local start = l.of('process_start_time_seconds');
  // Failed reads in the five minutes before, as a share of all polls: 15% is every second read of a source that is read
  // every third poll. A source that never failed has no such series, so this costs nothing on a healthy host.
  local failing(offset) = '(sum by (%s) (%s) * on (%s) group_left () %s > 0.15)' % [
    l.hostAnd(['source']), l.by(['source', 'reason'], 'rate(%s[5m]%s)' % [l.of('memstat_source_errors_total'), offset]), l.host, l.one('memstat_poll_interval_seconds')
  ];
  {
    // The daemon hangs, or does not run.
    soon: [
      // The age is by the host's own clock. If it is not on the page, as in a text file, the two clocks must agree.
      l.alert(
        'MemstatPollStuck',
        |||
          (
            %(age)s
            or time() - %(timestamp)s
          )
          > (
            clamp_min(3 * %(interval)s, 300)
            or 0 * %(timestamp)s + 300
          )
        ||| % {
          age: 'min by (%s) (%s)' % [l.host, l.of('memstat_poll_age_seconds')],
          timestamp: l.one('memstat_poll_timestamp_seconds'),
          interval: l.one('memstat_poll_interval_seconds'),
        },
        '2m', 'warning', 'daemon',
        'memstatd shows old figures on ' + l.hostName,
        l.hostName + ': the last poll of memstatd was {{ $value | humanizeDuration }} ago.',
        'daemon',
      ),
      // Aggregated by host first: while one of a host's two targets answers, the host is not missing.
      // A host of a job that is federated without `up` has none when it dies.
      l.alert(
        'MemstatDaemonMissing',
        |||
          %(up)s == 0
          or 0 * last_over_time(instance:memstat_series:sum[2h])
            unless on (%(host)s) %(poll)s
            unless on (%(fleet)s) up{%(selector)s}
            unless on (%(host)s) up
            and on (%(fleet)s) count by (%(fleet)s) (%(poll)s)
        ||| % { up: l.by([], 'up{%s}' % c.upSelector), host: l.host, fleet: l.fleet, poll: l.of('memstat_poll_timestamp_seconds'), selector: c.upSelector },
        '4m', 'warning', 'daemon',
        'memstatd does not answer on ' + l.hostName,
        l.hostName + ': Prometheus has had no page of memstatd for 4 minutes.',
        'daemon',
      ),
      l.alert(
        'MemstatDaemonUnsteady',
        l.comesAndGoes(),
        '4m', 'warning', 'daemon',
        'memstatd answers only at times on ' + l.hostName,
        l.hostName + ': memstatd, the host or the network came and went ' + l.number + ' times in the last hour.',
        'daemon',
      ),
    ],
    // The daemon runs, but something is missing.
    parts: [
      // Includes a source that fails repeatedly between successful reads, which a scrape per minute may not show. A source
      // without a privilege is not down if another one replaces it; it is down if no source reads slab caches any more.
      l.alert(
        'MemstatSourceDown',
        |||
          (
            %(down)s
            or %(failing)s and %(failingBefore)s and %(failingLongBefore)s
          )
          unless on (%(host)s, source) %(denied)s == 1
          or 0 * (%(slab)s == 1 unless on (%(host)s) %(slabs)s == 1)
        ||| % {
          host: l.host,
          down: l.by(['source'], l.of('memstat_source_up') + ' == 0'),
          failing: failing(''),
          failingBefore: failing(' offset 5m'),
          failingLongBefore: failing(' offset 10m'),
          denied: l.of('memstat_source_not_permitted'),
          slab: l.one('memstat_source_not_permitted', slab, ['source']),
          slabs: l.of('memstat_source_up', slab),
        },
        '4m', 'warning', 'daemon',
        'memstatd cannot read a source on ' + l.hostName,
        l.hostName + ': source {{ $labels.source }} {{ if le $value 0.0 }}has provided nothing for 4 minutes{{ else }}fails repeatedly{{ end }}, so its figures are missing.',
        'daemon',
      ),
      l.alert(
        'MemstatEventsDetached',
        l.by(['source'], l.of('memstat_events_counted_ratio') + ' == 0'),
        '4m', 'warning', 'daemon',
        'memstatd has stopped counting events on ' + l.hostName,
        l.hostName + ': counting the events of {{ $labels.source }} took more than events.budget, so memstatd detached from them; their figures are missing until it attaches again, which it tries at intervals of up to an hour.',
        'daemon',
      ),
      l.alert(
        'MemstatSourceStuck',
        '%s > 0 and on (%s, source) %s == 0' % [
          l.by(['source'], 'increase(%s[10m])' % l.of('memstat_source_errors_total', 'reason="timeout"')), l.host, l.of('memstat_source_up')
        ],
        '4m', 'warning', 'daemon',
        'The kernel does not answer a read of memstatd on ' + l.hostName,
        l.hostName + ': a read of source {{ $labels.source }} has not returned; the kernel may be blocked.',
        'daemon',
      ),
      l.alert(
        'MemstatSeriesDropped',
        l.by([], l.of('memstat_series_dropped') + ' > 0'),
        '10m', 'warning', 'daemon',
        'memstatd omits types on ' + l.hostName,
        l.hostName + ': ' + l.times('1 series is', 'series are') + ' beyond series_limit and not on the page; the smallest types are missing.',
        'daemon',
      ),
      l.alert(
        'MemstatConfigReloadFailed',
        l.by([], l.of('memstat_config_last_reload_successful') + ' == 0'),
        '4m', 'warning', 'daemon',
        'memstatd runs with an old configuration on ' + l.hostName,
        l.hostName + ': the last reload of the configuration failed; memstatd continues with the previous one.',
        'daemon',
      ),
      // The boot time moves forward. A clock that is set after boot moves it back a little, at most once per boot. While the host
      // boots, it does not answer.
      l.alert(
        'MemstatRepeatedReboots',
        l.by([], '(changes(%(b)s[6h]) >= 4 unless resets(%(b)s[6h]) >= 5 or changes(%(b)s[1h]) >= 3 unless resets(%(b)s[1h]) >= 5) and time() - last_over_time(%(b)s[15m]) < 7200' % { b: boot }),
        '12m', 'warning', 'daemon',
        l.hostName + ' boots repeatedly',
        l.hostName + ' booted ' + l.number + ' times within {{ if ge $value 4.0 }}six hours{{ else }}an hour{{ end }}.',
      ),
      // The boot or start time goes back and forth: the target is a load balancer, or a name with two addresses.
      l.alert(
        'MemstatTwoHostsInOne',
        l.by([], 'resets(%s[30m]) >= 3 or resets(%s[30m]) >= 3' % [boot, start]),
        '4m', 'warning', 'daemon',
        'Two memstatds answer for ' + l.hostName,
        l.hostName + ': figures come from different memstatds in turn, as their start times show. The target is a load balancer or a name with several addresses. All figures of this host are meaningless.',
        'daemon',
      ),
      // Another alert detects polls that do not advance.
      l.alert(
        'MemstatClockWrong',
        '%s unless on (%s) %s' % [l.clockDifference, l.fleet, l.mostClocksDiffer],
        '4m', 'warning', 'daemon',
        'The clock is wrong on ' + l.hostName,
        l.hostName + ': its clock differs from that of Prometheus by {{ $value | humanizeDuration }}; times in its log, and when it booted, are wrong.',
        'daemon',
      ),
    ],
    // These look back over hours.
    trends: [
      // A host that service discovery lost completely has no `up`. A series recorded every `slowInterval` shows that it
      // existed; six hours of series scraped each minute would be expensive.
      l.alert(
        'MemstatHostVanished',
        |||
          count by (%(host)s) (last_over_time(instance:memstat_series:sum[6h]))
            unless count by (%(host)s) (last_over_time(%(timestamp)s[15m]))
            unless on (%(host)s) up
        ||| % { host: l.host, timestamp: l.of('memstat_poll_timestamp_seconds') },
        '5m', 'info', 'daemon',
        l.hostName + ' is no longer a target',
        l.hostName + ' provided figures within the last six hours and is no longer scraped.',
        'daemon',
      ),
    ],
  }
