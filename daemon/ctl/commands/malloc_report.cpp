// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/malloc_report.h"

#include <vector>

#include "daemon/ctl/output/cells.h"
#include "daemon/ctl/output/humanize.h"
#include "daemon/ctl/output/json_writer.h"

namespace memstat::ctl {
namespace {

bool is_shown(const memory_type* type) { return memstat_get_numallocs(type) != 0 || memstat_get_count(type) != 0; }

bool has_high_use(Format format) { return format == Format::kFreeBsd12 || format == Format::kFreeBsd10; }

/// Modulo 2^64, as upstream: a racy sample just below 2^64 is 0 KiB.
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

}  // namespace

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

std::string malloc_csv(memory_type_list* list) {
  std::vector<TableRow> rows(1, {"TYPE", "OBJECTS", "BYTES", "REQUESTS", "SIZES"});
  for (memory_type* type = memstat_mtl_first(list); type != nullptr; type = memstat_mtl_next(type)) {
    if (!is_shown(type)) continue;
    std::string sizes;
    for_each_size(type, [&](std::uint64_t size) { sizes += (sizes.empty() ? "" : " ") + std::to_string(size); });
    rows.push_back({printable(memstat_get_name(type)), std::to_string(memstat_get_count(type)),
                    std::to_string(memstat_get_bytes(type)), std::to_string(memstat_get_numallocs(type)), sizes});
  }
  return table_csv(rows);
}

std::string malloc_json(memory_type_list* list, Format format) {
  const bool is_new = format == Format::kFreeBsd15;
  JsonWriter json(is_new ? "2" : "1");
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

}  // namespace memstat::ctl
