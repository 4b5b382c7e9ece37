// SPDX-License-Identifier: BSD-2-Clause
// The output of vmstat -m: the malloc(9) types that were ever used, in list order, oldest first.
#include <unistd.h>

#include <array>

#include "daemon/ctl/commands/kernel_list.h"
#include "daemon/ctl/commands/shared_options.h"

namespace memstat::ctl {
namespace {

constexpr std::array<ReportColumn, 5> kMallocColumns{{{.key = "type", .title = ""},
                                                      {.key = "objects", .title = "", .unit = Unit::kNumber},
                                                      {.key = "bytes", .title = "", .unit = Unit::kBytes},
                                                      {.key = "requests", .title = "", .unit = Unit::kNumber},
                                                      {.key = "sizes_bytes", .title = ""}}};

bool is_shown(const memory_type* type) { return memstat_get_numallocs(type) != 0 || memstat_get_count(type) != 0; }

bool has_high_use(Format format) { return format == Format::kFreeBsd12 || format == Format::kFreeBsd10; }

/// Modulo 2^64, as in vmstat: a racy value just below 2^64 becomes 0 KiB.
std::uint64_t kib(std::uint64_t bytes) { return (bytes + 1023) / 1024; }

/// Calls `use` with each size class that served the type, ascending.
template <typename Use>
void for_each_size(const memory_type* type, Use use) {
  for (std::size_t i = 0; i < memstat_malloc_zone_get_count(); ++i) {
    if (memstat_malloc_zone_used(type, i) != 0) use(memstat_malloc_zone_get_size(i));
  }
}

std::string header(Format format) {
  if (format == Format::kFreeBsd15) return to_right("Type", 16) + "  Use Memory Req Size(s)\n";
  return to_right("Type", 13) + " InUse MemUse" + (has_high_use(format) ? " HighUse" : "") + " Requests  Size(s)\n";
}

std::string row(const memory_type* type, Format format, bool is_human) {
  const std::size_t width = format == Format::kFreeBsd15 ? 16 : 13;
  const std::string name = column_name(printable(memstat_get_name(type)), width);
  const std::uint64_t count = memstat_get_count(type);
  const std::uint64_t bytes = memstat_get_bytes(type);
  const std::uint64_t requests = memstat_get_numallocs(type);
  if (format != Format::kFreeBsd15) {
    return to_right(name, width) + " " + to_right(count, 5) + " " + to_right(kib(bytes), 5) + "K " +
           (has_high_use(format) ? "      - " : "") + to_right(requests, 8) + "  ";
  }
  const auto figure = [is_human](std::uint64_t value, Base base) {
    return is_human ? humanize(value, base, true) : std::to_string(value);
  };
  return to_right(name, width) + " " + to_right(figure(count, Base::k1000), 4) + " " +
         to_right(figure(bytes, Base::k1024), 5) + " " + to_right(figure(requests, Base::k1000), 4) + " ";
}

std::string malloc_text(memory_type_list* list, Format format, bool is_human) {
  const bool is_size_human = is_human && format == Format::kFreeBsd15;
  std::string text = header(format);
  for (memory_type* type = memstat_mtl_first(list); type != nullptr; type = memstat_mtl_next(type)) {
    if (!is_shown(type)) continue;
    text += row(type, format, is_human);
    const char* separator = "";
    for_each_size(type, [&](std::uint64_t size) {
      text += separator;
      text += is_size_human ? humanize(size, Base::k1024, false) : std::to_string(size);
      separator = ",";
    });
    text += '\n';
  }
  return text;
}

ReportTable malloc_table(memory_type_list* list) {
  ReportTable table("types", kMallocColumns);
  for (memory_type* type = memstat_mtl_first(list); type != nullptr; type = memstat_mtl_next(type)) {
    if (!is_shown(type)) continue;
    std::string sizes;
    for_each_size(type, [&](std::uint64_t size) { sizes += (sizes.empty() ? "" : " ") + std::to_string(size); });
    table.add({printable(memstat_get_name(type)), memstat_get_count(type), memstat_get_bytes(type),
               memstat_get_numallocs(type), sizes});
  }
  return table;
}

std::string malloc_json(memory_type_list* list, Format format, bool is_compact) {
  const bool is_new = format == Format::kFreeBsd15;
  JsonWriter json(is_new ? "2" : "1", is_compact);
  if (is_new) json.open_object("vmstat");
  json.open_object("malloc-statistics");
  json.open_list("memory");
  for (memory_type* type = memstat_mtl_first(list); type != nullptr; type = memstat_mtl_next(type)) {
    if (!is_shown(type)) continue;
    json.open_object({});
    json.field("type", memstat_get_name(type));
    json.field("in-use", memstat_get_count(type));
    json.field("memory-use", is_new ? memstat_get_bytes(type) : kib(memstat_get_bytes(type)));
    if (has_high_use(format)) json.field("high-use", "-");
    json.field("requests", memstat_get_numallocs(type));
    json.open_list("size");
    for_each_size(type, [&](std::uint64_t size) { json.member(size); });
    json.close();
    json.close();
  }
  return json.finish();
}

constexpr std::array kMallocOptions{kKernelOption, kFromOption,  kJsonOption,   kCsvOption,
                                    kFormatOption, kHumanOption, kNoHumanOption};

Report run_malloc(const CommandLine& options) {
  const KernelList list;
  if (!list.reads(options)) return list.failure();
  if (memstat_sysctl_malloc(list.get(), 0) != 0) return list.failure(only_freebsd(options));
  const bool is_human = options.human.value_or(::isatty(STDOUT_FILENO) == 1);
  Report report{.notes = list.notes()};
  switch (options.view.layout) {
    case Layout::kCsv: report.output = malloc_table(list.get()).print(options.view); break;
    case Layout::kJson: report.output = malloc_json(list.get(), options.format, options.view.is_compact); break;
    case Layout::kText: report.output = malloc_text(list.get(), options.format, is_human); break;
  }
  return report;
}

}  // namespace

const Command kMallocCommand{"malloc",
                             Group::kFreeBsd,
                             "The malloc(9) types of a FreeBSD kernel, as vmstat -m prints them",
                             "memstatctl malloc --from bug.tar.zst\n"
                             "memstatctl malloc --json --format freebsd-13 --from bug.tar.zst@0",
                             kMallocOptions,
                             run_malloc};

}  // namespace memstat::ctl
