// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as the log of a previous boot. The table that is made of them must be readable.
#include "core/model/kernel_log.h"
#include "daemon/incidents/previous_boot.h"
#include "tests/fuzz/fuzz_target.h"

void memstat::fuzz(std::string_view text) {
  const auto boot = read_previous_log(text);
  if (!boot) return;
  LogTable table;
  MEMSTAT_FUZZ_REQUIRE(!read_log_table(boot->log, table));
  MEMSTAT_FUZZ_REQUIRE(!boot->headline.empty() && boot->uptime_ns >= 0);
}
