// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/source/type_row.h"

namespace memstat::ctl {
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
    case ALLOCATOR_KMALLOC_SITE: return "kmalloc_site";
    default: return "allocator-" + std::to_string(allocator);
  }
}

int allocator_number(std::string_view name) {
  for (int number = ALLOCATOR_MALLOC; number < ALLOCATOR_ANY; ++number) {
    const std::string known = allocator_name(number);
    if (known == name) return number;
    if (known.starts_with("allocator-")) break;
  }
  return ALLOCATOR_ANY;
}

TypeRow row_of(const memory_type* type) {
  const auto figure = [type](std::uint64_t (*get)(const memory_type*)) {
    const std::uint64_t value = get(type);
    return value >> 63U == 0 ? value : 0;
  };
  TypeRow row;
  row.allocator_number = memstat_get_allocator(type);
  row.allocator = allocator_name(row.allocator_number);
  row.name = memstat_get_name(type);
  row.ordinal = memstat_get_ordinal(type);
  row.detail = memstat_get_detail(type);
  row.figures = memstat_get_figures(type);
  row.bytes = figure(memstat_get_bytes);
  row.objects = figure(memstat_get_count);
  row.held = figure(memstat_get_held_bytes);
  row.free = figure(memstat_get_free);
  row.keg_free = figure(memstat_get_kegfree);
  row.failures = figure(memstat_get_failures);
  row.limit_objects = figure(memstat_get_countlimit);
  row.limit_bytes = figure(memstat_get_byteslimit);
  row.is_container = memstat_is_container(type) != 0;
  row.fails_routinely = memstat_fails_routinely(type) != 0;
  if (const std::uint32_t figures = memstat_get_node_figures(type); figures != 0) {
    for (int node = 0; node < memstat_get_node_count(type); ++node) {
      row.nodes.push_back({.number = node,
                           .figures = figures,
                           .held = memstat_get_pernode_held_bytes(type, node),
                           .objects = memstat_get_pernode_count(type, node),
                           .free = memstat_get_pernode_free(type, node),
                           .slots = memstat_get_pernode_slots(type, node)});
    }
  }
  return row;
}

std::vector<TypeRow> rows_of(memory_type_list* list) {
  std::vector<TypeRow> rows;
  for (memory_type* type = memstat_mtl_first(list); type != nullptr; type = memstat_mtl_next(type)) {
    if (memstat_is_present(type) != 0) rows.push_back(row_of(type));
  }
  return rows;
}

}  // namespace memstat::ctl
