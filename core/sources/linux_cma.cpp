// SPDX-License-Identifier: BSD-2-Clause
// Contiguous memory areas (CMA), one type per area, from /sys/kernel/mm/cma/AREA/* (mm/cma_sysfs.c, kernels built with
// CMA_SYSFS). Each file has a number of pages:
//
//   alloc_pages_success     allocated by drivers, cumulative, since 5.13
//   alloc_pages_fail        in failed allocations, cumulative, since 5.13
//   release_pages_success   freed, cumulative, since 6.9
//   total_pages, available_pages   since 6.15
//
// On a kernel without that directory, or without sysfs, the source uses CmaTotal and CmaFree of /proc/meminfo for one type,
// "all areas". Its bytes include pages that are lent to processes, which is not use of the area, so it has no limit.
#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "core/collect/file_list.h"
#include "core/parse/key_values.h"
#include "core/source.h"

namespace memstat::sources::linux_cma {
namespace {

constexpr std::string_view kParent = "/sys/kernel/mm";
constexpr std::string_view kDirectory = "/sys/kernel/mm/cma";
constexpr std::string_view kAreas = "/sys/kernel/mm/cma/";
constexpr std::string_view kMeminfo = "/proc/meminfo";

constexpr std::size_t kBundlePart = 0;

constexpr std::string_view kNeeded = "/alloc_pages_success";
constexpr std::string_view kFiles[] = {kNeeded, "/alloc_pages_fail", "/release_pages_success", "/total_pages",
                                       "/available_pages"};

/// One area's figures, in pages.
struct Area {
  std::string_view name;
  std::optional<std::uint64_t> allocated, failed, released, total, available;

