// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as /proc/meminfo, and as each small file beside a good one.
#include "core/kernel/file_bundle.h"
#include "tests/fuzz/fuzz_source.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace memstat;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  SourceReader reader(*find_source("linux_zswap"));
  reader.raw.page_size = 4096;
  reader.raw.parts[0].assign(bytes);
  fuzz_commit(reader);
  reader.raw.parts[0].assign("MemTotal: 900 kB\nZswap: 8 kB\n");
  reader.raw.parts[1].assign(bytes);
  fuzz_commit(reader);
  Buffer scratch;
  FileBundleWriter bundle(reader.raw.parts[1], scratch);
  for (const char* path : {"/sys/module/zswap/parameters/max_pool_percent", "/sys/kernel/debug/zswap/pool_total_size",
                           "/sys/kernel/debug/zswap/stored_pages", "/sys/kernel/debug/zswap/pool_limit_hit"}) {
    static_cast<void>(bundle.add(path, bytes));
  }
  fuzz_commit(reader);
  return 0;
}
