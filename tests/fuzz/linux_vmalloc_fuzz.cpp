// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as /proc/vmallocinfo.
#include "tests/fuzz/fuzz_source.h"
#include "tests/fuzz/fuzz_target.h"

void memstat::fuzz(std::string_view bytes) {
  SourceReader reader(*find_source("linux_vmalloc"));
  reader.raw.page_size = 4096;
  reader.raw.parts[0].assign(bytes);
  fuzz_commit(reader);
  // No address: a word that begins with one is not a name.
  for (const StagedType& type : reader.staging.types()) MEMSTAT_FUZZ_REQUIRE(!type.name.starts_with("0x"));
}
