// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/types_report.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <tuple>
#include <vector>

#include "daemon/ctl/cells.h"
#include "daemon/ctl/humanize.h"
#include "daemon/ctl/json_writer.h"

namespace memstat::ctl {
namespace {

struct Column {
  const char* title;
  const char* key;
  std::uint32_t figure;  // MEMSTAT_FIGURE_*
  std::uint64_t (*get)(const memory_type*);
  bool is_bytes;
};

constexpr std::array<Column, 5> kColumns{{
    {"BYTES", "bytes", MEMSTAT_FIGURE_BYTES, memstat_get_bytes, true},
    {"OBJECTS", "objects", MEMSTAT_FIGURE_COUNT, memstat_get_count, false},
    {"HELD", "held", MEMSTAT_FIGURE_HELD_BYTES, memstat_get_held_bytes, true},
    {"FREE", "free", MEMSTAT_FIGURE_FREE, memstat_get_free, false},
    {"FAILURES", "failures", MEMSTAT_FIGURE_FAILURES, memstat_get_failures, false},
}};
constexpr Column kObjectLimit{"LIMIT", "limit", MEMSTAT_FIGURE_COUNTLIMIT, memstat_get_countlimit, false};
constexpr Column kByteLimit{"LIMIT", "byte_limit", MEMSTAT_FIGURE_BYTESLIMIT, memstat_get_byteslimit, true};

struct NodeColumn {
  const char* key;
  std::uint32_t figure;  // MEMSTAT_NODE_FIGURE_*
  std::uint64_t (*get)(const memory_type*, int);
};

constexpr std::array<NodeColumn, 4> kNodeColumns{{
    {"held", MEMSTAT_NODE_FIGURE_HELD_BYTES, memstat_get_pernode_held_bytes},
    {"objects", MEMSTAT_NODE_FIGURE_COUNT, memstat_get_pernode_count},
    {"free", MEMSTAT_NODE_FIGURE_FREE, memstat_get_pernode_free},
    {"slots", MEMSTAT_NODE_FIGURE_SLOTS, memstat_get_pernode_slots},
}};

/// The type's figures on each node, where the kernel has any.
void add_nodes(JsonWriter& json, const memory_type* type) {
  if (memstat_get_node_figures(type) == 0) return;
  json.open_list("nodes");
  for (int node = 0; node < memstat_get_node_count(type); ++node) {
    json.open_object({});
    json.field("node", static_cast<std::uint64_t>(node));
    for (const NodeColumn& column : kNodeColumns) {
      if ((memstat_get_node_figures(type) & column.figure) != 0) json.field(column.key, column.get(type, node));
    }
    json.close();
  }
  json.close();
}

bool has(const memory_type* type, const Column& column) { return (memstat_get_figures(type) & column.figure) != 0; }

std::uint64_t figure_of(const memory_type* type, const Column& column) {
  const std::uint64_t value = column.get(type);
  return value >> 63U == 0 ? value : 0;
}

/// Largest first; equals in a fixed order, so that two reports can be compared.
std::vector<const memory_type*> sorted(memory_type_list* list) {
  std::vector<const memory_type*> types;
  for (memory_type* type = memstat_mtl_first(list); type != nullptr; type = memstat_mtl_next(type)) types.push_back(type);
  const auto key = [](const memory_type* type) {
    return std::tuple(~figure_of(type, kColumns[0]), memstat_get_allocator(type), std::string(memstat_get_name(type)),
                      memstat_get_ordinal(type));
  };
  std::sort(types.begin(), types.end(), [&](const memory_type* a, const memory_type* b) { return key(a) < key(b); });
  return types;
}

std::string cell(const memory_type* type, const Column& column, bool is_human) {
  if (!has(type, column)) return "-";
  const std::uint64_t value = figure_of(type, column);
  return is_human && column.is_bytes ? humanize(value, Base::k1024, true) : std::to_string(value);
}

/// The limit that will be met first, of bytes or of objects.
struct NearestLimit {
  const Column* column = nullptr;  ///< null: the type has no limit
  std::optional<double> used;      ///< 1 for all of it; nothing when what counts against it is unknown
};

NearestLimit nearest_limit(const memory_type* type) {
  const std::uint32_t figures = memstat_get_figures(type);
  const auto positive = [](std::uint64_t value) { return value >> 63U == 0 ? value : 0; };
  NearestLimit nearest;
  const auto consider = [&](const Column& limit, bool is_known, std::uint64_t amount) {
    if (!has(type, limit)) return;
    const std::uint64_t most = figure_of(type, limit);
    const std::optional<double> used =
        is_known && most != 0 ? std::optional(static_cast<double>(amount) / static_cast<double>(most)) : std::nullopt;
    if (nearest.column == nullptr || used > nearest.used) nearest = {&limit, used};
  };
  std::uint64_t objects = positive(memstat_get_count(type));
  // uma(9) counts what is in its caches, too, but not what is free in slabs.
  if (memstat_get_allocator(type) == ALLOCATOR_UMA) {
    const std::uint64_t free = positive(memstat_get_free(type));
    objects += free - std::min(free, positive(memstat_get_kegfree(type)));
  }
  consider(kObjectLimit, (figures & MEMSTAT_FIGURE_COUNT) != 0, objects);
  consider(kByteLimit, (figures & MEMSTAT_FIGURE_BYTES) != 0, figure_of(type, kColumns[0]));
  return nearest;
}

std::string percent(double part) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.0f%%", 100 * part);
  return text.data();
}

}  // namespace

