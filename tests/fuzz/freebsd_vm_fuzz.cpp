// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as the sysctls that source freebsd_vm reads.
#include "tests/fuzz/fuzz_bundle.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  memstat::fuzz_listed_sysctls("freebsd_vm", {reinterpret_cast<const char*>(data), size});
  return 0;
}
