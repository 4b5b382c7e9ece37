// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as a kernel's BTF, and the requests that a dump's reader makes to it.
#include "core/postmortem/kernel/btf.h"
#include "tests/fuzz/fuzz_target.h"

void memstat::fuzz(std::string_view bytes) {
  const auto types = postmortem::Btf::parse(std::string(bytes));
  if (!types) {
    MEMSTAT_FUZZ_REQUIRE(types.error().offset.has_value() && *types.error().offset <= bytes.size() &&
                         !types.error().detail.empty());
    return;
  }
  MEMSTAT_FUZZ_REQUIRE(types->type_count() <= bytes.size());
  for (const char* name : {"kmem_cache", "kmem_cache_node", "slab", "page", ""}) {
    const auto type = types->find_struct(name);
    for (const char* member : {"list.next", "inuse", "node", "per_node", "nr_slabs"}) {
      const auto found = type ? types->find_member(*type, member) : std::nullopt;
      if (!found) continue;
      static_cast<void>(types->size_of(found->type));
      if (const auto array = types->array_of(found->type)) static_cast<void>(types->find_member(array->element, "node"));
      static_cast<void>(types->target_of(found->type));
    }
  }
  static_cast<void>(types->enumerator("NR_FREE_PAGES"));
}
