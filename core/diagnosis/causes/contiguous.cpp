// SPDX-License-Identifier: BSD-2-Clause
// FreeBSD has free memory, but no block that is large enough for a jumbo cluster: its pages are scattered. mbuf(9)'s
// clusters of 9 and 16 KiB need contiguous pages (contig_alloc() in sys/vm/uma_core.c). Both need a free block of 16 KiB.
#include <algorithm>
#include <array>

#include "core/diagnosis/limit_state.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::contiguous {
namespace {

constexpr std::string_view kLargestBlock = "memstat_zone_largest_free_block_bytes";

struct JumboZone {
  std::string_view name;
  double object_bytes;
};
constexpr std::array kJumboZones{JumboZone{"mbuf_jumbo_9k", 9216}, JumboZone{"mbuf_jumbo_16k", 16384}};

/// With less available memory, the free pages are too few rather than scattered.
constexpr double kMinAvailableShare = 0.05;

void look_at_zone(const Evidence& evidence, const Cause& cause, const TypeEvidence& zone, double largest, Findings& found) {
  const double failed = zone.failures.recent;
  const bool is_at_limit = zone.limit_used.value_or(0) >= kNearShare;
  if (is_at_limit || (failed <= 0 && zone.objects.value_or(0) <= 0)) return;
  const std::string available = bytes_text(*evidence.available_bytes);
  const std::string source = "uma/" + std::string(zone.name);
  std::string headline = "Free memory is scattered: ";
  headline += failed > 0 ? counted(failed, "request") + " for " + std::string(zone.name) + " failed"
                         : "no block is left for " + std::string(zone.name);
  headline += ", " + available + " is available";
  Finding& finding =
      add_finding(found, cause, failed > 0 ? Severity::kNow : Severity::kNotable, Certainty::kLikely, std::move(headline));
  finding.refused = failed;
  if (failed > 0) {
    finding.fact(
        {.text = counted(failed, "failure") + " in " + duration_words(evidence.recent_seconds) + ", below the limit",
         .source = source,
         .value = failed,
         .window_seconds = evidence.recent_seconds});
  }
  finding.fact(
      {.text = "the largest free block has " + bytes_text(largest), .source = std::string(kLargestBlock), .value = largest});
  finding.is_about("uma", zone.name)
      .leads_to("Interfaces with a large MTU get no receive buffers. One that is brought up stays down.")
      .then("sysctl vm.phys_free")
      .then("ifconfig | grep mtu");
}

void look(const Evidence& evidence, const Cause& cause, Findings& found) {
  const auto blocks = evidence.samples(kLargestBlock);
  if (blocks.empty() || !evidence.available_bytes || evidence.share(*evidence.available_bytes) < kMinAvailableShare) return;
  double largest = 0;
  for (const MetricEvidence& block : blocks) largest = std::max(largest, block.value);
  for (const JumboZone& jumbo : kJumboZones) {
    const TypeEvidence* const zone = evidence.type(Allocator::kUma, jumbo.name);
    if (zone != nullptr && largest < jumbo.object_bytes) look_at_zone(evidence, cause, *zone, largest, found);
  }
}

constexpr std::string_view kNeeds[] = {kLargestBlock, "uma/*"};

constexpr std::array kCauses{
    Cause{.name = "contiguous_memory_gone",
          .looks_for = "Memory is free, but in blocks too small for a jumbo cluster of the network.",
          .system = CauseSystem::kFreeBsd,
          .needs = kNeeds,
          .runbook = "MemstatAllocationFailures",
          .look = look},
};

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::contiguous
