// SPDX-License-Identifier: BSD-2-Clause
// Counters of the kernel's memory checkers. A checker that is off is not present.
//
// /sys/kernel/debug/kfence/stats (mm/kfence/core.c, stats_show) has "name: number" lines: "enabled: 1", "currently
// allocated: 12", "total allocations: 400", "total frees: 388", "zombie allocations: 0", "total bugs: 0", and since 5.17
// "skipped allocations (REASON): 0". If KFENCE never ran, all are zero, and it counts as off.
//
// /sys/kernel/slab/CACHE/{sanity_checks,red_zone,poison,store_user} (mm/slub.c) are "1" if the check is on. That is decided
// at boot (slab_debug=), so these files, several hundred, are read only once. Symbolic links are other names of the same
// cache.
//
// /sys/kernel/warn_count, oops_count (kernel/panic.c, kernel/exit.c; since 6.2, and in older stable kernels) count reports
// that the kernel printed. Reports of KASAN, KFENCE, KCSAN and UBSAN are warnings as well.
//
// /proc/sys/kernel/tainted (kernel/panic.c) is a set of bits since boot. Two of them concern memory: 4, a machine check, and
// 5, a page in an invalid state.
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "core/collect/plan_reader.h"
#include "core/source.h"

namespace memstat::sources::linux_checkers {
namespace {

constexpr SystemMetric kCheckerBugs = counter_metric("memstat_checker_bugs_total", Tier::kDefault,
                                                     "Memory errors found by the kernel's checker since boot.", {"checker"});

constexpr SystemMetric kCheckerObjects = gauge_metric("memstat_checker_objects", Tier::kFull,
                                                      "Objects guarded by the kernel's checker now.", {"checker", "state"});

constexpr SystemMetric kCheckerAllocations =
    counter_metric("memstat_checker_allocations_total", Tier::kFull,
                   "Allocations guarded by the kernel's checker since boot.", {"checker"});

constexpr SystemMetric kCheckerFrees =
    counter_metric("memstat_checker_frees_total", Tier::kFull, "Guarded objects freed since boot.", {"checker"});

constexpr SystemMetric kCheckerSkips = counter_metric(
    "memstat_checker_skips_total", Tier::kFull,
    "Allocations since boot that the kernel's checker should have guarded but could not.", {"checker", "kind"});

constexpr SystemMetric kSlabDebugCaches =
    gauge_metric("memstat_slab_debug_caches", Tier::kDefault,
                 "Slab caches with this debugging check on, as of the source's start.", {"check"});

constexpr SystemMetric kKernelReports =
    counter_metric("memstat_kernel_reports_total", Tier::kDefault,
                   "Warnings (including those of memory checkers) and oopses that the kernel printed since boot.", {"kind"});

constexpr SystemMetric kKernelTaint =
    gauge_metric("memstat_kernel_tainted", Tier::kDefault,
                 "1 when the kernel has met a bad page or a machine check since boot, else 0.", {"kind"});

// Only the debugfs file needs a privilege.
constexpr PlannedFile kPlan[] = {
    {.path = "/proc/sys/kernel/tainted", .time = ReadTime::kSeldom, .need = ReadNeed::kRequired},
    {.path = "/sys/kernel/warn_count", .time = ReadTime::kSeldom},
    {.path = "/sys/kernel/oops_count", .time = ReadTime::kSeldom},
    {.path = "/sys/kernel/debug/kfence/stats", .time = ReadTime::kSeldom, .is_kept_open = true},
};
constexpr auto kPaths = paths_of(kPlan);
using CheckerFiles = PlannedFiles<kPaths>;
constexpr CheckerFiles::File kKfence = "/sys/kernel/debug/kfence/stats";

constexpr std::string_view kSlabDirectory = "/sys/kernel/slab";
constexpr std::string_view kSlabChecks[] = {"sanity_checks", "red_zone", "poison", "store_user"};

constexpr std::string_view kKfenceName = "kfence";

struct KfenceFigure {
  std::string_view name;
  const SystemMetric* metric;
  std::string_view label = {};
};
constexpr KfenceFigure kKfenceFigures[] = {
    {"currently allocated", &kCheckerObjects, "allocated"},
    {"total allocations", &kCheckerAllocations},
    {"total frees", &kCheckerFrees},
    {"zombie allocations", &kCheckerObjects, "zombie"},
    {"total bugs", &kCheckerBugs},
};
constexpr std::string_view kSkipped = "skipped allocations (";

struct KfenceLine {
  std::string_view name;
  std::uint64_t number = 0;
};

/// Calls `visit` for each line.
template <typename Visit>
Result<void> for_each_kfence_line(std::string_view text, Visit visit) {
  return for_each_whole_line(kPaths[kKfence], text, 0, [&](std::string_view line) -> const char* {
    const std::size_t colon = line.rfind(':');
    const auto number = colon == std::string_view::npos ? std::nullopt : parse_u64(trim(line.substr(colon + 1)));
    if (!number) return "expected a line with a name, a colon and a number";
    visit(KfenceLine{line.substr(0, colon), *number});
    return nullptr;
  });
}

/// Adds a KFENCE figure. Of duplicates the first counts.
void add_kfence_figure(const SystemMetric& metric, std::string_view label, std::uint64_t number,
                       StagedStatistics& statistics) {
  for (const StagedStatistics::Entry& entry : statistics.entries()) {
    if (entry.metric == &metric && (label.empty() || statistics.label(entry, 1) == label)) return;
  }
  statistics.add(metric, number, {kKfenceName, label});
}

void add_kfence_line(const KfenceLine& line, Staging& staging) {
  StagedStatistics& statistics = staging.statistics();
  for (const KfenceFigure& figure : kKfenceFigures) {
    if (figure.name == line.name) add_kfence_figure(*figure.metric, figure.label, line.number, statistics);
  }
  if (line.name.starts_with(kSkipped) && line.name.ends_with(')')) {
    const std::string_view reason = line.name.substr(kSkipped.size(), line.name.size() - kSkipped.size() - 1);
    // Skip a reason that is not valid text: it would be repaired, and two might then be equal.
    if (!reason.empty() && reason.size() < 100 && is_valid_label_text(reason)) {
      add_kfence_figure(kCheckerSkips, reason, line.number, statistics);
    }
  }
}

Result<void> parse_kfence(std::string_view text, Staging& staging) {
  bool is_on = false;
  auto result = for_each_kfence_line(text, [&](const KfenceLine& line) {
    is_on = is_on || ((line.name == "enabled" || line.name == "total allocations") && line.number != 0);
  });
  if (!result || !is_on) return result;
  return for_each_kfence_line(text, [&](const KfenceLine& line) { add_kfence_line(line, staging); });
}

struct State final : ReaderState {
  bool has_read_caches = false;
  std::array<std::uint64_t, std::size(kSlabChecks)> caches_with_check{};
};

Result<void> parse(const RawBytes& raw, const State& state, Staging& staging) {
  staging.reset({}, 0);
  CheckerFiles files(raw);
  const auto tainted = files.number("/proc/sys/kernel/tainted");
  const auto warnings = files.number("/sys/kernel/warn_count");
  const auto oopses = files.number("/sys/kernel/oops_count");
  if (!tainted) files.refuse("/proc/sys/kernel/tainted", 0, "the file was not read");
  if (files.error()) return *files.error();
  StagedStatistics& statistics = staging.statistics();
  statistics.add(kKernelTaint, *tainted >> 4U & 1U, {"machine_check"});
  statistics.add(kKernelTaint, *tainted >> 5U & 1U, {"bad_page"});
  if (warnings) statistics.add(kKernelReports, *warnings, {"warning"});
  if (oopses) statistics.add(kKernelReports, *oopses, {"oops"});
  if (const auto kfence = files.text(kKfence)) {
    if (auto result = parse_kfence(*kfence, staging); !result) return result;
  }
  if (files.error()) return *files.error();
  for (std::size_t i = 0; i < std::size(kSlabChecks); ++i) {
    if (state.caches_with_check[i] != 0) statistics.add(kSlabDebugCaches, state.caches_with_check[i], {kSlabChecks[i]});
  }
  return {};
}

void count_checks(KernelView& view, const std::string& cache, State& state) {
  for (std::size_t i = 0; i < std::size(kSlabChecks); ++i) {
    const std::string path = std::string(kSlabDirectory) + "/" + cache + "/" + std::string(kSlabChecks[i]);
    if (view.read_file(path, state.plan.scratch) && trim(state.plan.scratch.view()) == "1") ++state.caches_with_check[i];
  }
}

/// Reads the checks of all caches, once. Without CONFIG_SLUB_DEBUG the files do not exist, and with SLAB (before 6.8) not
/// even the directory; then no check is on.
void read_slab_checks(KernelView& view, State& state) {
  if (state.has_read_caches) return;
  state.has_read_caches = true;
  std::vector<std::string> caches;
  if (!view.list_directory(kSlabDirectory, caches)) return;
  for (const std::string& cache : caches) {
    if (!view.read_link(std::string(kSlabDirectory) + "/" + cache)) count_checks(view, cache, state);
  }
}

Result<void> read(KernelView& view, RawBytes& raw, State& state) {
  auto result = read_plan(view, kPlan, raw, state);
  if (result) read_slab_checks(view, state);
  return result;
}

constexpr MetricOrigin kOrigins[] = {
    {kCheckerBugs, "total bugs of kfence/stats"},
    {kCheckerObjects, "currently allocated, zombie allocations of kfence/stats"},
    {kCheckerAllocations, "total allocations of kfence/stats"},
    {kCheckerFrees, "total frees of kfence/stats"},
    {kCheckerSkips, "skipped allocations of kfence/stats, by reason"},
    {kSlabDebugCaches, "caches with sanity_checks, red_zone, poison, store_user of slab/* on"},
    {kKernelReports, "warn_count, oops_count"},
    {kKernelTaint, "bits 4 and 5 of tainted"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "linux_checkers",
    .origin =
        "/proc/sys/kernel/tainted, /sys/kernel/warn_count, /sys/kernel/oops_count, /sys/kernel/debug/kfence/stats, "
        "/sys/kernel/slab",
    .os = OperatingSystem::kLinux,
    .origins = kOrigins,
    .plan = kPlan,
    .notes =
        "KFENCE's figures need root and a mounted debugfs when memstatd starts; a checker that is off has no figures; the "
        "checks of slab caches are as of the daemon's start, changes of the others are seen within four reads; a taint "
        "remains until reboot",
    .steps = planned_steps_with<State, kPlan, read, parse>(),
};

}  // namespace memstat::sources::linux_checkers
