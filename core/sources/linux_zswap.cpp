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

constexpr std::size_t kMeminfoPart = 0;
constexpr std::size_t kBundlePart = 1;
constexpr std::size_t kSettingsPart = 2;

enum Line : std::size_t { kMemTotal, kZswap, kZswapped, kLineCount };

/// The figures of the small files. The sum of rejections is meaningful only if all of them exist.
struct Files {
  std::optional<std::uint64_t> percent, pool_size, stored_pages;
  std::uint64_t refusals = 0;
  std::size_t refusal_count = 0;
};

void parse_files(std::string_view bundle, Files& files) {
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
  if (!lines[kMemTotal].value) return data_error(kMeminfo, text.size(), "has no line MemTotal");
  Files files;
  for (const std::size_t part : {kBundlePart, kSettingsPart}) parse_files(raw.parts[part].view(), files);
  const std::optional<std::uint64_t> bytes = lines[kZswap].value ? lines[kZswap].value : files.pool_size;
  if (!bytes) return data_error(kMeminfo, text.size(), "has no line Zswap, and debugfs reports no pool");

  StagedType& type = staging.add("zswap");
  type.set(Field::kBytes, *bytes);
  if (lines[kZswapped].value) {
    type.set(Field::kCount, *lines[kZswapped].value / raw.page_size);
  } else if (files.stored_pages) {
    type.set(Field::kCount, *files.stored_pages);
  }
  // The kernel multiplies pages, so the product cannot overflow if the total is real.
  std::uint64_t product = 0;
  constexpr std::uint64_t kWhole = 100;
  if (files.percent && *files.percent != 0 &&
      !__builtin_mul_overflow(*lines[kMemTotal].value / raw.page_size, *files.percent, &product) &&
      !__builtin_mul_overflow(product / kWhole, raw.page_size, &product)) {
    type.set(Field::kBytesLimit, product);
  }
  if (files.refusal_count == std::size(kRefusals)) type.set(Field::kFailures, files.refusals);
  return {};
}

/// Whether to ignore a file's error: the kernel lacks the file, or debugfs is accessible only to root.
bool is_unavailable(ErrorCode code) { return code == ErrorCode::kNotPresent || code == ErrorCode::kPermission; }

struct State final : ReaderState {
  bool has_looked = false;  ///< the list is known
  FileList list;            ///< files to read besides meminfo
  SettingFiles settings;
  Buffer scratch;
};

/// Lists the files that this kernel has and that are readable. A later failure to read one is an error.
Result<void> find_files(KernelView& view, ListTime when, State& state) {
  FileList& list = state.list;
  list.clear();
  // A missing part shows no limit.
  (void)list_known_files(view, ListTime::kWhenRead, std::span(&kPercent, 1), {}, state.scratch, state.settings.list);
  for (const std::string_view path : {kPoolSize, kStoredPages, kRefusals[0], kRefusals[1], kRefusals[2]}) {
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
  Buffer& settings = raw.parts[kSettingsPart];
  if (auto result = read_settings(view, state.parse_count, state.settings, state.scratch, settings); !result) return result;
  if (auto result = view.read_file(kMeminfo, raw.parts[kMeminfoPart]); !result) return result;
  Files files;
  parse_files(raw.parts[kBundlePart].view(), files);
  if (raw.parts[kMeminfoPart].view().find("\nZswap:") == std::string_view::npos && !files.pool_size) {
    return system_error(kMeminfo, ENOENT, "no line Zswap, which kernels with zswap have since 5.19");
  }
  return {};
}

Result<void> open(KernelView& view, RawBytes& raw, State& state) {
  if (auto result = view.keep_open(kMeminfo); !result) return result;
  if (auto found = find_files(view, ListTime::kWhenOpened, state); !found) return found;
  return read(view, raw, state);
}

constexpr std::string_view kReopened[] = {
    "/sys/kernel/debug/zswap",        // its files return their content only once per descriptor
    "/sys/module/zswap/parameters"};  // read seldom

constexpr std::string_view kDebugfs[] = {kPoolSize, kStoredPages, kRefusals[0], kRefusals[1], kRefusals[2]};

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
    .max_files = 6,
    .debugfs_paths = kDebugfs,
    .reopened_directories = kReopened,
    .notes =
        "needs no privilege for bytes, objects (pages stored) and limit; "
        "failures, and everything on kernels before 5.19, need debugfs mounted and root at start",
    .steps = source_steps<State, open, read, parse>(),
};

}  // namespace memstat::sources::linux_zswap
