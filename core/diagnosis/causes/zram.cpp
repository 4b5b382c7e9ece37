// SPDX-License-Identifier: BSD-2-Clause
// Compressed memory devices (zram) at a configured limit.
#include <array>

#include "core/diagnosis/cause.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::zram {
namespace {

constexpr std::string_view kBytes = "memstat_zram_bytes";

double bytes_of(const Evidence& evidence, std::string_view device, std::string_view part) {
  for (const MetricEvidence& one : evidence.samples(kBytes)) {
    if (one.labels[0] == device && one.labels[1] == part) return one.value;
  }
  return 0;
}

void look(const Evidence& evidence, const Cause& cause, Findings& found) {
  for (const MetricEvidence& limit : evidence.samples(kBytes)) {
    if (limit.labels[1] != "limit" || limit.value <= 0) continue;
    const double held = bytes_of(evidence, limit.labels[0], "held");
    if (held < 0.9 * limit.value) continue;
    Finding& finding =
        add_finding(found, cause, held >= 0.98 * limit.value ? Severity::kNow : Severity::kWasteful, Certainty::kLikely,
                    "Compressed memory " + short_name(limit.labels[0], 20) + " is full: " + bytes_text(held) + " of " +
                        bytes_text(limit.value));
    finding.fact(
        {.text = bytes_text(bytes_of(evidence, limit.labels[0], "original")) + " were compressed to " + bytes_text(held),
         .source = std::string(kBytes),
         .value = held,
         .limit = limit.value});
    finding.bytes = held;
    finding.is_about("account", "zsmalloc").leads_to("Writes to it fail. As swap it accepts no more pages.").then("zramctl");
  }
}

constexpr std::string_view kNeeds[] = {kBytes};
constexpr std::array kCauses{Cause{.name = "zram_full",
                                   .looks_for = "A device of compressed memory is at the limit that was set for it.",
                                   .system = CauseSystem::kLinux,
                                   .needs = kNeeds,
                                   .look = look}};

}  // namespace
extern const std::span<const Cause> causes;
constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::zram
