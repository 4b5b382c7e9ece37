// SPDX-License-Identifier: BSD-2-Clause
// The function that libFuzzer calls. Each fuzzer includes this once and defines fuzz().
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#define MEMSTAT_FUZZ_REQUIRE(condition)                                                   \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                       \
    }                                                                                     \
  } while (false)

namespace memstat {

/// Aborts if a promise is broken for these bytes.
void fuzz(std::string_view bytes);

}  // namespace memstat

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  memstat::fuzz({reinterpret_cast<const char*>(data), size});
  return 0;
}
