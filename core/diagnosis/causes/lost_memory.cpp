// SPDX-License-Identifier: BSD-2-Clause
// Memory that the machine no longer has, or that cannot be reclaimed.
#include <algorithm>
#include <array>

#include "core/diagnosis/holder.h"
#include "core/diagnosis/limit_state.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::lost_memory {
namespace {

constexpr std::string_view kTotal = "memstat_memory_total_bytes";
constexpr std::string_view kUnevictable = "memstat_unevictable_bytes";
constexpr std::string_view kLocked = "memstat_locked_bytes";
constexpr std::string_view kPins = "memstat_page_pins";

void look_at_total(const Evidence& evidence, const Cause& cause, Findings& found) {
  const MetricEvidence* const total = evidence.sample(kTotal);
  if (total == nullptr || total->value <= 0) return;
  const double lost = -total->change.since_start;
  if (lost < 0.02 * total->value) return;
  const bool is_short = is_memory_short(evidence, 0.1);
  Finding& finding =
      add_finding(found, cause, is_short ? Severity::kWasteful : Severity::kNotable, Certainty::kConfirmed,
                  "The machine lost " + bytes_text(lost) + " of memory: " + bytes_text(total->value) + " are left");
  finding.fact({.text = "within " + duration_words(evidence.watched_seconds),
                .source = std::string(kTotal),
                .value = lost,
                .window_seconds = evidence.watched_seconds});
  finding.bytes = lost;
  finding.leads_to("A balloon returned it to the host, or it was taken offline.")
      .then("dmesg | grep -i -e balloon -e offline | tail");
}

/// Memory in ramfs, tmpfs without swap, or locked segments: unevictable, but not locked by a program.
void look_at_unevictable(const Evidence& evidence, const Cause& cause, Findings& found) {
  const auto all = evidence.value(kUnevictable);
  if (!all) return;
  const double bytes = *all - evidence.value(kLocked).value_or(0);
  if (evidence.share(bytes) < 0.1) return;
  Finding& finding = add_finding(
      found, cause, Severity::kNotable, Certainty::kPossible,
      bytes_text(bytes) + ", " + percent_text(evidence.share(bytes)) + " of memory, can neither be swapped nor dropped");
  finding.fact({.text = bytes_text(*all) + " unevictable, less what programs have locked",
                .source = std::string(kUnevictable),
                .value = bytes});
  finding.bytes = bytes;
  finding.leads_to("Files in ramfs, locked segments, or tmpfs without swap hold it.")
      .then("grep -e ramfs -e noswap /proc/mounts")
      .then("ipcs -m");
}

/// A page may be pinned more than once, so this is a maximum.
void look_at_pins(const Evidence& evidence, const Cause& cause, Findings& found) {
  const auto pins = evidence.value(kPins);
  const double most = std::min(pins.value_or(0) * evidence.page_bytes, evidence.total_bytes);
  if (evidence.share(most) < 0.05) return;
  Finding& finding = add_finding(found, cause, Severity::kNotable, Certainty::kPossible,
                                 "Devices have pinned up to " + bytes_text(most) + " of memory");
  finding.fact({.text = counted(*pins, "pin"), .source = std::string(kPins), .value = pins});
  finding.bytes = most;
  // Pins are not charged, but the pinned memory is: only a group with at least that much can be the holder.
  name_holder(evidence, kProgramMemory, Holds::kNow, 0.9 * finding.bytes, finding);
  if (finding.who.empty()) name_holder(evidence, kSharedMemory, Holds::kNow, 0.9 * finding.bytes, finding);
  finding.leads_to("RDMA, VFIO, io_uring or AF_XDP keep pages in place.")
      .then("grep VmPin /proc/[0-9]*/status | sort -k2 -rn | head");
}

constexpr std::string_view kTotalNeeds[] = {kTotal};
constexpr std::string_view kUnevictableNeeds[] = {kUnevictable};
constexpr std::string_view kUnevictableUses[] = {kLocked};
constexpr std::string_view kPinNeeds[] = {kPins};
constexpr std::string_view kPinUses[] = {kGroupAnonymous, kGroupParts};
constexpr std::array kCauses{Cause{.name = "memory_lost",
                                   .looks_for = "The machine has less memory than at the first poll.",
                                   .watches = Watches::kChange,
                                   .needs = kTotalNeeds,
                                   .look = look_at_total},
                             Cause{.name = "unevictable_memory",
                                   .looks_for = "Memory cannot be reclaimed, although no program has locked it.",
                                   .system = CauseSystem::kLinux,
                                   .needs = kUnevictableNeeds,
                                   .uses = kUnevictableUses,
                                   .look = look_at_unevictable},
                             Cause{.name = "pinned_memory",
                                   .looks_for = "Much memory is pinned for devices.",
                                   .system = CauseSystem::kLinux,
                                   .needs = kPinNeeds,
                                   .uses = kPinUses,
                                   .inspection = "pinned",
                                   .look = look_at_pins}};

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::lost_memory
