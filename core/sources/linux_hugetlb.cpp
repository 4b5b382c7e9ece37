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
#include "core/collect/file_list.h"
#include "core/source.h"

namespace memstat::sources::linux_hugetlb {
namespace {

constexpr SystemMetric kHugetlbReserved =
    gauge_metric("memstat_hugetlb_reserved_pages", Tier::kDefault,
                 "Free huge pages of the pool that are reserved for mappings now.", {"type"});

constexpr SystemMetric kHugetlbSurplus = gauge_metric("memstat_hugetlb_surplus_pages", Tier::kDefault,
                                                      "Huge pages of the pool beyond its configured size now.", {"type"});

constexpr std::string_view kMeminfo = "/proc/meminfo";
constexpr std::string_view kDirectory = "/sys/kernel/mm/hugepages";
constexpr std::string_view kPools = "/sys/kernel/mm/hugepages/";
constexpr std::string_view kNodeDirectory = "/sys/devices/system/node";
constexpr std::string_view kNodes = "/sys/devices/system/node/node";

constexpr std::size_t kBundlePart = 0;

constexpr std::string_view kNeeded = "/nr_hugepages";
constexpr std::string_view kPoolFiles[] = {"/nr_hugepages", "/free_hugepages", "/resv_hugepages", "/surplus_hugepages",
                                           "/nr_overcommit_hugepages"};
constexpr std::string_view kNodeFiles[] = {"/nr_hugepages", "/free_hugepages"};

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

Error too_much(std::size_t offset) { return data_error(kDirectory, offset, "reports a pool of more than 2^64 bytes"); }

/// Sets the figures that need several files of a pool.
Result<void> finish_pool(const Pool& pool, std::size_t offset, Staging& staging) {
  if (pool.size == 0) return {};
  if (!pool.pages) return data_error(kDirectory, offset, "does not report how many pages a pool has (nr_hugepages)");
  const auto [number, unit] = exact_size(pool.size);
  const StackText<24> name(number, unit);
  StagedType& type = staging.merge(name.view());
  Figures& figures = type.figures;
  type.fields = FieldMask(Field::kHeldBytes, Field::kSize);
  figures[Field::kSize] = pool.size;
  if (__builtin_mul_overflow(*pool.pages, pool.size, &figures[Field::kHeldBytes])) return too_much(offset);
  if (pool.free) {
    type.fields = type.fields | FieldMask(Field::kBytes, Field::kCount);
    figures[Field::kCount] = *pool.pages - std::min(*pool.pages, *pool.free);  // not read at the same instant
    figures[Field::kBytes] = figures[Field::kCount] * pool.size;
  }
  if (pool.surplus && pool.overcommit) {
    const std::uint64_t set = *pool.pages - std::min(*pool.pages, *pool.surplus);
    if (__builtin_add_overflow(set, *pool.overcommit, &figures[Field::kCountLimit])) return too_much(offset);
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

/// One more than the highest node in the bundle.
std::uint32_t count_nodes(std::string_view bundle) {
  std::uint32_t count = 0;
  FileBundleReader records(bundle);
  std::string_view path;
  std::string_view content;
  std::string_view rest;
  while (records.next(path, content)) {
    if (const auto node = node_of(path, rest)) count = std::max(count, *node + 1);
  }
  return count;
}

/// The records of a pool are contiguous, and the machine's come first.
Result<void> parse(const RawBytes& raw, Staging& staging) {
  const std::string_view bundle = raw.parts[kBundlePart].view();
  staging.reset({}, 0);
  staging.set_nodes(kNodeFields, count_nodes(bundle));
  FileBundleReader records(bundle);
  std::string_view path;
  std::string_view content;
  std::string_view directory;  // directory of the current pool
  std::optional<std::uint32_t> node;
  Pool pool;
  std::size_t offset = 0;
  bool is_whole = false;
  while (!is_whole && records.next(path, content)) {
    offset = static_cast<std::size_t>(content.data() - bundle.data());
    is_whole = path == kEndOfListedFiles;
    const std::size_t slash = path.rfind('/');
    const std::string_view next_directory = path.substr(0, slash == std::string_view::npos ? 0 : slash);
    if (next_directory != directory) {
      if (node) {
        finish_node_pool(pool, *node, staging);
      } else if (auto result = finish_pool(pool, offset, staging); !result) {
        return result;
      }
      directory = next_directory;
      std::string_view rest;
      node = node_of(directory, rest);
      pool = {};
      pool.size = page_size_of(directory.substr(directory.rfind('/') + 1));
    }
    if (!is_whole && !pool.take(path.substr(slash + 1), parse_u64(trim(content)))) {
      return data_error(kDirectory, offset, "a file of a pool or a node does not hold a number of at most 64 bits");
    }
  }
  if (!is_whole) return data_error(kDirectory, offset, "the data ends early");
  if (staging.types().empty()) return data_error(kDirectory, offset, "has no huge page size");
  return {};
}

/// The limits of unused pools are in five files per page size and two more per node, too many for every read.
constexpr std::uint32_t kReadsBetweenSettings = 16;

struct State final : ReaderState {
  FileList list;  ///< files to read; empty until found
  Buffer scratch;
  bool was_without = false;  ///< there were no huge pages at the last read
};

/// Whether /proc/meminfo, which other sources read in the same poll anyway, shows that no pool has pages.
bool has_no_pages(KernelView& view, Buffer& scratch) {
  constexpr std::string_view kLine = "\nHugetlb:";
  if (!view.read_file(kMeminfo, scratch)) return false;
  const std::string_view text = scratch.view();
  const std::size_t at = text.find(kLine);
  if (at == std::string_view::npos) return false;
  std::string_view rest = text.substr(at + kLine.size());
  std::string_view number;
  return next_word(rest, number) && number == "0";
}

/// Lists the files of every pool. They are opened by name at each read.
Result<void> find_files(KernelView& view, State& state) {
  FileList& list = state.list;
  list.clear();
  std::vector<std::string> pools;
  if (auto result = view.list_directory(kDirectory, pools); !result) return result;
  std::erase_if(pools, [](const std::string& pool) { return page_size_of(pool) == 0; });
  if (pools.empty()) return system_error(kDirectory, ENOENT, "this kernel has no huge page size");
  for (const std::string& pool : pools) {
    for (const std::string_view file : kPoolFiles) {
      list.push_back(std::string(kPools) + pool + std::string(file));
    }
  }
  std::vector<std::string> nodes;
  if (!view.list_directory(kNodeDirectory, nodes)) return {};
  for (const std::string& node : nodes) {
    const std::string directory = std::string(kNodeDirectory) + "/" + node + "/hugepages/";
    std::string_view rest;
    if (!node_of(directory, rest)) continue;
    for (const std::string& pool : pools) {
      for (const std::string_view file : kNodeFiles) {
        list.push_back(directory + pool + std::string(file));
      }
    }
  }
  return {};
}

Result<void> read(KernelView& view, RawBytes& raw, State& state) {
  if (state.list.empty()) {
    if (auto result = find_files(view, state); !result) return result;
  }
  const bool is_without = has_no_pages(view, state.scratch);
  const bool is_same = is_without && state.was_without && !raw.parts[kBundlePart].empty();
  // Only the administrator's settings can have changed.
  if (is_same && may_skip(view, state.parse_count, kReadsBetweenSettings)) return {};
  state.was_without = false;
  FileBundleWriter bundle(raw.parts[kBundlePart], state.scratch);
  const auto is_error = [](std::string_view path, ErrorCode code) {
    return code != ErrorCode::kNotPresent || (path.starts_with(kPools) && path.ends_with(kNeeded));
  };
  auto result = read_listed_files(view, state.list, bundle, is_error);
  if (!result && result.error().system_errno != 0) {
    return system_error(kDirectory, result.error().system_errno, result.error().path);
  }
  state.was_without = result && is_without;
  return result;
}

Result<void> open(KernelView& view, RawBytes& raw, State& state) {
  static_cast<void>(view.keep_open(kMeminfo));
  if (auto result = find_files(view, state); !result) return result;
  return read(view, raw, state);
}

constexpr std::string_view kReopened[] = {kDirectory, kNodeDirectory};

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
    .max_files = 1,
    .reopened_directories = kReopened,
    .notes =
        "needs no privilege; a type is a huge page size, bytes are the pages in use and held_bytes the whole pool; failed "
        "allocations of surplus pages are counted by linux_page; while there are no huge pages, a new limit is seen within "
        "sixteen reads; nodes that are added later are seen after a restart",
    .steps = source_steps<State, open, read, parse>(),
};

}  // namespace memstat::sources::linux_hugetlb
