// SPDX-License-Identifier: BSD-2-Clause
// Transparent huge pages by size, from /sys/kernel/mm/transparent_hugepage/hugepages-SIZEkB/stats (mm/huge_memory.c). Since
// 6.8 there are sizes below that of the processor's huge page; 6.10 has the counts of faults, 6.13 nr_anon. A size may be
// used if `enabled` beside its directory says so.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <string_view>

#include "core/base/arithmetic.h"
#include "core/base/ascii.h"
#include "core/base/byte_size.h"
#include "core/base/text.h"
#include "core/collect/plan_reader.h"
#include "core/source.h"

namespace memstat::sources::linux_thp {
namespace {

constexpr SystemMetric kAnonymousBytes =
    gauge_metric("memstat_thp_anonymous_bytes", Tier::kFull,
                 "Bytes of anonymous memory in transparent huge pages of this size now.", {"size"});

constexpr SystemMetric kFaults = counter_metric(
    "memstat_thp_faults_total", Tier::kFull,
    "Page faults since boot that could use this size, and whether they got such a page or a smaller one.", {"size", "got"});

constexpr std::string_view kDirectory = "/sys/kernel/mm/transparent_hugepage";
constexpr std::string_view kSizes = "/sys/kernel/mm/transparent_hugepage/hugepages-";

enum File : std::size_t { kFaultPages, kSmallerPages, kAnonymousPages };
constexpr PlannedFile kPlan[] = {
    {.path = "/sys/kernel/mm/transparent_hugepage/*/stats/anon_fault_alloc", .time = ReadTime::kSeldom},
    {.path = "/sys/kernel/mm/transparent_hugepage/*/stats/anon_fault_fallback", .time = ReadTime::kSeldom},
    {.path = "/sys/kernel/mm/transparent_hugepage/*/stats/nr_anon", .time = ReadTime::kSeldom},
};

/// Bytes of SIZE in the path of a file; nothing for another path.
std::optional<std::uint64_t> size_of(std::string_view path) {
  std::string_view rest;
  std::string_view size = component_after(path, kSizes, rest);
  if (!size.ends_with("kB")) return std::nullopt;
  size.remove_suffix(2);
  std::uint64_t bytes = 0;
  const auto kilobytes = parse_u64(size);
  return !kilobytes || __builtin_mul_overflow(*kilobytes, 1024, &bytes) ? std::nullopt : std::optional(bytes);
}

Result<void> parse(const RawBytes& raw, Staging& staging) {
  staging.reset({}, 0);
  StagedStatistics& statistics = staging.statistics();
  for (const RawFile& file : raw.files) {
    const auto bytes = size_of(file.path);
    if (!bytes || !file.has_content()) continue;
    const auto number = number_of(file);
    if (!number) return data_error(file.path, 0, "expected a line with a number of at most 64 bits");
    const auto [amount, unit] = exact_size(*bytes);
    const StackText<24> size(amount, unit);
    if (file.planned == kAnonymousPages) {
      statistics.add(kAnonymousBytes, saturating_product(*number, *bytes), {size.view()});
    } else {
      statistics.add(kFaults, *number, {size.view(), file.planned == kFaultPages ? "huge" : "smaller"});
    }
  }
  if (statistics.entries().empty()) return data_error(kDirectory, 0, "has no counts of any size");
  return {};
}

Result<void> check(const RawBytes& raw) {
  for (const RawFile& file : raw.files) {  // a size would be missing without a word
    if (file.state == FileState::kRefused) return system_error(file.path, EACCES);
  }
  const auto is_counted = [](const RawFile& file) { return file.has_content(); };
  if (std::any_of(raw.files.begin(), raw.files.end(), is_counted)) return {};
  return system_error(kDirectory, ENOENT, "this kernel does not count transparent huge pages by size (it does since 6.10)");
}

constexpr MetricOrigin kOrigins[] = {
    {kAnonymousBytes, "nr_anon x size"},
    {kFaults, "anon_fault_alloc (huge), anon_fault_fallback (smaller)"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "linux_thp",
    .origin = kDirectory,
    .os = OperatingSystem::kLinux,
    .origins = kOrigins,
    .interval = std::chrono::seconds(30),
    .plan = kPlan,
    .notes = "needs no privilege; a fault that did not get one size may have got the next smaller one",
    .steps = planned_steps<kPlan, parse, check>(),
};

}  // namespace memstat::sources::linux_thp
