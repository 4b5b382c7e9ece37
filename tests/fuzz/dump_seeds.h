// SPDX-License-Identifier: BSD-2-Clause
// Seeds of the fuzzers of crash dumps: parts of a made-up kernel.
//
// MEMSTAT_SEEDS=DIRECTORY in the environment: writes them into it, and ends.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/support/fake_linux_dump.h"
#include "tests/support/fixtures.h"

namespace memstat {

/// Called by LLVMFuzzerInitialize: `part` takes the seed out of a dump.
inline void write_dump_seeds(std::string (*part)(const FakeLinuxDump&)) {
  const char* const directory = std::getenv("MEMSTAT_SEEDS");
  if (directory == nullptr) return;
  for (const SlabKernel slabs : {SlabKernel::kPages, SlabKernel::kSlabs, SlabKernel::kSheaves}) {
    const std::string name = std::string(directory) + "/kernel" + std::to_string(static_cast<int>(slabs));
    write_text(name, part(FakeLinuxDump(small_kernel(slabs))));
  }
  std::exit(0);
}

}  // namespace memstat
