// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as a compressed dump, of which the first pages are read.
#include <sys/mman.h>
#include <unistd.h>

#include "core/postmortem/container/dump_file.h"
#include "tests/fuzz/fuzz_target.h"

void memstat::fuzz(std::string_view bytes) {
  UniqueFd fd(::memfd_create("fuzzed", MFD_CLOEXEC));
  MEMSTAT_FUZZ_REQUIRE(fd && ::write(fd.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  auto file = postmortem::BlockFile::adopt("fuzzed", std::move(fd));
  MEMSTAT_FUZZ_REQUIRE(file);
  auto memory = postmortem::open_kdump_file(*std::move(file));
  if (!memory) {
    MEMSTAT_FUZZ_REQUIRE(!memory.error().detail.empty());
    return;
  }
  char page_bytes[64];
  for (std::uint64_t page = 0; page < 64; ++page) {
    for (const std::uint64_t base : {std::uint64_t{0}, std::uint64_t{0x1000000}}) {
      const auto read = (*memory)->read(base + page * 4096 + 4090, page_bytes, sizeof page_bytes);
      MEMSTAT_FUZZ_REQUIRE(read || !read.error().detail.empty());
    }
  }
}
