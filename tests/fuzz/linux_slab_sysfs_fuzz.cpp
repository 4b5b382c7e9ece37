// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as /proc/slabinfo and as the files of one cache's directory, read through a view; and as the
// result of a read.
#include "core/collect/file_bundle.h"
#include "tests/fuzz/fuzz_source.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/slab_kernel.h"

void memstat::fuzz(std::string_view text) {
  const std::string own(text.substr(0, text.find('\n')));

  SlabKernel kernel;
  kernel.slabinfo = text;
  SlabKernel::Files files;
  for (const char* file : {"slabs", "total_objects", "partial", "cpu_slabs", "objects", "alloc_fastpath", "alloc_slowpath",
                           "free_fastpath", "free_slowpath"}) {
    files[file] = own;
  }
  for (const char* cache : {"dentry", "kmalloc-64", "a"}) kernel.add_directory(cache, files);
  kernel.list("dentry");
  SourceReader reader(*find_source("linux_slab_sysfs"));
  reader.state->options = {{.number = text.size() % 2}, {.number = 0}};
  if (open_source(reader, kernel)) {
    for (int read = 0; read < 3; ++read) {
      if (read_source(reader, kernel)) fuzz_contribution(reader);
    }
  }

  SourceReader other(*find_source("linux_slab_sysfs"));
  other.raw.page_size = 4096;
  other.raw.cpu_count = 1 + static_cast<std::uint32_t>(text.size() % 5);
  other.raw.parts[0].assign(text);
  fuzz_contribution(other);
  // The same text as each file of a cache, in a complete bundle.
  Buffer scratch;
  FileBundleWriter bundle(other.raw.parts[0], scratch);
  bool is_added = bundle.add({}, own).has_value() && bundle.add("order", "3\n").has_value();
  for (const auto& [file, content] : files) is_added = is_added && bundle.add(file, text).has_value();
  MEMSTAT_FUZZ_REQUIRE(is_added && bundle.add("end", {}).has_value());
  fuzz_contribution(other);
}
