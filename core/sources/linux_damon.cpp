// SPDX-License-Identifier: BSD-2-Clause
// How long memory has not been touched, from the monitor of accesses that newer kernels run by themselves (DAMON_STAT,
// mm/damon/stat.c, since 6.17): /sys/module/damon_stat/parameters/memory_idle_ms_percentiles is "1600,1600,6400,...", the
// idle times of the machine's memory in ascending order, one for each percent from 0 to 100. A number below 0 is that of
// memory that is being accessed. They are 0 until the first of its rounds has ended, and old while `enabled` is N.
#include <algorithm>
#include <array>
#include <cstdint>

#include "core/base/text.h"
#include "core/collect/plan_reader.h"
#include "core/source.h"

namespace memstat::sources::linux_damon {
namespace {

constexpr SystemMetric kIdleSeconds = gauge_metric(
    "memstat_memory_idle_seconds", Tier::kDefault,
    "Seconds for which memory has been idle, by percentile: with percent=\"25\", three quarters of the memory have "
    "not been touched for at least as long. 0: in use now.",
    {"percent"}, ValueFormat::kDouble);

enum File : std::size_t { kEnabled, kIdleTimes };
constexpr PlannedFile kPlan[] = {
    {.path = "/sys/module/damon_stat/parameters/enabled", .need = ReadNeed::kRequired, .is_kept_open = true},
    {.path = "/sys/module/damon_stat/parameters/memory_idle_ms_percentiles",
     .need = ReadNeed::kRequired,
     .is_kept_open = true},
};
constexpr auto kPaths = paths_of(kPlan);

constexpr std::size_t kTimes = 101;
constexpr std::array<std::size_t, 4> kShown = {25, 50, 75, 90};

Result<void> parse(const RawBytes& raw, Staging& staging) {
  staging.reset({}, 0);
  const std::string_view enabled = raw.content(kEnabled);
  if (enabled == "N\n") return {};
  if (enabled != "Y\n") return data_error(kPaths[kEnabled], 0, "expected a line with Y or N");
  const std::string_view text = raw.content(kIdleTimes);
  if (!text.ends_with('\n')) return data_error(kPaths[kIdleTimes], text.size(), "ends within a line");
  std::string_view rest = trim(text);
  std::array<std::int64_t, kTimes> milliseconds{};
  for (std::size_t i = 0; i < kTimes; ++i) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const auto number = parse_i64(rest.substr(0, comma));
    const auto offset = static_cast<std::size_t>(rest.data() - text.data());
    if (!number) return data_error(kPaths[kIdleTimes], offset, "expected 101 numbers of milliseconds");
    milliseconds[i] = std::max<std::int64_t>(*number, 0);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  if (milliseconds.back() == 0) return {};
  for (const std::size_t percent : kShown) {
    staging.statistics().add_double(kIdleSeconds, static_cast<double>(milliseconds[percent]) / 1000, {percent});
  }
  return {};
}

constexpr MetricOrigin kOrigins[] = {
    {kIdleSeconds, "number PERCENT of memory_idle_ms_percentiles / 1000, nothing while the monitor is off"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "linux_damon",
    .origin = origin_of<kPaths>(),
    .os = OperatingSystem::kLinux,
    .origins = kOrigins,
    .interval = std::chrono::seconds(30),
    .plan = kPlan,
    .needs = "CAP_DAC_READ_SEARCH",
    .notes =
        "the kernel watches samples of the memory, so these are estimates; write Y to "
        "/sys/module/damon_stat/parameters/enabled "
        "where it is off",
    .steps = planned_steps<kPlan, parse>(),
};

}  // namespace memstat::sources::linux_damon
