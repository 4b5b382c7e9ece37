// SPDX-License-Identifier: BSD-2-Clause
// The kernel's memory cannot be trusted any more. All of these are counted since boot and stay until the machine is booted.
function(c, l)
  local integrity(name, expr, summary, description) =
    l.alert(name, expr, '0m', 'critical', 'integrity', summary + ' on ' + l.hostName,
            l.hostName + ': ' + description + ' Data may be damaged: boot the machine when you can.');
  [
    integrity(
      'MemstatCheckerBug', l.of('memstat_checker_bugs_total') + ' > 0',
      'The kernel misused its own memory',
      'the checker {{ $labels.checker }} found ' + l.times('1 error', 'errors') + ' in the use of kernel memory since boot.'
    ),
    integrity(
      'MemstatKernelOops', l.of('memstat_kernel_reports_total', 'kind="oops"') + ' > 0',
      'The kernel met an error that it could not handle',
      'the kernel printed ' + l.times('1 oops', 'oopses') + ' since boot.'
    ),
    integrity(
      'MemstatBadPage', l.of('memstat_kernel_tainted', 'kind="bad_page"') + ' > 0',
      'The kernel found a page in an impossible state',
      'the kernel met a bad page since boot: something wrote to memory that was not its own, or the memory is defective.'
    ),
    integrity(
      'MemstatMachineCheck', l.of('memstat_kernel_tainted', 'kind="machine_check"') + ' > 0',
      'The processor reported a hardware error',
      'the processor reported a machine check since boot.'
    ),
    integrity(
      'MemstatCorruptedMemory', l.of('memstat_accounted_bytes', 'part="hardware_corrupted"') + ' > 0',
      'Memory modules are defective',
      'the hardware found ' + l.bytes + ' of memory defective, and the kernel took it out of use.'
    ),
  ]
