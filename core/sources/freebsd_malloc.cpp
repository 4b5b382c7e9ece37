// SPDX-License-Identifier: BSD-2-Clause
// FreeBSD malloc(9) types, from the sysctl kern.malloc_stats (sys/kern/kern_malloc.c, struct malloc_type_stream_header).
//
// The stream is a 16-byte header (version, maxcpus, count), then `count` records: a 32-byte name and `maxcpus` blocks of 64
// bytes, one per CPU. `maxcpus` is the kernel's compile-time MAXCPU (1024 on amd64 since 14), not the number of CPUs, so a
// stream of 20 MB is nearly all zeros. The kernel guarantees zeros beyond its highest CPU. The first parse checks that, at
// memory speed; each later parse checks a sixteenth of the records.
//
// Totals are sums over the blocks. Bytes and count are differences of counters that the kernel does not lock, so a racy read
// may give values just below 2^64. They are kept here, as in libmemstat, and clamped for display.
#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/text.h"
#include "core/collect/reuse.h"
#include "core/collect/sysctl_stream.h"
#include "core/parse/statistics_stream.h"
#include "core/source.h"

namespace memstat::sources::freebsd_malloc {
namespace {

constexpr std::string_view kStream = kMallocStream.name;
constexpr std::string_view kSizes = "vm.malloc.zone_sizes";
constexpr std::string_view kSizeCount = "vm.malloc.zone_count";

constexpr std::size_t kStreamPart = 0;
constexpr std::size_t kSizesPart =
    1;  // one u32 per size class, terminated by 0; empty before FreeBSD 13, which has no such sysctl

constexpr std::size_t kMaxNameSize = 31;
constexpr std::size_t kCheckTurns = 16;  // number of parses in which the unused slots of all records are checked once

constexpr CpuFieldMask kCpuFields{CpuField::kMemAlloced, CpuField::kMemFreed, CpuField::kNumAllocs, CpuField::kNumFrees,
                                  CpuField::kSizeMask};
constexpr FieldMask kFields{Field::kBytes,      Field::kCount,    Field::kNumAllocs, Field::kNumFrees,
                            Field::kMemAlloced, Field::kMemFreed, Field::kSizeMask};

/// Offset of the first non-zero byte in [from, to), or `to`. The range must be a multiple of 8 bytes.
std::size_t first_nonzero(const char* bytes, std::size_t from, std::size_t to) {
  constexpr std::size_t kStride = 1024;  // small enough for the cache, large enough to vectorize
  while (to - from >= kStride) {
    std::uint64_t any = 0;
    for (std::size_t i = 0; i < kStride; i += 8) {
      std::uint64_t word;
      std::memcpy(&word, bytes + from + i, 8);
      any |= word;
    }
    if (any != 0) break;
    from += kStride;
  }
  for (; from + 8 <= to; from += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes + from, 8);
    if (word != 0) return from;
  }
  return to;
}

/// One more than the highest CPU with figures in any record, at least `known`.
std::uint32_t cpus_with_figures(std::string_view bytes, const StatisticsStream& stream, std::uint32_t known) {
  for (std::size_t index = 0; index < stream.count(); ++index) {
    const std::size_t end = stream.block(index, stream.cpu_slots());
    for (std::size_t at = stream.block(index, known); (at = first_nonzero(bytes.data(), at, end)) < end;) {
      known = static_cast<std::uint32_t>((at - stream.block(index, 0)) / StatisticsStream::kBlockSize) + 1;
      at = stream.block(index, known);
    }
  }
  return known;
}

/// A CPU's block begins with five integers: memalloced, memfreed, numallocs, numfrees and the mask of size classes.
constexpr std::size_t kIntegers = 5;
CpuBlocks blocks_of(std::string_view bytes) {
  return CpuBlocks::of(
      bytes, StatisticsStream::kBlockSize,
      {CpuField::kMemAlloced, CpuField::kMemFreed, CpuField::kNumAllocs, CpuField::kNumFrees, CpuField::kSizeMask});
}

void put_totals(const CpuTotals<kIntegers>& of, Figures& totals) {
  totals[Field::kMemAlloced] = of.sums[0];
  totals[Field::kMemFreed] = of.sums[1];
  totals[Field::kNumAllocs] = of.sums[2];
  totals[Field::kNumFrees] = of.sums[3];
  totals[Field::kSizeMask] = of.unions[4];
  totals[Field::kBytes] = of.sums[0] - of.sums[1];
  totals[Field::kCount] = of.sums[2] - of.sums[3];
}

/// Parses vm.malloc.zone_sizes up to the terminating 0, at most the 64 sizes that a mask has bits for. Returns no sizes if
/// they do not increase, because a duplicate size would be a duplicate series.
void parse_size_classes(std::string_view bytes, std::vector<std::uint64_t>& sizes) {
  for (std::size_t at = 0; at + sizeof(std::uint32_t) <= bytes.size() && sizes.size() < 64; at += sizeof(std::uint32_t)) {
    const auto size = load<std::uint32_t>(bytes, at);
    if (size == 0) return;
    if (!sizes.empty() && size <= sizes.back()) return sizes.clear();
    sizes.push_back(size);
  }
}

struct State final : ReaderState {
  Buffer scratch;
  std::size_t stream_size = 0;
};

Result<void> parse(const RawBytes& raw, const State& state, Staging& staging) {
  const std::string_view bytes = raw.parts[kStreamPart].view();
  staging.reset(kCpuFields, 0);
  const auto stream = StatisticsStream::open(kStream, bytes, kMallocStream.record_header);
  if (!stream) return stream.error();

  // If a slot beyond the highest CPU is not zero, raise the CPU count, permanently, instead of reporting wrong totals.
  std::uint32_t cpu_count = std::clamp(std::max(raw.cpu_count, state.parsed_cpu_count), 1U, stream->cpu_slots());
  const bool checks_all = state.parsed_cpu_count == 0;
  const CpuBlocks blocks = blocks_of(bytes);
  staging.reset(kCpuFields, cpu_count, blocks);
  staging.reserve(stream->count());
  for (std::size_t index = 0; index < stream->count(); ++index) {
    const std::size_t end = stream->block(index, stream->cpu_slots());
    const bool checks = checks_all || index % kCheckTurns == state.parse_count % kCheckTurns;
    if (checks && first_nonzero(bytes.data(), stream->block(index, cpu_count), end) != end) {
      cpu_count = cpus_with_figures(bytes, *stream, cpu_count);
      staging.reset(kCpuFields, cpu_count, blocks);
      index = static_cast<std::size_t>(-1);  // start again
      continue;
    }
    const auto name = stream->record_name(index);
    if (!name) return name.error();
    StagedType& type = staging.add(*name, kMaxNameSize);
    type.fields = kFields;
    put_totals(staging.add_cpu_blocks<kIntegers>(stream->block(index, 0)), type.figures);
  }
  parse_size_classes(raw.parts[kSizesPart].view(), staging.size_classes());
  return {};
}

Result<void> read(KernelView& view, RawBytes& raw, State& state) {
  if (auto result = read_sysctl_stream(view, kMallocStream, state.stream_size, raw.parts[kStreamPart], state.scratch);
      !result) {
    return result;
  }
  // FreeBSD 13.0 added vm.malloc.zone_sizes; before it the classes were powers of two from 16. Captures without it have no
  // size classes. It never changes. Each poll of a recording is complete, and also contains the count, which libmemstat
  // needs (core/c_api/list.cpp).
  if (may_reuse(view) && !raw.parts[kSizesPart].empty()) return {};
  if (auto result = view.read_sysctl(kSizes, raw.parts[kSizesPart], 256); !result) raw.parts[kSizesPart].clear();
  if (auto result = read_sysctl_u32(view, kSizeCount, state.scratch); !result) state.scratch.clear();
  return {};
}

Result<void> open(KernelView&, RawBytes&) { return {}; }  // sysctls need no opening

constexpr MetricOrigin kOrigins[] = {
    {Field::kBytes, "mts_memalloced - mts_memfreed, of all CPUs"},
    {Field::kCount, "mts_numallocs - mts_numfrees, of all CPUs"},
    {Field::kNumAllocs, "mts_numallocs, of all CPUs"},
    {Field::kNumFrees, "mts_numfrees, of all CPUs"},
    {Field::kMemAlloced, "mts_memalloced, of all CPUs"},
    {Field::kMemFreed, "mts_memfreed, of all CPUs"},
    {Field::kSizeMask, "mts_size, of all CPUs, sizes from vm.malloc.zone_sizes"},
    {CpuField::kNumAllocs, "mts_numallocs"},
    {CpuField::kNumFrees, "mts_numfrees"},
    {CpuField::kMemAlloced, "mts_memalloced"},
    {CpuField::kMemFreed, "mts_memfreed"},
    {CpuField::kSizeMask, "mts_size"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "freebsd_malloc",
    .origin = "sysctl kern.malloc_stats",
    .os = OperatingSystem::kFreeBsd,
    .allocator = Allocator::kMalloc,
    .is_roster = true,
    .origins = kOrigins,
    .release_after_commit = 1U << kStreamPart,  // 15 MB and more, nearly all zeros
    .notes = "no privilege needed; sizes are those of the size class, requests above 64 KiB count whole pages",
    .steps = source_steps<State, open, read, parse>(),
};

}  // namespace memstat::sources::freebsd_malloc
