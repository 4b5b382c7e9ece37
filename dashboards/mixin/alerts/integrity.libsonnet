// SPDX-License-Identifier: BSD-2-Clause
// Kernel memory can no longer be trusted. All of these are counted since boot and fire until a reboot, and for some minutes after
// a host stopped answering, until the alert about that fires.
local std = import '../lib/std.libsonnet';
function(c, l)
  local integrity(name, metric, matchers, labels, summary, description) =
    l.alert(name, l.by(labels, 'last_over_time(%s[11m]) > 0' % l.of(metric, matchers)), '0m', 'critical', 'integrity', summary + ' on ' + l.hostName,
            l.hostName + ': ' + description + ' Data may be damaged: reboot the machine when possible.');
  [
    integrity(
      'MemstatCheckerBug', 'memstat_checker_bugs_total', '', ['checker'],
      'The kernel misused its own memory',
      'the checker {{ $labels.checker }} found ' + l.times('1 error', 'errors') + ' in the use of kernel memory since boot.'
    ),
    integrity(
      'MemstatKernelOops', 'memstat_kernel_reports_total', 'kind="oops"', [],
      'The kernel hit an error that it could not handle',
      'the kernel printed ' + l.times('1 oops', 'oopses') + ' since boot.'
    ),
    integrity(
      'MemstatBadPage', 'memstat_kernel_tainted', 'kind="bad_page"', [],
      'The kernel found a page in an invalid state',
      'the kernel has found a bad page since boot: something wrote to memory that it did not own, or the memory is defective.'
    ),
    integrity(
      'MemstatMachineCheck', 'memstat_kernel_tainted', 'kind="machine_check"', [],
      'The processor reported a hardware error',
      'the processor reported a machine check since boot.'
    ),
    integrity(
      'MemstatCorruptedMemory', 'memstat_accounted_bytes', 'part="hardware_corrupted"', [],
      'Memory modules are defective',
      'the hardware found ' + l.bytes + ' of memory defective, and the kernel took it out of use.'
    ),
  ]
