// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as a configuration file. Aborts if a result breaks the loader's promises.
#include <array>
#include <cstdlib>
#include <span>
#include <string>

#include "config/loader.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using Kind = memstat::SourceOption::Kind;
constexpr memstat::SourceOption kOptions[] = {
    {.name = "deep", .kind = Kind::kSwitch},
    {.name = "depth", .kind = Kind::kNumber, .default_number = 2, .most = 16},
    {.name = "min_bytes", .kind = Kind::kBytes},
    {.name = "budget", .kind = Kind::kDuration, .default_number = 1000, .least = 1000, .most = 1'000'000'000},
    {.name = "groups", .kind = Kind::kPattern},
    {.name = "counters",
     .kind = Kind::kKey,
     .default_pattern = "page-faults minor-faults",
     .problem_with = [](std::string_view word) { return std::string(word.size() > 20 ? "is not an event" : ""); }},
};

}  // namespace

void memstat::fuzz(std::string_view text) {
  static constexpr std::array<std::string_view, 3> kSources = {"freebsd_malloc", "freebsd_uma", "linux_slabinfo"};
  const std::array<std::span<const SourceOption>, 1> kOptionsBySource = {kOptions};
  const ConfigResult result =
      load_config_text(text, "fuzz", ConfigContext{.sources = kSources, .options = kOptionsBySource});
  if (result.has_value() != result.problems().empty()) std::abort();
  for (const std::string& line : result.problems()) {
    if (line.find('\n') != std::string::npos) std::abort();
  }
  if (!result) return;
  // The daemon can run with any accepted configuration.
  const Config& config = *result;
  if (config.listen.empty() || config.retention == 0 || config.poll.interval < kMinPollInterval) std::abort();
  if (config.poll.timeout.count() <= 0 || config.growth_window < config.poll.interval) std::abort();
  if (config.series_limit == 0 || config.series_limit > kMaxSeriesLimit) std::abort();
  for (const Endpoint& address : config.listen) {
    if (!check_listen_address(address, !config.allow.empty())) std::abort();
  }
}
