// SPDX-License-Identifier: BSD-2-Clause
// Limits that only control groups of version 1 have.
#include <array>

#include "core/diagnosis/deep_limits.h"
#include "core/diagnosis/ended.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::group_version_1 {
namespace {

struct Trouble {
  std::string_view name;
  std::string_view metric;
  bool is_state;  ///< a gauge that is set, not a counter that increases
  std::string_view looks_for;
  std::string_view headline;  ///< follows the name of the group
  std::string_view effect;
  std::string_view file;
  std::array<std::string_view, 1> needs;
};
constexpr std::array kTroubles{
    Trouble{.name = "cgroup_kernel_limit",
            .metric = "memstat_memcg_kernel_limit_hits_total",
            .is_state = false,
            .looks_for = "A control group of version 1 is at its limit of kernel memory.",
            .headline = " is at its limit of kernel memory",
            .effect = "Its programs fail to open, fork or connect although memory is free.",
            .file = "/memory.kmem.limit_in_bytes",
            .needs = {"memstat_memcg_kernel_limit_hits_total"}},
    Trouble{.name = "cgroup_oom_off",
            .metric = "memstat_memcg_oom_waiting",
            .is_state = true,
            .looks_for = "Tasks of a control group of version 1 wait for memory, and nothing is killed.",
            .headline = " is out of memory and its tasks wait: its OOM killer is off",
            .effect = "They wait until memory in it is freed or its limit is raised.",
            .file = "/memory.oom_control",
            .needs = {"memstat_memcg_oom_waiting"}}};

constexpr DeepLimit kDeepWait{.row = "waits without memory",
                              .headline = " is out of memory and its tasks wait",
                              .effect = "They wait until memory in it is freed or its limit is raised.",
                              .file = "/sys/fs/cgroup/memory/memory.oom_control",
                              .reached = Severity::kNow};

void look(const Evidence& evidence, const Cause& cause, Findings& found) {
  const Trouble& trouble = kTroubles[cause.row];
  if (trouble.is_state) add_deep_limits(evidence, cause, kDeepWait, trouble.metric, found);
  for (const MetricEvidence& one : evidence.samples(trouble.metric)) {
    const double count = trouble.is_state ? one.value : one.change.recent;
    if (count <= 0) continue;
    Finding& finding = add_finding(found, cause, Severity::kNow, Certainty::kConfirmed,
                                   "Control group " + short_name(one.labels[0], 30) + std::string(trouble.headline));
    finding.fact({.text = trouble.is_state ? std::string("under_oom is 1 in its memory.oom_control")
                                           : counted(count, "time") + " in " + duration_words(evidence.recent_seconds),
                  .source = std::string(one.metric),
                  .value = count,
                  .window_seconds = trouble.is_state ? 0 : evidence.recent_seconds});
    finding.refused = count;
    finding.is_about("memcg", one.labels[0]).by("group", one.labels[0]).leads_to(trouble.effect);
    finding.then("cat " + shell_word("/sys/fs/cgroup/memory" + std::string(one.labels[0]) + std::string(trouble.file)));
    const auto ago = trouble.is_state ? std::nullopt : ended(evidence, one.change);
    if (!ago) continue;
    finding.headline = "Control group " + short_name(one.labels[0], 30) + " was at its limit of kernel memory";
    finding.headline += ", last " + duration_words(*ago) + " ago";
    finding.severity = Severity::kNotable;
  }
}

constexpr std::string_view kExplains[] = {"cgroup_full"};
constexpr std::string_view kUses[] = {kGroupLimits};
constexpr auto kCauses = causes_of<kTroubles>([](const Trouble& trouble) {
  return Cause{.name = trouble.name,
               .looks_for = trouble.looks_for,
               .system = CauseSystem::kLinux,
               .watches = trouble.is_state ? Watches::kLevel : Watches::kChange,
               .needs = trouble.needs,
               .uses = kUses,
               .explains_of_group = kExplains,
               .runbook = "MemstatControlGroupAtLimit",
               .look = look};
});

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::group_version_1
