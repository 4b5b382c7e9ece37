// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as a configuration file. Aborts if a result breaks the loader's promises.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "config/loader.h"

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

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static constexpr std::array<std::string_view, 3> kSources = {"freebsd_malloc", "freebsd_uma", "linux_slabinfo"};
  const std::array<std::span<const memstat::SourceOption>, 1> kOptionsBySource = {kOptions};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const memstat::ConfigResult result =
      memstat::load_config_text(text, "fuzz", memstat::ConfigContext{.sources = kSources, .options = kOptionsBySource});
  if (result.has_value() != result.problems().empty()) std::abort();
  for (const std::string& line : result.problems()) {
    if (line.find('\n') != std::string::npos) std::abort();
  }
  if (!result) return 0;
  // The daemon can run with any accepted configuration.
  const memstat::Config& config = *result;
  if (config.listen.empty() || config.retention == 0 || config.poll.interval < memstat::kMinPollInterval) std::abort();
  if (config.poll.timeout.count() <= 0 || config.growth_window < config.poll.interval) std::abort();
  if (config.series_limit == 0 || config.series_limit > memstat::kMaxSeriesLimit) std::abort();
  for (const memstat::Endpoint& address : config.listen) {
    if (!memstat::check_listen_address(address, !config.allow.empty())) std::abort();
  }
  return 0;
}
