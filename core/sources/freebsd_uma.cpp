// SPDX-License-Identifier: BSD-2-Clause
// FreeBSD uma(9) zones, from the sysctl vm.zone_stats (sys/vm/uma_core.c, struct uma_stream_header).
//
// The stream is a 16-byte header (version, maxcpus, count; here maxcpus is the highest CPU + 1), then `count` records of 120
// bytes, each followed by `maxcpus` blocks of 64 bytes. Zone names are not unique. A secondary zone shares its keg (slabs)
// with another zone, so it has no held bytes and no free keg items of its own. A cache zone has no keg, and its footprint is
// 0.
#include <algorithm>

#include "core/base/text.h"
#include "core/collect/sysctl_stream.h"
#include "core/parse/statistics_stream.h"
#include "core/parse/uma_record.h"
#include "core/source.h"

namespace memstat::sources::freebsd_uma {
namespace {

constexpr std::string_view kStream = kZoneStream.name;

constexpr std::size_t kStreamPart = 0;

constexpr std::size_t kMaxNameSize = 31;

constexpr CpuFieldMask kCpuFields{CpuField::kNumAllocs, CpuField::kNumFrees, CpuField::kFree};
constexpr FieldMask kAlways{Field::kBytes,    Field::kCount,    Field::kFree,   Field::kZoneFree, Field::kNumAllocs,
                            Field::kNumFrees, Field::kFailures, Field::kSleeps, Field::kXDomain,  Field::kSize};

/// A CPU's block begins with three integers: allocations, frees and the items in its cache.
constexpr std::size_t kIntegers = 3;
CpuBlocks blocks_of(std::string_view bytes) {
  return CpuBlocks::of(bytes, StatisticsStream::kBlockSize, {CpuField::kNumAllocs, CpuField::kNumFrees, CpuField::kFree});
}

void parse_zone(std::string_view bytes, std::size_t record, std::uint64_t page_size, Staging& staging, StagedType& zone) {
  const auto u32 = [&](std::size_t at) { return std::uint64_t{load<std::uint32_t>(bytes, record + at)}; };
  const auto u64 = [&](std::size_t at) { return load<std::uint64_t>(bytes, record + at); };
  Figures& figures = zone.figures;
  // The record's own counters are of items that bypassed the per-CPU caches.
  const CpuTotals<kIntegers> cpus = staging.add_cpu_blocks<kIntegers>(record + UmaRecord::kSize);
  figures[Field::kNumAllocs] = u64(UmaRecord::kAllocsAt) + cpus.sums[0];
  figures[Field::kNumFrees] = u64(UmaRecord::kFreesAt) + cpus.sums[1];

  const std::uint64_t size = u32(UmaRecord::kSizeAt);
  // The counters are not read under one lock. FreeBSD 13.0 and later clamp in the same way.
  figures[Field::kNumAllocs] = std::max(figures[Field::kNumAllocs], figures[Field::kNumFrees]);
  figures[Field::kCount] = figures[Field::kNumAllocs] - figures[Field::kNumFrees];
  figures[Field::kMemAlloced] = figures[Field::kNumAllocs] * size;
  figures[Field::kMemFreed] = figures[Field::kNumFrees] * size;
  figures[Field::kBytes] = figures[Field::kMemAlloced] - figures[Field::kMemFreed];
  figures[Field::kSize] = size;
  figures[Field::kRSize] = u32(UmaRecord::kRSizeAt);
  figures[Field::kCountLimit] = u32(UmaRecord::kLimitAt);
  figures[Field::kBytesLimit] = u32(UmaRecord::kLimitAt) * size;  // in 64 bits: the original's product wraps at 4 GiB
  figures[Field::kFailures] = u64(UmaRecord::kFailsAt);
  figures[Field::kSleeps] = u64(UmaRecord::kSleepsAt);
  figures[Field::kXDomain] = u64(UmaRecord::kXDomainAt);
  figures[Field::kZoneFree] = u32(UmaRecord::kZoneFreeAt);
  zone.fields = kAlways;

  const bool is_secondary = (u32(UmaRecord::kFlagsAt) & UmaRecord::kSecondaryFlag) != 0;
  const bool has_keg = figures[Field::kRSize] != 0;
  if (has_keg) zone.fields.add(Field::kRSize);
  if (has_keg && !is_secondary) {
    figures[Field::kKegFree] = u32(UmaRecord::kKegFreeAt);
    figures[Field::kHeldBytes] = u32(UmaRecord::kPagesAt) * page_size;
    zone.fields = zone.fields | FieldMask(Field::kKegFree, Field::kHeldBytes);
  }
  figures[Field::kFree] = cpus.sums[2] + figures[Field::kZoneFree] + figures[Field::kKegFree];
  if (figures[Field::kCountLimit] != 0) zone.fields = zone.fields | FieldMask(Field::kCountLimit, Field::kBytesLimit);
}

Result<void> parse(const RawBytes& raw, Staging& staging) {
  const std::string_view bytes = raw.parts[kStreamPart].view();
  staging.reset(kCpuFields, 0);
  const auto stream = StatisticsStream::open(kStream, bytes, UmaRecord::kSize);
  if (!stream) return stream.error();
  staging.reset(kCpuFields, stream->cpu_slots(), blocks_of(bytes));
  staging.reserve(stream->count());
  for (std::size_t index = 0; index < stream->count(); ++index) {
    const auto name = stream->record_name(index);
    if (!name) return name.error();
    parse_zone(bytes, stream->record(index), raw.page_size, staging, staging.add(*name, kMaxNameSize));
  }
  return {};
}

struct State final : ReaderState {
  Buffer scratch;
  std::size_t stream_size = 0;
};

Result<void> read(KernelView& view, RawBytes& raw, State& state) {
  return read_sysctl_stream(view, kZoneStream, state.stream_size, raw.parts[kStreamPart], state.scratch);
}

Result<void> open(KernelView&, RawBytes&) { return {}; }  // sysctls need no opening

constexpr MetricOrigin kOrigins[] = {
    {Field::kBytes, "items in use x uth_size"},
    {Field::kCount, "uth_allocs + ups_allocs of all CPUs - uth_frees - ups_frees of all CPUs"},
    {Field::kHeldBytes, "uth_pages x page size, not of secondary zones"},
    {Field::kFree, "ups_cache_free of all CPUs + uth_zone_free + uth_keg_free"},
    {Field::kZoneFree, "uth_zone_free"},
    {Field::kKegFree, "uth_keg_free, not of secondary and cache zones"},
    {Field::kNumAllocs, "uth_allocs + ups_allocs of all CPUs"},
    {Field::kNumFrees, "uth_frees + ups_frees of all CPUs"},
    // Count times size: libmemstat's accessors return it, but the kernel does not count it, so no type's mask contains it.
    {Field::kMemAlloced, "allocations x uth_size"},
    {Field::kMemFreed, "frees x uth_size"},
    {Field::kFailures, "uth_fails"},
    {Field::kSleeps, "uth_sleeps"},
    {Field::kXDomain, "uth_xdomain"},
    {Field::kCountLimit, "uth_limit, absent when 0"},
    {Field::kBytesLimit, "uth_limit x uth_size, absent when 0"},
    {Field::kSize, "uth_size"},
    {Field::kRSize, "uth_rsize"},
    {CpuField::kNumAllocs, "ups_allocs"},
    {CpuField::kNumFrees, "ups_frees"},
    {CpuField::kFree, "ups_cache_free"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "freebsd_uma",
    .origin = "sysctl vm.zone_stats",
    .os = OperatingSystem::kFreeBsd,
    .allocator = Allocator::kUma,
    .is_roster = true,
    .origins = kOrigins,
    .notes = "no privilege needed; bytes in use are items times the size that the caller asked for",
    .steps = source_steps<State, open, read, parse>(),
};

}  // namespace memstat::sources::freebsd_uma
