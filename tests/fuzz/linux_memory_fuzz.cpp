// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as /proc/meminfo, and as every other file of the account with a good meminfo.
#include "core/collect/file_bundle.h"
#include "tests/fuzz/fuzz_source.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

void parse(memstat::SourceReader& reader) {
  using namespace memstat;
  MemoryTypeList list;
  const Result<void> result = commit_source(reader, list, 1);
  if (!result) {
    require_typed(result.error(), reader);
    return;
  }
  for (const StagedStatistics::Entry& entry : reader.staging.statistics().entries()) {
    const std::string_view label = reader.staging.statistics().label(entry, 0);
    MEMSTAT_FUZZ_REQUIRE(is_valid_label_text(label));
  }
}

}  // namespace

void memstat::fuzz(std::string_view bytes) {
  SourceReader reader(*find_source("linux_memory"));
  reader.raw.page_size = 4096;
  reader.raw.parts[0].assign(bytes);
  parse(reader);
  reader.raw.parts[0].assign("MemTotal: 900 kB\nMemFree: 1 kB\nCmaTotal: 8 kB\nZswap: 4 kB\nBalloon: 3 kB\nCached: 9 kB\n");
  reader.raw.parts[1].assign(bytes);
  reader.raw.parts[2].assign(bytes);
  parse(reader);
  Buffer scratch;
  FileBundleWriter bundle(reader.raw.parts[2], scratch);
  for (const char* path : {"/proc/zoneinfo", "/sys/kernel/mm/cma/a/total_pages", "/sys/kernel/mm/cma/a/available_pages",
                           "/sys/module/zswap/parameters/zpool", "/sys/kernel/debug/zswap/pool_total_size",
                           "/proc/net/sockstat", "/sys/kernel/tracing/buffer_total_size_kb"}) {
    static_cast<void>(bundle.add(path, bytes));
  }
  parse(reader);
}
