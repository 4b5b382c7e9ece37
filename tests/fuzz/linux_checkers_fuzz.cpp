// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as the bundle, and as each of the files in it.
#include "tests/fuzz/fuzz_bundle.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  memstat::fuzz_bundle("linux_checkers", {reinterpret_cast<const char*>(data), size});
  return 0;
}
