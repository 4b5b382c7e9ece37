// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as a configuration file. Aborts when an answer breaks the loader's promises.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "config/loader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static constexpr std::array<std::string_view, 3> kSources = {"freebsd_malloc", "freebsd_uma", "linux_slabinfo"};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const memstat::ConfigResult result = memstat::load_config_text(text, "fuzz", memstat::ConfigContext{kSources});
  if (result.has_value() != result.problems().empty()) std::abort();
  for (const std::string& line : result.problems()) {
    if (line.find('\n') != std::string::npos) std::abort();
  }
  if (!result) return 0;
  // A configuration that was accepted is one that the daemon can run with.
  const memstat::Config& config = *result;
  if (config.listen.empty() || config.retention == 0 || config.poll.interval < memstat::kMinPollInterval) std::abort();
  if (config.poll.timeout.count() <= 0 || config.growth_window < config.poll.interval) std::abort();
  if (config.series_limit == 0 || config.series_limit > memstat::kMaxSeriesLimit) std::abort();
  for (const memstat::ListenAddress& address : config.listen) {
    if (!memstat::check_listen_address(address, !config.allow.empty())) std::abort();
  }
  return 0;
}
