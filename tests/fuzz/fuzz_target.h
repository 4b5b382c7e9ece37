// SPDX-License-Identifier: BSD-2-Clause
// The function that libFuzzer calls. Each fuzzer includes this once and defines fuzz().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace memstat {

/// Aborts if a promise is broken for these bytes.
void fuzz(std::string_view bytes);

}  // namespace memstat

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  memstat::fuzz({reinterpret_cast<const char*>(data), size});
  return 0;
}
