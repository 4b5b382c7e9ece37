// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as /proc/allocinfo.
#include "tests/fuzz/fuzz_source.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace memstat;
  SourceReader reader(*find_source("linux_allocinfo"));
  reader.raw.page_size = 4096;
  reader.raw.parts[0].assign({reinterpret_cast<const char*>(data), size});
  fuzz_commit(reader);
  for (const StagedType& type : reader.staging.types()) {
    MEMSTAT_FUZZ_REQUIRE(!type.name.empty() && type.name.size() <= kMaxLabelBytes * 600);
    MEMSTAT_FUZZ_REQUIRE(is_valid_label_text(type.detail) && type.detail.size() <= kMaxLabelBytes * 256 + 64);
  }
  return 0;
}
