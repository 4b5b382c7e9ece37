// SPDX-License-Identifier: BSD-2-Clause
// Bugs and hardware errors that the kernel has detected, and requests that wait inside it.
#include <array>

#include "core/diagnosis/limit_state.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::kernel_trouble {
namespace {

struct Report {
  std::string_view name;
  std::string_view metric;
  std::string_view label;  ///< value of the first label; "": any
  bool is_state;           ///< a gauge that is set, not a counter that increases
  Severity severity;
  std::string_view headline;
  std::string_view effect;
  std::string_view next;
  std::string_view runbook;
  std::array<std::string_view, 1> needs;
  bool stays = false;  ///< Worth reporting until the next boot.
};

constexpr std::array kReports{
    Report{.name = "kernel_oops",
           .metric = "memstat_kernel_reports_total",
           .label = "oops",
           .is_state = false,
           .severity = Severity::kNow,
           .headline = "The kernel hit a bug (oops)",
           .effect = "A part of the kernel does not work until a reboot. Locks may be held forever.",
           .next = "journalctl -k --grep 'Oops|BUG' -n 40",
           .runbook = "MemstatKernelOops",
           .needs = {"memstat_kernel_reports_total"},
           .stays = true},
    Report{.name = "kernel_warning",
           .metric = "memstat_kernel_reports_total",
           .label = "warning",
           .is_state = false,
           .severity = Severity::kNotable,
           .headline = "The kernel printed a warning",
           .effect = "An assumption of the kernel was violated.",
           .next = "journalctl -k --grep WARNING -n 40",
           .runbook = "",
           .needs = {"memstat_kernel_reports_total"}},
    Report{.name = "bad_page",
           .metric = "memstat_kernel_tainted",
           .label = "bad_page",
           .is_state = true,
           .severity = Severity::kNow,
           .headline = "The kernel found a page in an invalid state",
           .effect = "Memory is corrupt, because of a kernel bug or a defective memory module.",
           .next = "journalctl -k --grep 'Bad page' -n 40",
           .runbook = "MemstatBadPage",
           .needs = {"memstat_kernel_tainted"}},
    Report{.name = "machine_check",
           .metric = "memstat_kernel_tainted",
           .label = "machine_check",
           .is_state = true,
           .severity = Severity::kNow,
           .headline = "The processor reported a hardware error",
           .effect = "A memory module or the processor is defective.",
           .next = "journalctl -k --grep 'mce|Machine check' -n 40",
           .runbook = "MemstatMachineCheck",
           .needs = {"memstat_kernel_tainted"}},
    Report{.name = "checker_bug",
           .metric = "memstat_checker_bugs_total",
           .label = "",
           .is_state = true,
           .severity = Severity::kNow,
           .headline = "A memory checker of the kernel found a bug",
           .effect = "Kernel code accessed memory that it did not own.",
           .next = "journalctl -k --grep 'KFENCE|KASAN' -n 40",
           .runbook = "MemstatCheckerBug",
           .needs = {"memstat_checker_bugs_total"}},
    Report{.name = "vnode_waits",
           .metric = "",
           .label = "",
           .is_state = false,
           .severity = Severity::kNotable,
           .headline = "Requests for vnodes wait",
           .effect = "Opening files takes up to a second.",
           .next = "sysctl kern.maxvnodes vfs.numvnodes",
           .runbook = "",
           .needs = {"table/vnodes"}},
    Report{.name = "kmem_soft_limit",
           .metric = "",
           .label = "",
           .is_state = false,
           .severity = Severity::kNotable,
           .headline = "Kernel memory is above its soft limit",
           .effect = "The kernel drains caches each second.",
           .next = "sysctl vm.kmem_size vm.kmem_map_size",
           .runbook = "",
           .needs = {"table/kmem"}},
};

void add_old(const Cause& cause, const Report& report, double count, Findings& found) {
  Finding& finding = add_finding(found, cause, Severity::kNotable, Certainty::kConfirmed,
                                 std::string(report.headline) + ", before the first poll");
  finding.is_past = true;
  finding.fact({.text = count_text(count) + " since boot", .source = std::string(report.metric), .value = count});
  finding.leads_to(report.effect).then(report.next);
}

void look(const Evidence& evidence, const Cause& cause, Findings& found) {
  const Report& report = kReports[cause.row];
  double count = 0;
  double total = 0;
  for (const MetricEvidence& one : evidence.samples(report.metric)) {
    if (!report.label.empty() && one.labels[0] != report.label) continue;
    count += report.is_state ? one.value : one.change.recent;
    total += one.value;
  }
  if (count <= 0 && report.stays && total > 0) return add_old(cause, report, total, found);
  if (count <= 0) return;
  Finding& finding = add_finding(found, cause, report.severity, Certainty::kConfirmed, std::string(report.headline));
  finding.fact(
      {.text = report.is_state ? "since boot" : count_text(count) + " in " + duration_words(evidence.recent_seconds),
       .source = std::string(report.metric),
       .value = count,
       .window_seconds = report.is_state ? 0 : evidence.recent_seconds});
  finding.leads_to(report.effect).then(report.next);
}

void look_at_vnodes(const Evidence& evidence, const Cause& cause, Findings& found) {
  const TypeEvidence* const vnodes = evidence.type(Allocator::kTable, "vnodes");
  if (vnodes == nullptr) return;
  const auto state = limit_state(evidence, *vnodes);
  // A few polls may fall between two waits. Once requests have waited, a full table means that they do again.
  const bool is_full = state && state->share >= kNearShare && vnodes->sleeps.total > 0;
  const double waits = vnodes->sleeps.recent;
  if (waits <= 0 && !is_full) return;
  const Report& report = kReports[cause.row];
  Finding& finding = add_finding(
      found, cause, is_full ? Severity::kNow : report.severity, waits > 0 ? Certainty::kConfirmed : Certainty::kLikely,
      std::string(report.headline) + ": " + (is_full ? used_words(*state) : count_text(waits) + " times"));
  if (state) {
    add_limit_facts(evidence, *vnodes, *state, finding);
  } else {
    finding.fact({.text = count_text(waits) + " waits in " + duration_words(evidence.recent_seconds),
                  .source = "table/vnodes",
                  .value = waits,
                  .window_seconds = evidence.recent_seconds});
  }
  finding.is_about("table", "vnodes").leads_to(report.effect).then(report.next);
}

/// No request fails: since FreeBSD 12, reaching this limit only starts draining zones.
void look_at_kmem(const Evidence& evidence, const Cause& cause, Findings& found) {
  const TypeEvidence* const kmem = evidence.type(Allocator::kTable, "kmem");
  if (kmem == nullptr || !kmem->limit_used || *kmem->limit_used < 1) return;
  const Report& report = kReports[cause.row];
  Finding& finding =
      add_finding(found, cause, report.severity, Certainty::kPossible, std::string(report.headline) + ", vm.kmem_size");
  finding.fact({.text = bytes_text(kmem->bytes.value_or(0)) + " of " + bytes_text(kmem->limit_bytes.value_or(0)),
                .source = "table/kmem",
                .value = kmem->bytes,
                .limit = kmem->limit_bytes});
  finding.is_about("table", "kmem").leads_to(report.effect).then(report.next);
}

constexpr auto look_of(const Report& report) {
  if (!report.metric.empty()) return look;
  return report.name == "vnode_waits" ? look_at_vnodes : look_at_kmem;
}

constexpr auto kCauses = causes_of<kReports>([](const Report& report) {
  const bool is_level = report.is_state || report.name == "kmem_soft_limit";
  return Cause{.name = report.name,
               .looks_for = report.headline,
               .system = report.metric.empty() ? CauseSystem::kFreeBsd : CauseSystem::kLinux,
               .watches = is_level ? Watches::kLevel : Watches::kChange,
               .needs = report.needs,
               .runbook = report.runbook,
               .inspection = report.name == "vnode_waits" ? "files" : "",  // an open file holds its vnode
               .look = look_of(report)};
});

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::kernel_trouble
