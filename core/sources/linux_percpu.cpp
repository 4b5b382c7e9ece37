// SPDX-License-Identifier: BSD-2-Clause
// Memory of the kernel's per-CPU allocator, one type, from /proc/meminfo (Percpu, since 4.20) and, if the kernel has
// PERCPU_STATS and root permits it, /sys/kernel/debug/percpu_stats (mm/percpu-stats.c):
//
//   Percpu Memory Statistics
//   ...
//     nr_alloc            :      1018902
//   ...
//   Per Chunk Stats:                        (the same names again, of each chunk)
//
// Percpu counts the pages behind the areas of all CPUs, in use or not. An allocation counts once, not per CPU.
#include <array>
#include <cerrno>

#include "core/base/text.h"
#include "core/collect/plan_reader.h"
#include "core/parse/key_values.h"
#include "core/source.h"

namespace memstat::sources::linux_percpu {
namespace {

constexpr std::string_view kMeminfo = "/proc/meminfo";

enum File : std::size_t { kMeminfoFile, kStatsFile };
constexpr PlannedFile kPlan[] = {
    {.path = kMeminfo, .need = ReadNeed::kRequired, .is_kept_open = true},
    {.path = "/sys/kernel/debug/percpu_stats", .need = ReadNeed::kExtra, .is_kept_open = true},
};

/// Adds the global figures, which precede those of the chunks. Of duplicate names the first line counts.
void add_statistics(std::string_view text, StagedType& type) {
  struct Wanted {
    std::string_view key;
    Field field;
  };
  constexpr std::array<Wanted, 4> kWanted = {{{"nr_alloc", Field::kNumAllocs},
                                              {"nr_dealloc", Field::kNumFrees},
                                              {"nr_cur_alloc", Field::kCount},
                                              {"nr_chunks", Field::kSlabs}}};
  const std::size_t chunks = text.find("Per Chunk Stats:");
  if (chunks == std::string_view::npos) return;  // truncated, or another format
  text = text.substr(0, chunks);
  std::string_view line;
  while (next_line(text, line)) {
    std::string_view key;
    std::string_view word;
    if (!next_word(line, key)) continue;
    for (const Wanted& wanted : kWanted) {
      if (wanted.key != key || type.fields.has(wanted.field)) continue;
      if (!next_word(line, word) || word != ":" || !next_word(line, word)) continue;
      type.set(wanted.field, parse_u64(word));
    }
  }
}

Result<void> parse(const RawBytes& raw, Staging& staging) {
  staging.reset({}, 0);
  const std::string_view text = raw.content(kMeminfoFile);
  if (!text.empty() && !text.ends_with('\n')) return data_error(kMeminfo, text.rfind('\n') + 1, "ends within a line");
  std::array<KeyedNumber, 1> numbers{{{.key = "Percpu", .value = {}}}};
  if (const auto offset = read_keyed_numbers(text, numbers)) {
    return data_error(kMeminfo, *offset, "expected a number of at most 64 bits after the name");
  }
  if (!numbers[0].value) return data_error(kMeminfo, text.size(), "has no line Percpu");
  StagedType& type = staging.add("percpu");
  type.fields = FieldMask(Field::kBytes);
  type.figures[Field::kBytes] = *numbers[0].value;
  add_statistics(raw.content(kStatsFile), type);
  return {};
}

Result<void> check(const RawBytes& raw) {
  const std::string_view text = raw.content(kMeminfoFile);
  if (!text.ends_with('\n') || text.find("\nPercpu:") != std::string_view::npos) return {};
  return system_error(kMeminfo, ENOENT, "no line Percpu, which kernels have since 4.20");
}

constexpr MetricOrigin kOrigins[] = {
    {Field::kBytes, "Percpu"},
    {Field::kCount, "nr_cur_alloc of percpu_stats"},
    {Field::kNumAllocs, "nr_alloc of percpu_stats"},
    {Field::kNumFrees, "nr_dealloc of percpu_stats"},
    {Field::kSlabs, "nr_chunks of percpu_stats"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "linux_percpu",
    .origin = "/proc/meminfo",
    .os = OperatingSystem::kLinux,
    .allocator = Allocator::kPercpu,
    .is_roster = true,
    .origins = kOrigins,
    .plan = kPlan,
    .notes =
        "needs no privilege; bytes are the pages of all CPUs together, in use or not; "
        "objects, allocations, frees and slabs (the allocator's chunks) need a kernel with PERCPU_STATS, "
        "debugfs mounted, and root at start",
    .steps = planned_steps<kPlan, parse, check>(),
};

}  // namespace memstat::sources::linux_percpu
