// SPDX-License-Identifier: BSD-2-Clause
// The output of vmstat -z: every uma(9) zone, in list order.
#include <array>

#include "daemon/ctl/commands/kernel_list.h"
#include "daemon/ctl/commands/shared_options.h"

namespace memstat::ctl {
namespace {

constexpr std::array<ReportColumn, 9> kZonesColumns{{{.key = "item", .title = ""},
                                                     {.key = "size_bytes", .title = "", .unit = Unit::kNumber},
                                                     {.key = "limit_objects", .title = "", .unit = Unit::kNumber},
                                                     {.key = "used_objects", .title = "", .unit = Unit::kNumber},
                                                     {.key = "free_objects", .title = "", .unit = Unit::kNumber},
                                                     {.key = "requests", .title = "", .unit = Unit::kNumber},
                                                     {.key = "failures", .title = "", .unit = Unit::kNumber},
                                                     {.key = "sleeps", .title = "", .unit = Unit::kNumber},
                                                     {.key = "xdomain", .title = "", .unit = Unit::kNumber}}};

bool has_cross_domain(Format format) { return format == Format::kFreeBsd15 || format == Format::kFreeBsd13; }

/// The header of each release. FreeBSD 13 lacks the blank before SLEEP; 10 and 12 have an empty line after it.
const char* zones_header(Format format) {
  switch (format) {
    case Format::kFreeBsd15: return "ITEM                   SIZE   LIMIT     USED     FREE      REQ FAIL SLEEP XDOM\n";
    case Format::kFreeBsd13: return "ITEM                   SIZE  LIMIT     USED     FREE      REQ     FAILSLEEP XDOMAIN\n";
    case Format::kFreeBsd12:
    case Format::kFreeBsd10: break;
  }
  return "ITEM                   SIZE  LIMIT     USED     FREE      REQ FAIL SLEEP\n\n";
}

std::string row(const memory_type* zone, Format format) {
  const bool is_new = format == Format::kFreeBsd15;
  constexpr std::size_t kName = 19;  // including the colon
  std::string text = column_name(printable(memstat_get_name(zone)), kName) + ":";
  if (is_new) {
    constexpr std::size_t kSizeEnds = 27;
    const std::size_t used = width_of(text);
    text += to_right(memstat_get_size(zone), used < kSizeEnds ? kSizeEnds - used : 1) + "," +
            to_right(memstat_get_countlimit(zone), 7);
  } else {
    text = to_left(text, 20) + " " + to_right(memstat_get_size(zone), 6) + ", " + to_right(memstat_get_countlimit(zone), 6);
  }
  text += "," + to_right(memstat_get_count(zone), 8) + "," + to_right(memstat_get_free(zone), 8) + "," +
          to_right(memstat_get_numallocs(zone), 8) + "," + to_right(memstat_get_failures(zone), 4) + "," +
          to_right(memstat_get_sleeps(zone), 4);
  if (has_cross_domain(format)) text += "," + to_right(memstat_get_xdomain(zone), 4);
  return text + "\n";
}

std::string zones_text(memory_type_list* list, Format format) {
  std::string text = zones_header(format);
  for (memory_type* zone = memstat_mtl_first(list); zone != nullptr; zone = memstat_mtl_next(zone))
    text += row(zone, format);
  if (!has_cross_domain(format)) text += "\n";
  return text;
}

ReportTable zones_table(memory_type_list* list) {
  ReportTable table("zones", kZonesColumns);
  for (memory_type* zone = memstat_mtl_first(list); zone != nullptr; zone = memstat_mtl_next(zone)) {
    table.add({printable(memstat_get_name(zone)), memstat_get_size(zone), memstat_get_countlimit(zone),
               memstat_get_count(zone), memstat_get_free(zone), memstat_get_numallocs(zone), memstat_get_failures(zone),
               memstat_get_sleeps(zone), memstat_get_xdomain(zone)});
  }
  return table;
}

std::string zones_json(memory_type_list* list, Format format, bool is_compact) {
  const bool is_new = format == Format::kFreeBsd15;
  JsonWriter json(is_new ? "2" : "1", is_compact);
  if (is_new) json.open_object("vmstat");
  json.open_object("memory-zone-statistics");
  json.open_list("zone");
  for (memory_type* zone = memstat_mtl_first(list); zone != nullptr; zone = memstat_mtl_next(zone)) {
    json.open_object({});
    json.field("name", memstat_get_name(zone));
    json.field("size", memstat_get_size(zone));
    json.field("limit", memstat_get_countlimit(zone));
    json.field("used", memstat_get_count(zone));
    json.field("free", memstat_get_free(zone));
    json.field("requests", memstat_get_numallocs(zone));
    json.field("fail", memstat_get_failures(zone));
    json.field("sleep", memstat_get_sleeps(zone));
    if (has_cross_domain(format)) json.field("xdomain", memstat_get_xdomain(zone));
    json.close();
  }
  return json.finish();
}

constexpr std::array kZonesOptions{kKernelOption, kFromOption, kJsonOption, kCsvOption, kFormatOption};

Report run_zones(const CommandLine& options) {
  const KernelList list;
  if (!list.reads(options)) return list.failure();
  if (memstat_sysctl_uma(list.get(), 0) != 0) return list.failure(only_freebsd(options));
  Report report{.notes = list.notes()};
  switch (options.view.layout) {
    case Layout::kCsv: report.output = zones_table(list.get()).print(options.view); break;
    case Layout::kJson: report.output = zones_json(list.get(), options.format, options.view.is_compact); break;
    case Layout::kText: report.output = zones_text(list.get(), options.format); break;
  }
  return report;
}

}  // namespace

const Command kZonesCommand{"zones",
                            Group::kFreeBsd,
                            "The uma(9) zones of a FreeBSD kernel, as vmstat -z prints them",
                            "memstatctl zones --from bug.tar.zst\n"
                            "memstatctl zones --csv --from bug.tar.zst@0",
                            kZonesOptions,
                            run_zones};

}  // namespace memstat::ctl
