// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as a kernel's own file: its sections, its symbols and its version.
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "core/postmortem/freebsd/image.h"
#include "core/postmortem/kernel/kernel_file.h"
#include "tests/fuzz/fuzz_target.h"

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
