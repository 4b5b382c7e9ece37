// SPDX-License-Identifier: BSD-2-Clause
// Huge page pools, one type per page size, from /sys/kernel/mm/hugepages/hugepages-SIZEkB/* and, by node,
// /sys/devices/system/node/nodeN/hugepages/hugepages-SIZEkB/* (mm/hugetlb_sysfs.c; mm/hugetlb.c before 6.17). Each file has
// a number of pages:
//
//   nr_hugepages            the pool now, including surplus pages
//   free_hugepages          pool pages not yet touched, including reserved ones
//   resv_hugepages          free pages reserved for mappings
//   surplus_hugepages       pool pages beyond the configured size, removed when freed
//   nr_overcommit_hugepages maximum surplus pages
//
// The administrator's limit is therefore nr - surplus + overcommit. If that is 0, no pool is configured and there is no
// limit.
//
// Free pages are not reported as free objects, because those count against a limit: a pool without overcommit would always
// be at its limit. They are held_bytes - bytes, and the free objects of the nodes.
#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ascii.h"
#include "core/base/byte_size.h"
#include "core/base/text.h"
#include "core/collect/plan_reader.h"
#include "core/source.h"

namespace memstat::sources::linux_hugetlb {
namespace {

constexpr SystemMetric kHugetlbReserved =
    gauge_metric("memstat_hugetlb_reserved_pages", Tier::kDefault,
                 "Free huge pages of the pool that are reserved for mappings now.", {"type"});

constexpr SystemMetric kHugetlbSurplus = gauge_metric("memstat_hugetlb_surplus_pages", Tier::kDefault,
                                                      "Huge pages of the pool beyond its configured size now.", {"type"});

constexpr std::string_view kDirectory = "/sys/kernel/mm/hugepages";
constexpr std::string_view kNodes = "/sys/devices/system/node/node";

// The pools of the machine come first.
constexpr PlannedFile kPlan[] = {
    {.path = "/sys/kernel/mm/hugepages/*/nr_hugepages", .need = ReadNeed::kRequired},
    {.path = "/sys/kernel/mm/hugepages/*/free_hugepages"},
    {.path = "/sys/kernel/mm/hugepages/*/resv_hugepages"},
    {.path = "/sys/kernel/mm/hugepages/*/surplus_hugepages"},
    {.path = "/sys/kernel/mm/hugepages/*/nr_overcommit_hugepages"},
    {.path = "/sys/devices/system/node/node*/hugepages/*/nr_hugepages"},
    {.path = "/sys/devices/system/node/node*/hugepages/*/free_hugepages"},
};

constexpr NodeFieldMask kNodeFields{NodeField::kHeldBytes, NodeField::kCount, NodeField::kFree};

constexpr std::uint64_t kKilobyte = 1024;

/// Parses the page size in bytes from "hugepages-2048kB"; 0 for anything else.
std::uint64_t page_size_of(std::string_view directory) {
  constexpr std::string_view kPrefix = "hugepages-";
  constexpr std::string_view kSuffix = "kB";
  if (!directory.starts_with(kPrefix) || !directory.ends_with(kSuffix) ||
      directory.size() <= kPrefix.size() + kSuffix.size()) {
    return 0;
  }
  directory.remove_prefix(kPrefix.size());
  directory.remove_suffix(kSuffix.size());
  std::uint64_t bytes = 0;
  const auto kilobytes = parse_u64(directory);
  return !kilobytes || __builtin_mul_overflow(*kilobytes, kKilobyte, &bytes) ? 0 : bytes;
}

/// Parses the node number from "/sys/devices/system/node/node3/hugepages/..."; `rest` is "hugepages/...".
std::optional<std::uint32_t> node_of(std::string_view path, std::string_view& rest) {
  const auto number = parse_u64(component_after(path, kNodes, rest));
  if (!number || *number >= kMaxNodes) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

/// One pool, of the machine or a node.
struct Pool {
  std::uint64_t size = 0;  ///< page size in bytes; 0: no pool
  std::optional<std::uint64_t> pages, free, reserved, surplus, overcommit;

  bool take(std::string_view file, std::optional<std::uint64_t> number) {
    if (file == "nr_hugepages") pages = number;
    if (file == "free_hugepages") free = number;
    if (file == "resv_hugepages") reserved = number;
    if (file == "surplus_hugepages") surplus = number;
    if (file == "nr_overcommit_hugepages") overcommit = number;
    return number.has_value();
  }
};

Error too_much(std::string_view directory) { return data_error(directory, 0, "reports a pool of more than 2^64 bytes"); }

/// Sets the figures that need several files of a pool.
Result<void> finish_pool(const Pool& pool, std::string_view directory, Staging& staging) {
  if (pool.size == 0) return {};
  if (!pool.pages) return data_error(directory, 0, "does not report how many pages a pool has (nr_hugepages)");
  const auto [number, unit] = exact_size(pool.size);
  const StackText<24> name(number, unit);
  StagedType& type = staging.merge(name.view());
  Figures& figures = type.figures;
  type.fields = FieldMask(Field::kHeldBytes, Field::kSize);
  figures[Field::kSize] = pool.size;
  if (__builtin_mul_overflow(*pool.pages, pool.size, &figures[Field::kHeldBytes])) return too_much(directory);
  if (pool.free) {
    type.fields = type.fields | FieldMask(Field::kBytes, Field::kCount);
    figures[Field::kCount] = *pool.pages - std::min(*pool.pages, *pool.free);  // not read at the same instant
    figures[Field::kBytes] = figures[Field::kCount] * pool.size;
  }
  if (pool.surplus && pool.overcommit) {
    const std::uint64_t set = *pool.pages - std::min(*pool.pages, *pool.surplus);
    if (__builtin_add_overflow(set, *pool.overcommit, &figures[Field::kCountLimit])) return too_much(directory);
    if (figures[Field::kCountLimit] != 0) type.fields.add(Field::kCountLimit);
  }
  if (pool.reserved) staging.statistics().add(kHugetlbReserved, *pool.reserved, {name.view()});
  if (pool.surplus) staging.statistics().add(kHugetlbSurplus, *pool.surplus, {name.view()});
  return {};
}

void finish_node_pool(const Pool& pool, std::uint32_t node, Staging& staging) {
  if (pool.size == 0 || !pool.pages || node >= staging.node_count()) return;
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(*pool.pages, pool.size, &bytes)) return;
  const StagedType* type = nullptr;
  for (const StagedType& staged : staging.types()) {
    if (staged.figures[Field::kSize] == pool.size) type = &staged;
  }
  if (type == nullptr) return;
  const std::uint64_t free = std::min(*pool.pages, pool.free.value_or(0));
  staging.node_figure(*type, NodeField::kHeldBytes, node) = bytes;
  staging.node_figure(*type, NodeField::kFree, node) = free;
  staging.node_figure(*type, NodeField::kCount, node) = *pool.pages - free;
}

/// One more than the highest node.
std::uint32_t count_nodes(const RawBytes& raw) {
  std::uint32_t count = 0;
  std::string_view rest;
  for (const RawFile& file : raw.files) {
    if (const auto node = node_of(file.path, rest)) count = std::max(count, *node + 1);
  }
  return count;
}

/// Sets the figures of a pool that is complete.
Result<void> finish(const Pool& pool, std::string_view directory, Staging& staging) {
  std::string_view rest;
  if (const auto node = node_of(directory, rest)) {
    finish_node_pool(pool, *node, staging);
    return {};
  }
  return finish_pool(pool, directory, staging);
}

/// The files of a pool are contiguous, and the machine's come first.
Result<void> parse(const RawBytes& raw, Staging& staging) {
  staging.reset({}, 0);
  staging.set_nodes(kNodeFields, count_nodes(raw));
  std::string_view directory;  // of the current pool
  Pool pool;
  for (const RawFile& file : raw.files) {
    if (!file.has_content()) continue;
    const std::string_view path = file.path;
    const std::size_t slash = path.rfind('/');
    if (path.substr(0, slash) != directory) {
      if (auto result = finish(pool, directory, staging); !result) return result;
      directory = path.substr(0, slash);
      pool = {};
      pool.size = page_size_of(directory.substr(directory.rfind('/') + 1));
    }
    if (!pool.take(path.substr(slash + 1), number_of(file))) {
      return data_error(path, 0, "expected a line with a number of at most 64 bits");
    }
  }
  if (auto result = finish(pool, directory, staging); !result) return result;
  if (staging.types().empty()) return data_error(kDirectory, 0, "has no huge page size");
  return {};
}

constexpr MetricOrigin kOrigins[] = {
    {Field::kBytes, "(nr_hugepages - free_hugepages) x page size"},
    {Field::kCount, "nr_hugepages - free_hugepages"},
    {Field::kHeldBytes, "nr_hugepages x page size"},
    {Field::kCountLimit, "nr_hugepages - surplus_hugepages + nr_overcommit_hugepages, none where that is 0"},
    {Field::kSize, "SIZE of the directory hugepages-SIZEkB"},
    {NodeField::kHeldBytes, "nr_hugepages of the node x page size"},
    {NodeField::kCount, "nr_hugepages - free_hugepages of the node"},
    {NodeField::kFree, "free_hugepages of the node"},
    {kHugetlbReserved, "resv_hugepages"},
    {kHugetlbSurplus, "surplus_hugepages"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "linux_hugetlb",
    .origin = "/sys/kernel/mm/hugepages",
    .os = OperatingSystem::kLinux,
    .allocator = Allocator::kHugetlb,
    .is_roster = true,
    .origins = kOrigins,
    .plan = kPlan,
    .notes =
        "needs no privilege; a type is a huge page size, bytes are the pages in use and held_bytes the whole pool; failed "
        "allocations of surplus pages are counted by linux_page; nodes that are added later are seen after a restart",
    .steps = planned_steps<kPlan, parse>(),
};

}  // namespace memstat::sources::linux_hugetlb
