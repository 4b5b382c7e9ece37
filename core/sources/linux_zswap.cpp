// SPDX-License-Identifier: BSD-2-Clause
// The compressed cache in front of swap, one type, from /proc/meminfo (Zswap and Zswapped, since 5.19), the module's
// parameter max_pool_percent and, as root where debugfs is mounted, /sys/kernel/debug/zswap/* (mm/zswap.c), a number a file:
//   pool_total_size (B), stored_pages          what kernels before 5.19 report instead of the lines in meminfo
//   pool_limit_hit                             pages refused because the pool was full
//   reject_alloc_fail, reject_kmemcache_fail   pages refused because there was no memory to put them in
// A refused page goes to the swap device, so these are what the pool's limit and lack of memory cost.
#include <array>
#include <cerrno>
#include <optional>

#include "core/base/text.h"
#include "core/collect/file_list.h"
#include "core/parse/key_values.h"
#include "core/source.h"

namespace memstat::sources::linux_zswap {
namespace {

constexpr std::string_view kMeminfo = "/proc/meminfo";
constexpr std::string_view kPercent = "/sys/module/zswap/parameters/max_pool_percent";
constexpr std::string_view kPoolSize = "/sys/kernel/debug/zswap/pool_total_size";
constexpr std::string_view kStoredPages = "/sys/kernel/debug/zswap/stored_pages";
constexpr std::string_view kRefusals[] = {"/sys/kernel/debug/zswap/pool_limit_hit",
                                          "/sys/kernel/debug/zswap/reject_alloc_fail",
                                          "/sys/kernel/debug/zswap/reject_kmemcache_fail"};

// Of RawBytes.
constexpr std::size_t kMeminfoPart = 0;
constexpr std::size_t kBundlePart = 1;

enum Line : std::size_t { kMemTotal, kZswap, kZswapped, kLineCount };

/// What the small files report. All must be there for the sum of refusals to mean anything.
struct Files {
  std::optional<std::uint64_t> percent, pool_size, stored_pages;
  std::uint64_t refusals = 0;
  std::size_t refusal_count = 0;
};

Files parse_files(std::string_view bundle) {
  Files files;
  FileBundleReader records(bundle);
  std::string_view path;
  std::string_view content;
  while (records.next(path, content)) {
    const auto number = parse_u64(trim(content));
    if (!number) continue;
    if (path == kPercent) files.percent = number;
    if (path == kPoolSize) files.pool_size = number;
    if (path == kStoredPages) files.stored_pages = number;
    for (const std::string_view refusal : kRefusals) {
      if (path != refusal) continue;
      files.refusals += *number;
      ++files.refusal_count;
    }
  }
  return files;
}

Result<void> parse(const RawBytes& raw, Staging& staging) {
  staging.reset({}, 0);
  const std::string_view text = raw.parts[kMeminfoPart].view();
  if (!text.empty() && !text.ends_with('\n')) return data_error(kMeminfo, text.rfind('\n') + 1, "ends within a line");
  std::array<KeyedNumber, kLineCount> lines{
      {{.key = "MemTotal", .value = {}}, {.key = "Zswap", .value = {}}, {.key = "Zswapped", .value = {}}}};
  if (const auto offset = read_keyed_numbers(text, lines)) {
    return data_error(kMeminfo, *offset, "expected a number of at most 64 bits after the name");
  }
  if (!lines[kMemTotal].value) return data_error(kMeminfo, text.size(), "names no MemTotal");
  const Files files = parse_files(raw.parts[kBundlePart].view());
  const std::optional<std::uint64_t> bytes = lines[kZswap].value ? lines[kZswap].value : files.pool_size;
  if (!bytes) return data_error(kMeminfo, text.size(), "names no Zswap, and debugfs reports no pool");

  StagedType& type = staging.add("zswap");
  const auto set = [&](Field field, std::uint64_t value) {
    type.fields.add(field);
    type.figures[field] = value;
  };
  set(Field::kBytes, *bytes);
  if (lines[kZswapped].value) {
    set(Field::kCount, *lines[kZswapped].value / raw.page_size);
  } else if (files.stored_pages) {
    set(Field::kCount, *files.stored_pages);
  }
  // The kernel multiplies pages, so the product cannot overflow where the total is real.
  std::uint64_t product = 0;
  constexpr std::uint64_t kWhole = 100;
  if (files.percent && *files.percent != 0 &&
      !__builtin_mul_overflow(*lines[kMemTotal].value / raw.page_size, *files.percent, &product) &&
      !__builtin_mul_overflow(product / kWhole, raw.page_size, &product)) {
    set(Field::kBytesLimit, product);
  }
  if (files.refusal_count == std::size(kRefusals)) set(Field::kFailures, files.refusals);
  return {};
}

/// Whether a file with that error goes without a word: this kernel has none, or debugfs is root's and we are not.
bool is_unavailable(ErrorCode code) { return code == ErrorCode::kNotPresent || code == ErrorCode::kPermission; }

/// What the source keeps from read to read.
struct State final : ReaderState {
  bool has_looked = false;  ///< The list is known.
  FileList list;            ///< Files to read beside meminfo.
  Buffer scratch;           ///< One file.
};

/// Lists what this kernel has and lets us read. From then on a file that cannot be read is an error.
Result<void> find_files(KernelView& view, ListTime when, State& state) {
  FileList& list = state.list;
  list.clear();
  for (const std::string_view path : {kPercent, kPoolSize, kStoredPages, kRefusals[0], kRefusals[1], kRefusals[2]}) {
    auto result = when == ListTime::kWhenRead ? view.read_file(path, state.scratch) : Result<void>();
    if (result) result = list_file(view, when, path, list);
    if (!result && !is_unavailable(result.error().code)) {
      list.clear();
      return result;
    }
  }
  state.has_looked = true;
  return {};
}

Result<void> read(KernelView& view, RawBytes& raw, State& state) {
  if (!state.has_looked) {
    if (auto found = find_files(view, ListTime::kWhenRead, state); !found) return found;
  }
  FileBundleWriter bundle(raw.parts[kBundlePart], state.scratch);
  if (!state.list.empty()) {
    const auto is_error = [](std::string_view, ErrorCode code) { return code != ErrorCode::kNotPresent; };
    if (auto result = read_listed_files(view, state.list, bundle, is_error); !result) return result;
  }
  if (auto result = view.read_file(kMeminfo, raw.parts[kMeminfoPart]); !result) return result;
  if (raw.parts[kMeminfoPart].view().find("\nZswap:") == std::string_view::npos &&
      !parse_files(raw.parts[kBundlePart].view()).pool_size) {
    return system_error(kMeminfo, ENOENT, "no line Zswap, which kernels with zswap have since 5.19");
  }
  return {};
}

Result<void> open(KernelView& view, RawBytes& raw, State& state) {
  if (auto result = view.keep_open(kMeminfo); !result) return result;
  if (auto found = find_files(view, ListTime::kWhenOpened, state); !found) return found;
  return read(view, raw, state);
}

constexpr std::string_view kReopened[] = {"/sys/kernel/debug/zswap"};  // its files give what they have to a descriptor once

constexpr std::string_view kDebugfs[] = {kPoolSize, kStoredPages, kRefusals[0], kRefusals[1], kRefusals[2]};

constexpr MetricOrigin kOrigins[] = {
    {Field::kBytes, "Zswap, before 5.19 pool_total_size of debugfs"},
    {Field::kCount, "Zswapped / page size, before 5.19 stored_pages of debugfs"},
    {Field::kBytesLimit, "MemTotal x max_pool_percent / 100, in whole pages"},
    {Field::kFailures, "pool_limit_hit + reject_alloc_fail + reject_kmemcache_fail of debugfs"},
};

}  // namespace

extern const SourceDescriptor descriptor;
const SourceDescriptor descriptor{
    .name = "linux_zswap",
    .origin = "/proc/meminfo, /sys/module/zswap/parameters/max_pool_percent",
    .os = OperatingSystem::kLinux,
    .allocator = Allocator::kZswap,
    .is_roster = true,
    .origins = kOrigins,
    .max_files = 7,
    .debugfs_paths = kDebugfs,
    .reopened_directories = kReopened,
    .notes =
        "needs no privilege for bytes, objects (pages stored) and limit; "
        "failures, and everything on kernels before 5.19, need debugfs mounted and root at start",
    .steps = source_steps<State, open, read, parse>(),
};

}  // namespace memstat::sources::linux_zswap
