// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as /proc/stat and as kern.boottime. What is accepted is a time after 1970.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/kernel/boot_time.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const auto time : {memstat::parse_btime(bytes), memstat::parse_boottime(bytes)}) {
    if (time && *time <= 0) std::abort();
  }
  return 0;
}
