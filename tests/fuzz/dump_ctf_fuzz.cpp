// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as the CTF of a FreeBSD kernel's file, and the requests that a dump's reader makes to it.

#include "core/postmortem/kernel/btf.h"
#include "tests/fuzz/fuzz_target.h"

void memstat::fuzz(std::string_view bytes) {
  const auto types = postmortem::parse_ctf(bytes, "fuzzed");
  if (!types) {
    MEMSTAT_FUZZ_REQUIRE(!types.error().detail.empty());
    return;
  }
  for (const char* name : {"uma_zone", "uma_keg", "malloc_type", "vmmeter", ""}) {
    const auto type = types->find_struct(name);
    for (const char* member : {"uz_link.le_next", "uk_domain", "ks_mti.mti_stats", "v_wire_count"}) {
      const auto found = type ? types->find_member(*type, member) : std::nullopt;
      if (!found) continue;
      static_cast<void>(types->size_of(found->type));
      if (const auto array = types->array_of(found->type)) static_cast<void>(types->size_of(array->element));
      static_cast<void>(types->target_of(found->type));
    }
  }
}