std::string allocator_name(int allocator) {
  switch (allocator) {
    case ALLOCATOR_MALLOC: return "malloc";
    case ALLOCATOR_UMA: return "uma";
    case ALLOCATOR_SLAB: return "slab";
    case ALLOCATOR_VMALLOC: return "vmalloc";
    case ALLOCATOR_CALL_SITE: return "call_site";
    case ALLOCATOR_PAGE: return "page";
    case ALLOCATOR_PERCPU: return "percpu";
    case ALLOCATOR_HUGETLB: return "hugetlb";
    case ALLOCATOR_CMA: return "cma";
    case ALLOCATOR_ZSWAP: return "zswap";
    case ALLOCATOR_MEMCG: return "memcg";
    case ALLOCATOR_SOCKET: return "socket";
    case ALLOCATOR_TABLE: return "table";
    case ALLOCATOR_PROCESS: return "process";
    default: return "allocator-" + std::to_string(allocator);
  }
}

std::string types_text(memory_type_list* list, bool is_human) {
  constexpr std::size_t kNames = 2;  // the columns of text, which are on the left
  constexpr std::size_t kLimit = kNames + kColumns.size();
  constexpr std::size_t kUsed = kLimit + 1;
  using Row = std::array<std::string, kUsed + 1>;
  std::vector<Row> rows(1);
  rows[0][0] = "ALLOCATOR";
  rows[0][1] = "TYPE";
  for (std::size_t i = 0; i < kColumns.size(); ++i) rows[0][kNames + i] = kColumns[i].title;
  rows[0][kLimit] = "LIMIT";
  rows[0][kUsed] = "USED";
  for (const memory_type* type : sorted(list)) {
    Row& row = rows.emplace_back();
    row[0] = allocator_name(memstat_get_allocator(type));
    row[1] = printable(memstat_get_name(type));
    for (std::size_t i = 0; i < kColumns.size(); ++i) row[kNames + i] = cell(type, kColumns[i], is_human);
    const NearestLimit limit = nearest_limit(type);
    row[kLimit] = limit.column != nullptr ? cell(type, *limit.column, is_human) : "-";
    row[kUsed] = limit.used ? percent(*limit.used) : "-";
  }
  std::array<std::size_t, std::tuple_size_v<Row>> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += i == 0 ? "" : "  ";
      text += i < kNames ? to_left(row[i], widths[i]) : to_right(row[i], widths[i]);
    }
    text += '\n';
  }
  return text;
}

std::string types_json(memory_type_list* list) {
  JsonWriter json("1");
  json.open_list("types");
  for (const memory_type* type : sorted(list)) {
    json.open_object({});
    json.field("allocator", allocator_name(memstat_get_allocator(type)));
    json.field("type", memstat_get_name(type));
    if (const char* detail = memstat_get_detail(type); *detail != '\0') json.field("detail", detail);
    for (const Column& column : kColumns) {
      if (has(type, column)) json.field(column.key, figure_of(type, column));
    }
    for (const Column& column : {kObjectLimit, kByteLimit}) {
      if (has(type, column)) json.field(column.key, figure_of(type, column));
    }
    if (const NearestLimit limit = nearest_limit(type); limit.used) json.field("limit_used", percent(*limit.used));
    add_nodes(json, type);
    json.close();
  }
  return json.finish();
}

}  // namespace memstat::ctl
