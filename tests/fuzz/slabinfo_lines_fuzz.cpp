// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as /proc/slabinfo. Every cache has a name, within the text.
#include <cstdlib>

#include "core/parse/slabinfo.h"
#include "tests/fuzz/fuzz_target.h"

void memstat::fuzz(std::string_view text) {
  SlabinfoReader reader(text);
  SlabinfoLine line;
  while (reader.next(line)) {
    if (line.name.empty() || line.name.data() < text.data() ||
        line.name.data() + line.name.size() > text.data() + text.size()) {
      std::abort();
    }
  }
}
