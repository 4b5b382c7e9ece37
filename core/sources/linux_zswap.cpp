// SPDX-License-Identifier: BSD-2-Clause
// The compressed cache in front of swap, one type, from /proc/meminfo (Zswap and Zswapped, since 5.19), the module parameter
// max_pool_percent and, as root with debugfs mounted, /sys/kernel/debug/zswap/* (mm/zswap.c), with one number per file:
//
//   pool_total_size (B), stored_pages          before 5.19, instead of the lines in meminfo
//   pool_limit_hit                             pages rejected because the pool was full
//   reject_alloc_fail, reject_kmemcache_fail   pages rejected for lack of memory
//
// A rejected page goes to the swap device, so these counters are the cost of the pool's limit and of memory shortage.
#include <array>
#include <cerrno>
#include <optional>

#include "core/base/text.h"
#include "core/collect/plan_reader.h"
#include "core/parse/key_values.h"
#include "core/source.h"

namespace memstat::sources::linux_zswap {
namespace {

constexpr std::string_view kMeminfo = "/proc/meminfo";
constexpr std::string_view kRefusals[] = {"/sys/kernel/debug/zswap/pool_limit_hit",
                                          "/sys/kernel/debug/zswap/reject_alloc_fail",
                                          "/sys/kernel/debug/zswap/reject_kmemcache_fail"};

enum File : std::size_t { kMeminfoFile, kPercent, kPoolSize, kStoredPages, kFirstRefusal };
constexpr PlannedFile kPlan[] = {
    {.path = kMeminfo, .need = ReadNeed::kRequired, .is_kept_open = true},
    {.path = "/sys/module/zswap/parameters/max_pool_percent", .time = ReadTime::kSeldom},
    {.path = "/sys/kernel/debug/zswap/pool_total_size", .is_kept_open = true},
    {.path = "/sys/kernel/debug/zswap/stored_pages", .is_kept_open = true},
    {.path = kRefusals[0], .is_kept_open = true},
    {.path = kRefusals[1], .is_kept_open = true},
    {.path = kRefusals[2], .is_kept_open = true},
};

enum Line : std::size_t { kMemTotal, kZswap, kZswapped, kLineCount };

/// The figures of the small files. The sum of rejections is meaningful only if all of them exist.
std::optional<std::uint64_t> number_of(const RawBytes& raw, std::size_t file) { return parse_u64(trim(raw.content(file))); }

/// Refused pages, if the kernel counts them in all three files.
std::optional<std::uint64_t> refusals_of(const RawBytes& raw) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < std::size(kRefusals); ++i) {
    const auto number = number_of(raw, kFirstRefusal + i);
    if (!number) return std::nullopt;
    sum += *number;
  }
  return sum;
}

Result<void> parse(const RawBytes& raw, Staging& staging) {
  staging.reset({}, 0);
  const std::string_view text = raw.content(kMeminfoFile);
  if (!text.empty() && !text.ends_with('\n')) return data_error(kMeminfo, text.rfind('\n') + 1, "ends within a line");
  std::array<KeyedNumber, kLineCount> lines{
      {{.key = "MemTotal", .value = {}}, {.key = "Zswap", .value = {}}, {.key = "Zswapped", .value = {}}}};
  if (const auto offset = read_keyed_numbers(text, lines)) {
    return data_error(kMeminfo, *offset, "expected a number of at most 64 bits after the name");
  }
  if (!lines[kMemTotal].value) return data_error(kMeminfo, text.size(), "has no line MemTotal");
  const std::optional<std::uint64_t> bytes = lines[kZswap].value ? lines[kZswap].value : number_of(raw, kPoolSize);
  if (!bytes) return data_error(kMeminfo, text.size(), "has no line Zswap, and debugfs reports no pool");

  StagedType& type = staging.add("zswap");
  type.set(Field::kBytes, *bytes);
  if (lines[kZswapped].value) {
    type.set(Field::kCount, *lines[kZswapped].value / raw.page_size);
  } else {
    type.set(Field::kCount, number_of(raw, kStoredPages));
  }
  // The kernel multiplies pages, so the product cannot overflow if the total is real.
  std::uint64_t product = 0;
  constexpr std::uint64_t kWhole = 100;
  const auto percent = number_of(raw, kPercent);
  if (percent && *percent != 0 && !__builtin_mul_overflow(*lines[kMemTotal].value / raw.page_size, *percent, &product) &&
      !__builtin_mul_overflow(product / kWhole, raw.page_size, &product)) {
    type.set(Field::kBytesLimit, product);
  }
  type.set(Field::kFailures, refusals_of(raw));
  return {};
}

/// Whether to ignore a file's error: the kernel lacks the file, or debugfs is accessible only to root.
Result<void> check(const RawBytes& raw) {
  const bool has_line = raw.content(kMeminfoFile).find("\nZswap:") != std::string_view::npos;
  if (has_line || number_of(raw, kPoolSize)) return {};
  return system_error(kMeminfo, ENOENT, "no line Zswap, which kernels with zswap have since 5.19");
}

// Its files return their content only once per descriptor, so the kernel view opens them again.
constexpr std::string_view kReopened[] = {"/sys/kernel/debug/zswap"};

constexpr MetricOrigin kOrigins[] = {
    {Field::kBytes, "Zswap, before 5.19 pool_total_size of debugfs"},
    {Field::kCount, "Zswapped / page size, before 5.19 stored_pages of debugfs"},
    {Field::kBytesLimit, "MemTotal x max_pool_percent / 100, in whole pages"},
    {Field::kFailures, "pool_limit_hit + reject_alloc_fail + reject_kmemcache_fail of debugfs"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "linux_zswap",
    .origin = "/proc/meminfo, /sys/module/zswap/parameters/max_pool_percent",
    .os = OperatingSystem::kLinux,
    .allocator = Allocator::kZswap,
    .is_roster = true,
    .origins = kOrigins,
    .plan = kPlan,
    .reopened_directories = kReopened,
    .notes =
        "needs no privilege for bytes, objects (pages stored) and limit; "
        "failures, and everything on kernels before 5.19, need debugfs mounted and root at start",
    .steps = planned_steps<kPlan, parse, check>(),
};

}  // namespace memstat::sources::linux_zswap
