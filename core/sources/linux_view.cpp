// SPDX-License-Identifier: BSD-2-Clause
// Which parts of the machine cannot be seen from here: namespaces of a container, hidden processes, files of lxcfs. Its
// table, which core/collect/view_table.h describes, is made when it is opened. core/model/partial_view.h has what each
// reason hides.
#include <functional>
#include <memory>

#include "core/base/text.h"
#include "core/collect/view_table.h"
#include "core/source.h"

namespace memstat::sources::linux_view {
namespace {

constexpr std::string_view kName = "linux_view";
constexpr std::string_view kOrigin = "/proc/self/ns";

constexpr SystemMetric kPartialView = gauge_metric(
    "memstat_partial_view", Tier::kMinimal,
    "1 for each reason for which memstatd cannot see all of the machine, such as a container's namespace.", {"reason"});

struct State final : ReaderState {
  std::unique_ptr<TextTableSource> table = std::make_unique<ViewTable>();
};

/// Views name a table after its source; for people, name the directory instead.
Result<void> under_spaces(Result<void> result) {
  if (!result) result.error().path = kOrigin;
  return result;
}

Result<void> open(KernelView& view, RawBytes&, State& state) { return under_spaces(view.open_table(kName, *state.table)); }

Result<void> read(KernelView& view, RawBytes& raw, State& state) {
  return under_spaces(view.read_table(kName, *state.table, raw.parts[0]));
}

Result<void> parse(const RawBytes& raw, Staging& staging) {
  staging.reset({}, 0);
  StagedStatistics& statistics = staging.statistics();
  const auto is_named = [](std::string_view text, std::size_t end, std::string_view reason) {
    text = text.substr(0, end);
    for (std::string_view line; next_line(text, line);) {
      if (line.ends_with(reason) && line.size() > reason.size() && line[line.size() - reason.size() - 1] == ' ') return true;
    }
    return false;
  };
  const std::string_view text = raw.parts[0].view();
  const auto take = [&](std::string_view reason) {
    const auto at = static_cast<std::size_t>(reason.data() - text.data());
    if (!is_named(text, at, reason)) statistics.add(kPartialView, 1, {reason});  // twice only in a hand-made table
  };
  const auto damaged = read_view_table(text, std::cref(take));  // a copy of it would be on the heap
  if (damaged) return data_error(kOrigin, *damaged, "the table of what cannot be seen is truncated or malformed");
  return {};
}

constexpr MetricOrigin kOrigins[] = {
    {kPartialView,
     "links in /proc/self/ns, /proc/1/stat, /proc/2/stat, /proc/1/mountinfo, /proc/self/mountinfo, net.core.netdev_budget, "
     "/sys/fs/cgroup/cgroup.events"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "linux_view",
    .origin = "/proc/self/ns",
    .os = OperatingSystem::kLinux,
    .origins = kOrigins,
    .interval = std::chrono::seconds(30),
    .notes =
        "needs no privilege; examines once, at start; without a series, the whole machine is visible; what cannot be seen "
        "is "
        "not checked by findings, and memstatctl who says that its answer is partial",
    .steps = source_steps<State, open, read, parse>(),
};

}  // namespace memstat::sources::linux_view
