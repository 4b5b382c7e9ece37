// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as the CTF of a FreeBSD kernel's file, and the requests that a dump's reader makes to it.
#include <cstdlib>
#include <string>

#include "core/postmortem/kernel/btf.h"
#include "tests/fuzz/fuzz_source.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/fake_freebsd_dump.h"
#include "tests/support/fixtures.h"

extern "C" int LLVMFuzzerInitialize(int* /*count*/, char*** /*arguments*/) {
  using namespace memstat;
  const char* const directory = std::getenv("MEMSTAT_SEEDS");
  if (directory == nullptr) return 0;
  for (const unsigned release : {13U, 15U}) {
    for (const bool is_packed : {false, true}) {
      FakeFreeBsdOptions options = small_freebsd();
      options.release = release;
      options.has_packed_types = is_packed;
      const std::string name = std::to_string(release) + (is_packed ? "packed" : "plain");
      write_text(std::string(directory) + "/types" + name, FakeFreeBsdDump(options).types());
    }
  }
  std::exit(0);
}

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
