// SPDX-License-Identifier: BSD-2-Clause
// memstatd itself. None of these wakes anybody: the host may be well, it is not watched.
local std = import '../lib/std.libsonnet';
function(c, l) {
  // The daemon hangs or is gone.
  soon: [
    // The age is by the host's own clock; where it is not on the page, as in a text file, the clocks have to agree.
    l.alert(
      'MemstatPollStuck',
      |||
        (
          %(age)s
          or time() - %(timestamp)s unless on (%(host)s) %(age)s
        )
        > on (%(host)s) group_left () (
          clamp_min(3 * max by (%(host)s) (%(interval)s), 300)
          or 0 * max by (%(host)s) (%(timestamp)s) + 300
        )
      ||| % {
        host: l.host,
        age: l.of('memstat_poll_age_seconds'),
        timestamp: l.of('memstat_poll_timestamp_seconds'),
        interval: l.of('memstat_poll_interval_seconds'),
      },
      '2m', 'warning', 'daemon',
      'memstatd shows old figures on ' + l.hostName,
      l.hostName + ': the last poll of memstatd was {{ $value | humanizeDuration }} ago.',
      'daemon',
    ),
    l.alert(
      'MemstatDaemonMissing',
      'up{%s} == 0' % c.upSelector,
      '4m', 'warning', 'daemon',
      'memstatd does not answer on ' + l.hostName,
      l.hostName + ': Prometheus has had no page of memstatd for 4 minutes.',
      'daemon',
    ),
  ],
  // It runs, and something is missing.
  parts: [
    l.alert(
      'MemstatSourceDown',
      l.of('memstat_source_up') + ' == 0',
      '4m', 'warning', 'daemon',
      'memstatd cannot read a source on ' + l.hostName,
      l.hostName + ': source {{ $labels.source }} has given nothing for 4 minutes; its figures are missing.',
      'daemon',
    ),
    l.alert(
      'MemstatEventsDetached',
      l.of('memstat_events_counted_ratio') + ' == 0',
      '4m', 'warning', 'daemon',
      'memstatd has stopped counting events on ' + l.hostName,
      l.hostName + ': counting the events of {{ $labels.source }} took more than events.budget, so memstatd detached from them; their figures are missing until it attaches again, which it tries at intervals of up to an hour.',
      'daemon',
    ),
    l.alert(
      'MemstatSourceStuck',
      'increase(%s[10m]) > 0 and on (%s, source) %s == 0' % [
        l.of('memstat_source_errors_total', 'reason="timeout"'), l.host, l.of('memstat_source_up')
      ],
      '4m', 'warning', 'daemon',
      'The kernel does not answer a read of memstatd on ' + l.hostName,
      l.hostName + ': a read of source {{ $labels.source }} has not come back; the kernel may be stuck in it.',
      'daemon',
    ),
    l.alert(
      'MemstatSeriesDropped',
      l.of('memstat_series_dropped') + ' > 0',
      '10m', 'warning', 'daemon',
      'memstatd leaves types out on ' + l.hostName,
      l.hostName + ': ' + l.times('1 series is', 'series are') + ' beyond series_limit and not on the page; the smallest types are missing.',
      'daemon',
    ),
    l.alert(
      'MemstatConfigReloadFailed',
      l.of('memstat_config_last_reload_successful') + ' == 0',
      '4m', 'warning', 'daemon',
      'memstatd runs with an old configuration on ' + l.hostName,
      l.hostName + ': the last reload of the configuration failed; memstatd goes on with the one before.',
      'daemon',
    ),
  ],
  // Looks back over hours.
  trends: [
    // A host that service discovery lost altogether has no `up` any more. What is recorded every `slowInterval` shows that it was there:
    // six hours of what it is scraped for each minute would be dear.
    l.alert(
      'MemstatHostVanished',
      |||
        count by (%(host)s) (last_over_time(instance:memstat_series:sum[6h]))
          unless count by (%(host)s) (last_over_time(%(timestamp)s[15m]))
          unless on (%(host)s) up
      ||| % { host: l.host, timestamp: l.of('memstat_poll_timestamp_seconds') },
      '5m', 'info', 'daemon',
      l.hostName + ' is no longer a target',
      l.hostName + ' showed figures within the last six hours and is not scraped any more.',
      'daemon',
    ),
  ],
}
