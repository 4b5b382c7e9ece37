// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as /proc/allocinfo.
#include "tests/fuzz/fuzz_source.h"
#include "tests/fuzz/fuzz_target.h"

void memstat::fuzz(std::string_view bytes) {
  SourceReader reader(*find_source("linux_allocinfo"));
  reader.raw.page_size = 4096;
  reader.raw.parts[0].assign(bytes);
  fuzz_commit(reader);
  for (const StagedType& type : reader.staging.types()) {
    MEMSTAT_FUZZ_REQUIRE(!type.name.empty() && type.name.size() <= kMaxLabelBytes * 600);
    MEMSTAT_FUZZ_REQUIRE(is_valid_label_text(type.detail) && type.detail.size() <= kMaxLabelBytes * 256 + 64);
  }
}
