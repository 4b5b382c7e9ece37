// SPDX-License-Identifier: BSD-2-Clause
// Linux without enough memory for its programs: pages are read again as soon as they are reclaimed.
#include <algorithm>
#include <array>
#include <string>

#include "core/diagnosis/holder.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::thrash {
namespace {

constexpr std::string_view kRefaults = "memstat_refaulted_pages_total";
constexpr std::string_view kStalls = "memstat_pressure_stall_seconds_total";
constexpr std::string_view kDirect = "memstat_allocation_stalls_total";
constexpr std::string_view kScanned = "memstat_reclaim_scanned_pages_total";
constexpr std::string_view kReclaimed = "memstat_reclaimed_pages_total";

/// Refaults include those in groups at their limits. Some kernels also count pages scanned for such groups as direct
/// reclaim, but they count stalls only for the machine's own reclaim.
bool is_of_groups(const Evidence& evidence, double refaults) {
  if (evidence.samples(kScanned).empty()) return false;
  const bool is_of_machine = evidence.samples(kDirect).empty() || evidence.moved(kDirect) > 0;
  double scanned = 0;
  for (const MetricEvidence& one : evidence.samples(kScanned)) {
    if (one.labels[0] == "proactive") continue;  // somebody asked for it, and memory need not be short
    if (one.labels[0] != "direct" || is_of_machine) scanned += one.change.recent;
  }
  return scanned < refaults / 2;
}

/// What shows that programs lack the pages.
struct Lack {
  double some = 0;      ///< Share of the time for which a program waited for memory.
  double full = 0;      ///< The same of all programs.
  double returned = 0;  ///< Share of the reclaimed pages that are read again.
  double direct = 0;    ///< Allocations a second that had to reclaim memory themselves.

  /// Kernels without CONFIG_PSI count no waits, and since 6.16 few of those for files that are read again.
  [[nodiscard]] bool is_without_waits() const { return some < 0.1 && returned >= 0.3 && direct >= 1; }
};

Lack lack_of(const Evidence& evidence, double refaults) {
  const auto stalled = [&](std::string_view kind) {
    const MetricEvidence* const one = evidence.sample(kStalls, kind);
    return one == nullptr ? 0 : evidence.time_share(one->change.recent);
  };
  const double reclaimed = evidence.moved(kReclaimed);
  return {.some = stalled("some"),
          .full = stalled("full"),
          .returned = reclaimed > 0 ? std::min(refaults / reclaimed, 1.0) : 0,
          .direct = evidence.rate(evidence.moved(kDirect))};
}

std::string words_of(const Lack& lack) {
  if (lack.is_without_waits()) {
    return percent_text(lack.returned) + " of the reclaimed pages came back, and " + count_text(lack.direct) +
           " allocations a second had to reclaim memory first";
  }
  return percent_text(lack.some) + " of the time some program waited for memory, " + percent_text(lack.full) +
         " all of them";
}

void look(const Evidence& evidence, const Cause& cause, Findings& found) {
  const double pages = evidence.rate(evidence.moved(kRefaults));
  const Lack lack = lack_of(evidence, evidence.moved(kRefaults));
  // A slow disk limits the rate, but not the time for which programs wait.
  const double least = lack.full >= 0.1 || lack.some >= 0.3 ? 100 : 1000;
  const bool is_sure = pages >= least && (lack.full >= 0.05 || lack.some >= 0.2);
  if (!is_sure && (pages < 100 || (lack.some < 0.1 && !lack.is_without_waits()))) return;
  if (is_of_groups(evidence, evidence.moved(kRefaults))) return;
  const bool is_now = lack.full >= 0.05 || (lack.is_without_waits() && pages >= 1000);
  const Severity severity = is_now ? Severity::kNow : is_sure ? Severity::kWasteful : Severity::kNotable;
  Finding& finding = add_finding(found, cause, severity, is_sure ? Certainty::kLikely : Certainty::kPossible,
                                 "Too little memory: " + count_text(pages) + " reclaimed pages a second are read again");
  finding.fact({.text = words_of(lack),
                .source = std::string(kRefaults),
                .value = pages,
                .limit = least,
                .window_seconds = evidence.recent_seconds});
  const Charge& charge = evidence.sample(kRefaults, "anon") != nullptr &&
                                 2 * evidence.sample(kRefaults, "anon")->change.recent > evidence.moved(kRefaults)
                             ? kSwappedIn
                             : kReadAgain;
  name_holder(evidence, charge, Holds::kGainedLately, evidence.moved(kRefaults) / 3, finding);
  finding.leads_to("Programs run only as fast as the disk.")
      .then("vmstat 1 5")
      .then("memstatctl types --sort bytes --limit 15");
}

constexpr std::string_view kNeeds[] = {kRefaults};
constexpr std::string_view kUses[] = {kStalls, kGroupRefaults, kScanned, kReclaimed, kDirect};
constexpr std::string_view kExplains[] = {"memory_stalls", "direct_reclaim"};
constexpr std::array kCauses{Cause{.name = "reclaim_thrash",
                                   .looks_for = "Pages that were just reclaimed are read again, and programs wait for them.",
                                   .system = CauseSystem::kLinux,
                                   .watches = Watches::kChange,
                                   .needs = kNeeds,
                                   .uses = kUses,
                                   .explains = kExplains,
                                   .runbook = "MemstatMemoryPressure",
                                   .look = look}};

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::thrash
