// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as /proc/vmstat, and as /proc/pressure/memory beside a good one.
#include "tests/fuzz/fuzz_source.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace memstat;
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  for (const std::size_t part : {0U, 1U}) {
    SourceReader reader(*find_source("linux_oom"));
    reader.raw.parts[0].assign("allocstall_normal 1\noom_kill 2\n");
    reader.raw.parts[part].assign(bytes);
    fuzz_commit(reader);
  }
  return 0;
}
