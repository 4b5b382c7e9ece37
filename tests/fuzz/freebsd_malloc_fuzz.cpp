// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as the stream that source freebsd_malloc reads.
#include "tests/fuzz/fuzz_source.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  memstat::fuzz_stream("freebsd_malloc", 32, {reinterpret_cast<const char*>(data), size});
  return 0;
}
