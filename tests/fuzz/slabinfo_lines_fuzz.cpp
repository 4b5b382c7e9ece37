// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as /proc/slabinfo. Every cache has a name, within the text.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/parse/slabinfo.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  memstat::SlabinfoReader reader(text);
  memstat::SlabinfoLine line;
  while (reader.next(line)) {
    if (line.name.empty() || line.name.data() < text.data() || line.name.data() + line.name.size() > text.data() + size) {
      std::abort();
    }
  }
  return 0;
}
