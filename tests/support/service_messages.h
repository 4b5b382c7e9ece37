// SPDX-License-Identifier: BSD-2-Clause
// Lines "UNIT TIME_US MESSAGE" of tests/fixtures/requests/service_log_messages.txt.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "core/base/text.h"

namespace memstat {

struct ServiceMessage {
  std::string_view unit;
  std::uint64_t time_us = 0;
  std::string_view text;
};

/// Passes each message to `take`; skips other lines.
template <typename Take>
void for_each_service_message(std::string_view lines, const Take& take) {
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    const std::size_t unit = line.find(' ');
    const std::size_t time = unit == std::string_view::npos ? unit : line.find(' ', unit + 1);
    if (time == std::string_view::npos || line.starts_with('#')) continue;
    if (const auto time_us = parse_u64(line.substr(unit + 1, time - unit - 1))) {
      take(ServiceMessage{.unit = line.substr(0, unit), .time_us = *time_us, .text = line.substr(time + 1)});
    }
  }
}

}  // namespace memstat
