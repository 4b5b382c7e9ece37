// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as the files of the areas.
#include "tests/fuzz/fuzz_bundle.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  memstat::fuzz_listed_files("linux_cma", {reinterpret_cast<const char*>(data), size});
  return 0;
}
