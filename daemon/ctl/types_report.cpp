// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/types_report.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <vector>

#include "daemon/ctl/cells.h"
#include "daemon/ctl/json_writer.h"
#include "daemon/ctl/type_figures.h"

namespace memstat::ctl {
namespace {

constexpr std::array kColumns{kBytesInUse, kObjectsInUse, kBytesHeld, kFreeObjects, kFailures};

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

/// Largest first; equals in a fixed order, so that two reports can be compared.
std::vector<const memory_type*> sorted(memory_type_list* list) {
  std::vector<const memory_type*> types;
  for (memory_type* type = memstat_mtl_first(list); type != nullptr; type = memstat_mtl_next(type)) types.push_back(type);
  const auto key = [](const memory_type* type) {
    return std::tuple(~figure_of(type, kBytesInUse), memstat_get_allocator(type), std::string(memstat_get_name(type)),
                      memstat_get_ordinal(type));
  };
  std::sort(types.begin(), types.end(), [&](const memory_type* a, const memory_type* b) { return key(a) < key(b); });
  return types;
}

std::vector<TableRow> types_rows(memory_type_list* list, bool is_human) {
  std::vector<TableRow> rows(1, {"ALLOCATOR", "TYPE"});
  for (const Column& column : kColumns) rows[0].emplace_back(column.title);
  rows[0].insert(rows[0].end(), {"LIMIT", "USED"});
  for (const memory_type* type : sorted(list)) {
    TableRow& row =
        rows.emplace_back(TableRow{allocator_name(memstat_get_allocator(type)), printable(memstat_get_name(type))});
    for (const Column& column : kColumns) row.push_back(cell(type, column, is_human));
    const NearestLimit limit = nearest_limit(type);
    row.push_back(limit.column != nullptr ? cell(type, *limit.column, is_human) : "-");
    row.push_back(limit.used ? percent(*limit.used) : "-");
  }
  return rows;
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

std::string types_text(memory_type_list* list, bool is_human) { return table_text(types_rows(list, is_human), 2); }

std::string types_csv(memory_type_list* list) { return table_csv(types_rows(list, false)); }

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
