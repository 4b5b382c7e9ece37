// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as the note of an incident. What is accepted must be the same after writing and reading it
// again.
#include "daemon/incidents/incident.h"
#include "tests/fuzz/fuzz_target.h"

void memstat::fuzz(std::string_view text) {
  const auto incident = parse_incident(text, "fuzz");
  if (!incident) {
    MEMSTAT_FUZZ_REQUIRE(incident.error().code == ErrorCode::kData && !incident.error().detail.empty());
    return;
  }
  const std::string written = format_incident(*incident);
  const auto again = parse_incident(written, "fuzz");
  MEMSTAT_FUZZ_REQUIRE(again.has_value());
  MEMSTAT_FUZZ_REQUIRE(format_incident(*again) == written && again->headline == incident->headline);
}