  void take(std::string_view file, std::uint64_t number) {
    if (file == "alloc_pages_success") allocated = number;
    if (file == "alloc_pages_fail") failed = number;
    if (file == "release_pages_success") released = number;
    if (file == "total_pages") total = number;
    if (file == "available_pages") available = number;
  }
};

/// Sets a figure in bytes, or omits it if the number of pages is unknown. False beyond 64 bits.
bool set_bytes(StagedType& type, Field field, std::optional<std::uint64_t> pages, std::uint64_t page_size) {
  if (!pages) return true;
  type.fields.add(field);
  return !__builtin_mul_overflow(*pages, page_size, &type.figures[field]);
}

Result<void> finish_area(const Area& area, std::size_t offset, std::uint64_t page_size, Staging& staging) {
  if (area.name.empty()) return {};
  std::optional<std::uint64_t> used;
  if (area.total && area.available) {
    used = *area.total - std::min(*area.total, *area.available);
  } else if (area.allocated && area.released) {
    used = *area.allocated - std::min(*area.allocated, *area.released);
  }
  StagedType& type = staging.merge(area.name);
  if (!set_bytes(type, Field::kBytes, used, page_size) || !set_bytes(type, Field::kHeldBytes, area.total, page_size) ||
      !set_bytes(type, Field::kBytesLimit, area.total, page_size) ||
      !set_bytes(type, Field::kMemAlloced, area.allocated, page_size) ||
      !set_bytes(type, Field::kMemFreed, area.released, page_size)) {
    return data_error(kDirectory, offset, "reports an area of more than 2^64 bytes");
  }
  type.set(Field::kFailures, area.failed);
  return {};
}

/// Adds the single type for kernels that do not report areas. False if the text lacks the lines.
bool add_all_areas(std::string_view meminfo, Staging& staging) {
  std::array<KeyedNumber, 2> numbers{{{.key = "CmaTotal", .value = {}}, {.key = "CmaFree", .value = {}}}};
  if (!meminfo.ends_with('\n') || read_keyed_numbers(meminfo, numbers) || !numbers[0].value || !numbers[1].value) {
    return false;
  }
  const std::uint64_t total = *numbers[0].value;
  StagedType& type = staging.merge("all areas");
  type.fields = FieldMask(Field::kBytes, Field::kHeldBytes);
  type.figures[Field::kBytes] = total - std::min(total, *numbers[1].value);
  type.figures[Field::kHeldBytes] = total;
  return true;
}

/// The records of an area are contiguous.
Result<void> parse(const RawBytes& raw, Staging& staging) {
  const std::string_view bundle = raw.parts[kBundlePart].view();
  staging.reset({}, 0);
  FileBundleReader records(bundle);
  std::string_view path;
  std::string_view content;
  Area area;
  std::size_t offset = 0;
  bool is_whole = false;
  while (!is_whole && records.next(path, content)) {
    offset = static_cast<std::size_t>(content.data() - bundle.data());
    is_whole = path == kEndOfListedFiles;
    if (path == kMeminfo && !add_all_areas(content, staging)) {
      return data_error(kDirectory, offset, "absent, and /proc/meminfo has no lines CmaTotal and CmaFree with a number");
    }
    std::string_view file;
    const std::string_view name = component_after(path, kAreas, file);
    if (name != area.name) {
      if (auto result = finish_area(area, offset, raw.page_size, staging); !result) return result;
      area = {};
      area.name = name;
    }
    if (name.empty()) continue;
    const auto number = parse_u64(trim(content));
    if (!number) return data_error(kDirectory, offset, "a file of an area does not hold a number of at most 64 bits");
    area.take(file, *number);
  }
  if (!is_whole) return data_error(kDirectory, offset, "the data ends early");
  if (staging.types().empty()) return data_error(kDirectory, offset, "has no area");
  return {};
}

/// Rewrites an error to name the directory.
Error of_directory(const Error& error) { return system_error(kDirectory, error.system_errno, error.path); }

/// Lists the files of every area. They are opened by name at each read.
Result<void> find_areas(KernelView& view, FileList& list) {
  std::vector<std::string> areas;
  if (auto result = view.list_directory(kDirectory, areas); !result) return of_directory(result.error());
  if (areas.empty()) return system_error(kDirectory, ENOENT, "this machine has no area of contiguous memory");
  for (const std::string& area : areas) {
    for (const std::string_view file : kFiles) {
      list.push_back(std::string(kAreas) + area + std::string(file));
    }
  }
  return {};
}

struct State final : ReaderState {
  FileList list;  ///< files to read; empty until found
  Buffer scratch;
};

Result<void> find_files(KernelView& view, ListTime when, State& state) {
  FileList& list = state.list;
  list.clear();
  std::vector<std::string> names;
  // Check the parent directory, so that an error reading the directory is not mistaken for its absence. If sysfs is not
  // mounted, the parent is absent too.
  const auto listed = view.list_directory(kParent, names);
  if (!listed && listed.error().code != ErrorCode::kNotPresent) return of_directory(listed.error());
  if (std::find(names.begin(), names.end(), "cma") != names.end()) {
    auto result = find_areas(view, list);
    if (!result) list.clear();
    return result;
  }
  Buffer meminfo;
  if (auto result = view.read_file(kMeminfo, meminfo); !result) return of_directory(result.error());
  Staging staging;
  staging.reset({}, 0);
  if (!add_all_areas(meminfo.view(), staging) || staging.types()[0].figures[Field::kHeldBytes] == 0) {
    return system_error(kDirectory, ENOENT, "this machine has no area of contiguous memory");
  }
  return list_file(view, when, kMeminfo, list);
}

Result<void> read(KernelView& view, RawBytes& raw, State& state) {
  if (state.list.empty()) {
    if (auto result = find_files(view, ListTime::kWhenRead, state); !result) return result;
  }
  FileBundleWriter bundle(raw.parts[kBundlePart], state.scratch);
  const auto is_error = [](std::string_view path, ErrorCode code) {
    return code != ErrorCode::kNotPresent || path == kMeminfo || path.ends_with(kNeeded);
  };
  auto result = read_listed_files(view, state.list, bundle, is_error);
  if (!result && result.error().system_errno != 0) return of_directory(result.error());
  return result;
}

Result<void> open(KernelView& view, RawBytes& raw, State& state) {
  if (auto result = find_files(view, ListTime::kWhenOpened, state); !result) return result;
  return read(view, raw, state);
}

constexpr std::string_view kReopened[] = {kDirectory};

constexpr MetricOrigin kOrigins[] = {
    {Field::kBytes,
     "(total_pages - available_pages) x page size, before 6.15 (alloc_pages_success - release_pages_success) x page size, "
     "CmaTotal - CmaFree of \"all areas\""},
    {Field::kHeldBytes, "total_pages x page size, CmaTotal of \"all areas\""},
    {Field::kBytesLimit, "total_pages x page size"},
    {Field::kMemAlloced, "alloc_pages_success x page size"},
    {Field::kMemFreed, "release_pages_success x page size"},
    {Field::kFailures, "alloc_pages_fail, pages that could not be allocated"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "linux_cma",
    .origin = "/sys/kernel/mm/cma",
    .os = OperatingSystem::kLinux,
    .allocator = Allocator::kCma,
    .is_roster = true,
    .origins = kOrigins,
    .max_files = 1,
    .reopened_directories = kReopened,
    .notes =
        "needs no privilege; a type is an area, bytes are those held by drivers, failures are counted in pages; without "
        "CMA_SYSFS there is one type \"all areas\" from /proc/meminfo, whose bytes contain pages lent to processes",
    .steps = source_steps<State, open, read, parse>(),
};

}  // namespace memstat::sources::linux_cma
