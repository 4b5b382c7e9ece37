// SPDX-License-Identifier: BSD-2-Clause
// Memory reserved by programs, against Linux's commit limit.
#include <algorithm>
#include <array>

#include "core/diagnosis/limit_state.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::commit_limit {
namespace {

constexpr std::string_view kCommitted = "memstat_committed_bytes";
constexpr std::string_view kLimit = "memstat_commit_limit_bytes";
constexpr std::string_view kLogEvents = "memstat_kernel_log_events_total";
constexpr std::string_view kMode = "memstat_overcommit_mode";
constexpr double kStrict = 2;
/// vm.admin_reserve_kbytes at its default.
constexpr double kDefaultReserve = 8.0 * (1U << 20U);

/// Whether a request that memory has room for may be refused. How much is reserved for root and for the user's own recovery
/// (vm.admin_reserve_kbytes, vm.user_reserve_kbytes) is not read.
bool is_tight(const Evidence& evidence, double committed, double limit) {
  const bool is_strict = evidence.value(kMode).value_or(0) == kStrict;
  return is_strict && committed >= 0.5 * limit && evidence.available_bytes.value_or(0) > 2 * (limit - committed);
}

/// The limit is enforced only with vm.overcommit_memory=2. Old recordings do not contain that setting.
void look(const Evidence& evidence, const Cause& cause, Findings& found) {
  const auto committed = evidence.value(kCommitted);
  const auto limit = evidence.value(kLimit);
  const auto mode = evidence.value(kMode);
  if (!committed || !limit || *limit <= 0) return;
  // Only root may use the last part, the reserve (mm/util.c, __vm_enough_memory).
  const double usable = *limit - std::min(kDefaultReserve, evidence.total_bytes / 32);
  const bool is_near = *committed >= kNearShare * *limit || *committed >= 0.97 * usable;
  const MetricEvidence* const lines = evidence.sample(kLogEvents, "commit_refused");
  const double refused = lines == nullptr ? 0 : lines->change.recent;
  if (!is_near && refused <= 0 && !is_tight(evidence, *committed, *limit)) return;
  if (mode ? *mode != kStrict : *committed > *limit) return;
  const bool is_full = mode && (refused > 0 || *committed >= 0.97 * usable);
  Finding& finding = add_finding(found, cause, is_full ? Severity::kNow : Severity::kNotable,
                                 mode && refused > 0 ? Certainty::kConfirmed
                                 : mode && is_near   ? Certainty::kLikely
                                                     : Certainty::kPossible,
                                 "Programs have reserved " + bytes_text(*committed) + " of " + bytes_text(*limit) +
                                     (mode ? " that they may reserve" : ", which may be enforced"));
  finding.fact({.text = percent_text(*committed / *limit) + (mode ? " of CommitLimit, which vm.overcommit_memory=2 enforces"
                                                                  : " of CommitLimit; whether it is enforced is not known"),
                .source = std::string(kCommitted),
                .value = committed,
                .limit = limit});
  if (refused > 0) {
    finding.refused = refused;
    finding.fact({.text = counted(refused, "refusal") + " in the kernel's log in " + duration_words(evidence.recent_seconds),
                  .source = std::string(kLogEvents),
                  .value = refused,
                  .window_seconds = evidence.recent_seconds});
  }
  if (mode && evidence.available_bytes) {
    finding.fact({.text = bytes_text(*evidence.available_bytes) + " are available, but may not be reserved",
                  .source = "memstat_memory_available_bytes",
                  .value = evidence.available_bytes});
  }
  finding.is_about("table", "committed");
  finding.leads_to("malloc, mmap and fork fail with ENOMEM.")
      .then("grep VmSize /proc/[0-9]*/status | sort -k2 -rn | head")
      .then("sysctl vm.overcommit_memory vm.overcommit_ratio vm.overcommit_kbytes");
}

constexpr std::string_view kNeeds[] = {kCommitted, kLimit};
constexpr std::string_view kUses[] = {kMode, kLogEvents};
constexpr std::array kCauses{Cause{.name = "commit_limit_full",
                                   .looks_for = "Programs have reserved as much memory as strict overcommit allows.",
                                   .system = CauseSystem::kLinux,
                                   .needs = kNeeds,
                                   .uses = kUses,
                                   .look = look}};

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::commit_limit
