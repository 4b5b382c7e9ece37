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
#include "core/collect/plan_reader.h"
#include "core/parse/key_values.h"
#include "core/source.h"

namespace memstat::sources::linux_cma {
namespace {

constexpr std::string_view kDirectory = "/sys/kernel/mm/cma";
constexpr std::string_view kAreas = "/sys/kernel/mm/cma/";

constexpr PlannedFile kPlan[] = {
    {.path = "/sys/kernel/mm/cma/*/alloc_pages_success"},   {.path = "/sys/kernel/mm/cma/*/alloc_pages_fail"},
    {.path = "/sys/kernel/mm/cma/*/release_pages_success"}, {.path = "/sys/kernel/mm/cma/*/total_pages"},
    {.path = "/sys/kernel/mm/cma/*/available_pages"},       {.path = "/proc/meminfo", .is_kept_open = true},
};
constexpr std::size_t kMeminfo = std::size(kPlan) - 1;

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

Result<void> finish_area(const Area& area, std::uint64_t page_size, Staging& staging) {
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
    return data_error(kDirectory, 0, "reports an area of more than 2^64 bytes");
  }
  type.set(Field::kFailures, area.failed);
  return {};
}

struct AllAreas {
  std::uint64_t total = 0, free = 0;  // B
};

/// The contiguous memory of a kernel that does not report areas.
std::optional<AllAreas> all_areas_of(const RawBytes& raw) {
  std::array<KeyedNumber, 2> numbers{{{.key = "CmaTotal", .value = {}}, {.key = "CmaFree", .value = {}}}};
  const std::string_view text = raw.content(kMeminfo);
  if (!text.ends_with('\n') || read_keyed_numbers(text, numbers) || !numbers[0].value || !numbers[1].value) return {};
  return AllAreas{.total = *numbers[0].value, .free = *numbers[1].value};
}

void add_all_areas(const AllAreas& areas, Staging& staging) {
  StagedType& type = staging.merge("all areas");
  type.fields = FieldMask(Field::kBytes, Field::kHeldBytes);
  type.figures[Field::kBytes] = areas.total - std::min(areas.total, areas.free);
  type.figures[Field::kHeldBytes] = areas.total;
}

/// The files of an area are contiguous.
Result<void> parse(const RawBytes& raw, Staging& staging) {
  staging.reset({}, 0);
  Area area;
  for (const RawFile& read : raw.files) {
    std::string_view file;
    const std::string_view name = component_after(read.path, kAreas, file);
    if (name.empty() || !read.has_content()) continue;
    if (name != area.name) {
      if (auto result = finish_area(area, raw.page_size, staging); !result) return result;
      area = {};
      area.name = name;
    }
    const auto number = number_of(read);
    if (!number) return data_error(read.path, 0, "expected a line with a number of at most 64 bits");
    area.take(file, *number);
  }
  if (auto result = finish_area(area, raw.page_size, staging); !result) return result;
  if (!staging.types().empty()) return {};
  const auto areas = all_areas_of(raw);
  if (!areas) return data_error(kDirectory, 0, "absent, and /proc/meminfo has no lines CmaTotal and CmaFree with a number");
  add_all_areas(*areas, staging);
  return {};
}

Result<void> check(const RawBytes& raw) {
  for (const RawFile& file : raw.files) {  // an area would be missing without a word
    if (file.planned != kMeminfo && file.state == FileState::kRefused) return system_error(file.path, EACCES);
  }
  const auto is_of_area = [](const RawFile& file) { return file.planned != kMeminfo && file.has_content(); };
  if (std::any_of(raw.files.begin(), raw.files.end(), is_of_area)) return {};
  if (const auto areas = all_areas_of(raw); areas && areas->total != 0) return {};
  return system_error(kDirectory, ENOENT, "this machine has no area of contiguous memory");
}

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
    .origin = "/sys/kernel/mm/cma, /proc/meminfo",
    .os = OperatingSystem::kLinux,
    .allocator = Allocator::kCma,
    .is_roster = true,
    .origins = kOrigins,
    .plan = kPlan,
    .notes =
        "needs no privilege; a type is an area, bytes are those held by drivers, failures are counted in pages; without "
        "CMA_SYSFS there is one type \"all areas\" from /proc/meminfo, whose bytes contain pages lent to processes",
    .steps = planned_steps<kPlan, parse, check>(),
};

}  // namespace memstat::sources::linux_cma
