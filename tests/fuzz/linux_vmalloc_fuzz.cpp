// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as /proc/vmallocinfo.
#include "tests/fuzz/fuzz_source.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace memstat;
  SourceReader reader(*find_source("linux_vmalloc"));
  reader.raw.page_size = 4096;
  reader.raw.parts[0].assign({reinterpret_cast<const char*>(data), size});
  fuzz_commit(reader);
  // No address: a word that begins with one is not a name.
  for (const StagedType& type : reader.staging.types()) MEMSTAT_FUZZ_REQUIRE(!type.name.starts_with("0x"));
  return 0;
}
