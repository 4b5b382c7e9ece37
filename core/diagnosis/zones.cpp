// SPDX-License-Identifier: BSD-2-Clause
#include "core/diagnosis/zones.h"

namespace memstat {
namespace {

constexpr std::string_view kZoneMarks = "memstat_zone_watermark_bytes";
constexpr std::string_view kZoneFreeCma = "memstat_zone_free_cma_bytes";

/// On x86 the zone DMA has 16 MiB for old devices; on 32-bit Arm it has all memory that the kernel can map.
constexpr double kSmallZone = 64.0 * (1U << 20U);

double free_cma_of(const Evidence& evidence, const MetricEvidence& mark) {
  for (const MetricEvidence& one : evidence.samples(kZoneFreeCma)) {
    if (one.labels[0] == mark.labels[0] && one.labels[1] == mark.labels[1]) return one.value;
  }
  return 0;
}

}  // namespace

std::vector<ShortZone> short_zones(const Evidence& evidence) {
  std::vector<ShortZone> zones;
  for (const MetricEvidence& mark : evidence.samples(kZoneMarks)) {
    if (mark.labels[2] != "min" || mark.value <= 0) continue;
    ShortZone zone{.name = "node " + std::string(mark.labels[0]) + " " + std::string(mark.labels[1]), .reserve = mark.value};
    const TypeEvidence* const page = evidence.type(Allocator::kPage, zone.name);
    if (page == nullptr || !page->free_objects || !page->object_bytes || page->bytes.value_or(0) <= 0) continue;
    zone.free = *page->free_objects * *page->object_bytes;
    if (mark.labels[1] == "DMA" && *page->bytes + zone.free < kSmallZone) continue;
    zone.free_cma = free_cma_of(evidence, mark);
    if (zone.free - zone.free_cma < zone.reserve) zones.push_back(std::move(zone));
  }
  return zones;
}

}  // namespace memstat
