// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as /proc/meminfo, and as percpu_stats beside a good one.
#include "tests/fuzz/fuzz_source.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace memstat;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  SourceReader reader(*find_source("linux_percpu"));
  reader.raw.page_size = 4096;
  reader.raw.parts[0].assign(bytes);
  fuzz_commit(reader);
  reader.raw.parts[0].assign("Percpu: 900 kB\n");
  reader.raw.parts[1].assign(bytes);
  fuzz_commit(reader);
  return 0;
}
