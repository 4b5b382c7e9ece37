// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as /proc/slabinfo, read through a view, so that the table of object sizes is also made from
// them, and without that table.
#include "tests/fuzz/fuzz_source.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/prepared_kernel_view.h"

void memstat::fuzz(std::string_view text) {
  PreparedKernelView view(OperatingSystem::kLinux);
  view.contents["/proc/slabinfo"] = {std::string(text)};
  view.contents["/sys/kernel/slab/dentry/object_size"] = {"192\n"};
  SourceReader reader(*find_source("linux_slabinfo"));
  MemoryTypeList list;
  for (std::uint64_t generation = 1; generation <= 3; ++generation) {
    MEMSTAT_FUZZ_REQUIRE(read_source(reader, view).has_value());
    const Result<void> committed = commit_source(reader, list, generation);
    if (!committed) require_typed(committed.error(), reader);
    require_sane(list, *reader.descriptor);
  }
  fuzz_commit(reader);

  SourceReader other(*find_source("linux_slabinfo"));
  other.raw.page_size = 4096;
  other.raw.parts[0].assign(text);
  fuzz_commit(other);
}
