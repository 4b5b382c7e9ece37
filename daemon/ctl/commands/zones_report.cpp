// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/zones_report.h"

#include <vector>

#include "daemon/ctl/output/cells.h"
#include "daemon/ctl/output/json_writer.h"

namespace memstat::ctl {
namespace {

bool has_cross_domain(Format format) { return format == Format::kFreeBsd15 || format == Format::kFreeBsd13; }

/// Each release's own; FreeBSD 13 forgot the blank before SLEEP, 10 and 12 have an empty line after it.
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
  constexpr std::size_t kName = 19;  // and the colon
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

}  // namespace

std::string zones_text(memory_type_list* list, Format format) {
  std::string text = zones_header(format);
  for (memory_type* zone = memstat_mtl_first(list); zone != nullptr; zone = memstat_mtl_next(zone))
    text += row(zone, format);
  if (!has_cross_domain(format)) text += "\n";
  return text;
}

std::string zones_csv(memory_type_list* list) {
  std::vector<TableRow> rows(1, {"ITEM", "SIZE", "LIMIT", "USED", "FREE", "REQUESTS", "FAILURES", "SLEEPS", "XDOMAIN"});
  for (memory_type* zone = memstat_mtl_first(list); zone != nullptr; zone = memstat_mtl_next(zone)) {
    TableRow& row = rows.emplace_back(TableRow{printable(memstat_get_name(zone))});
    for (const std::uint64_t value :
         {memstat_get_size(zone), memstat_get_countlimit(zone), memstat_get_count(zone), memstat_get_free(zone),
          memstat_get_numallocs(zone), memstat_get_failures(zone), memstat_get_sleeps(zone), memstat_get_xdomain(zone)}) {
      row.push_back(std::to_string(value));
    }
  }
  return table_csv(rows);
}

std::string zones_json(memory_type_list* list, Format format) {
  const bool is_new = format == Format::kFreeBsd15;
  JsonWriter json(is_new ? "2" : "1");
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

}  // namespace memstat::ctl
