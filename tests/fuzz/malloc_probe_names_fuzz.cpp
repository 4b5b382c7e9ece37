// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as kern.malloc_stats. Each of its names must be found again by the name of its probe.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/parse/malloc_probe_names.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using memstat::MallocProbeNames;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto stream = memstat::StatisticsStream::open("kern.malloc_stats", bytes, 32);
  if (!stream) return 0;
  MallocProbeNames names;
  if (!names.take(*stream)) {
    if (names.size() != 0) std::abort();
    return 0;
  }
  for (std::size_t place = 0; place < names.size(); ++place) {
    const std::size_t found = names.find(names.name(place));
    if (found != place && found != MallocProbeNames::kShared) std::abort();
  }
  return 0;
}
