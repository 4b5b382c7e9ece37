// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as a kernel's own file: its sections, its symbols and its version.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "core/postmortem/freebsd/image.h"
#include "core/postmortem/kernel/kernel_file.h"
#include "tests/fuzz/fuzz_source.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/fake_freebsd_dump.h"
#include "tests/support/fixtures.h"

extern "C" int LLVMFuzzerInitialize(int* /*count*/, char*** /*arguments*/) {
  const char* const directory = std::getenv("MEMSTAT_SEEDS");
  if (directory == nullptr) return 0;
  memstat::write_text(std::string(directory) + "/kernel", memstat::FakeFreeBsdDump(memstat::small_freebsd()).kernel());
  std::exit(0);
}

void memstat::fuzz(std::string_view bytes) {
  const UniqueFd file(::memfd_create("fuzzed", MFD_CLOEXEC));
  MEMSTAT_FUZZ_REQUIRE(::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  const auto kernel =
      postmortem::KernelFile::open("/proc/self/fd/" + std::to_string(file.get()), postmortem::symbols_of_freebsd());
  if (!kernel) {
    MEMSTAT_FUZZ_REQUIRE(!kernel.error().detail.empty() || kernel.error().system_errno != 0);
    return;
  }
  MEMSTAT_FUZZ_REQUIRE(kernel->version().size() <= 512);
  static_cast<void>(kernel->symbol("uma_kegs"));
}
