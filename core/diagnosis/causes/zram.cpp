// SPDX-License-Identifier: BSD-2-Clause
// Compressed memory devices (zram) at a configured limit, or large.
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

/// Memory of devices whose pages hardly compress.
double incompressible_bytes(const Evidence& evidence) {
  double sum = 0;
  for (const MetricEvidence& one : evidence.samples(kBytes)) {
    if (one.labels[1] == "held" && one.value >= 0.9 * bytes_of(evidence, one.labels[0], "original")) sum += one.value;
  }
  return sum;
}

void look_at_size(const Evidence& evidence, const Cause& cause, Findings& found) {
  const auto held = evidence.part("zsmalloc");
  if (!held) return;
  const double available = evidence.available_bytes ? evidence.share(*evidence.available_bytes) : 1;
  const bool is_large = evidence.share(*held) > 0.3 && available < 0.1;
  const double for_nothing = incompressible_bytes(evidence);
  const bool is_for_nothing = evidence.share(for_nothing) > 0.1;
  if (!is_large && !is_for_nothing) return;
  constexpr double kNoneLeft = 0.02;
  Finding& finding = add_finding(
      found, cause, is_large && available < kNoneLeft ? Severity::kNow : Severity::kWasteful, Certainty::kLikely,
      "Compressed memory (zram) takes " + bytes_text(*held) + ", " + percent_text(evidence.share(*held)) + " of all memory");
  if (is_for_nothing) {
    finding.fact({.text = bytes_text(for_nothing) + " of it hold pages that do not compress",
                  .source = std::string(kBytes),
                  .value = for_nothing,
                  .limit = 0.1 * evidence.total_bytes});
  } else {
    finding.fact({.text = percent_text(available) + " of memory is available",
                  .source = "memstat_memory_available_bytes",
                  .value = evidence.available_bytes});
  }
  finding.bytes = *held;
  finding.is_about("account", "zsmalloc").leads_to("Swapping to compressed memory no longer frees memory.").then("zramctl");
}

constexpr std::string_view kNeeds[] = {kBytes};
constexpr std::string_view kSizeNeeds[] = {"account/zsmalloc"};
/// Swap that lies in memory takes what it should free.
constexpr std::string_view kSizeSymptoms[] = {"memory_low", "swap_full"};
/// A full device refuses writes.
constexpr std::string_view kSymptoms[] = {"swap_io_error"};
constexpr std::array kCauses{Cause{.name = "zram_full",
                                   .looks_for = "A compressed memory device (zram) has reached its configured limit.",
                                   .system = CauseSystem::kLinux,
                                   .needs = kNeeds,
                                   .explains = kSymptoms,
                                   .look = look},
                             Cause{.name = "compressed_large",
                                   .looks_for = "Compressed memory is much larger than usual, or its pages do not compress.",
                                   .system = CauseSystem::kLinux,
                                   .needs = kSizeNeeds,
                                   .uses = kNeeds,
                                   .explains = kSizeSymptoms,
                                   .look = look_at_size}};

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::zram
