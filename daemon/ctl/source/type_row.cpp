// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/source/type_row.h"

#include "core/base/text.h"

namespace memstat::ctl {
std::string other_names(const TypeRow& type, std::string_view last) {
  return join_words(std::vector<std::string_view>(type.also.begin(), type.also.end()), last);
}

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

}  // namespace memstat::ctl
