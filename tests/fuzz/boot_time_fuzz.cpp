// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as /proc/stat and as kern.boottime. What is accepted is a time after 1970.
#include <cstdlib>

#include "core/kernel/boot_time.h"
#include "tests/fuzz/fuzz_target.h"

void memstat::fuzz(std::string_view bytes) {
  for (const auto time : {parse_btime(bytes), parse_boottime(bytes)}) {
    if (time && *time <= 0) std::abort();
  }
}
