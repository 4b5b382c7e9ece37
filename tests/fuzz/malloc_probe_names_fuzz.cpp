// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as kern.malloc_stats. Each of its names must be found again by the name of its probe.
#include <cstdlib>
#include <string>

#include "core/parse/malloc_probe_names.h"
#include "tests/fuzz/fuzz_target.h"

void memstat::fuzz(std::string_view bytes) {
  const auto stream = StatisticsStream::open("kern.malloc_stats", bytes, 32);
  if (!stream) return;
  MallocProbeNames names;
  if (!names.take(*stream)) {
    if (names.size() != 0) std::abort();
    return;
  }
  for (std::size_t place = 0; place < names.size(); ++place) {
    const std::size_t found = names.find(names.name(place));
    if (found != place && found != MallocProbeNames::kShared) std::abort();
  }
}
