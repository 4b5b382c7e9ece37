// SPDX-License-Identifier: BSD-2-Clause
// Control groups of Linux that were removed and still hold memory.
#include <algorithm>
#include <array>

#include "core/diagnosis/cause.h"
#include "core/diagnosis/holder.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::dying_groups {
namespace {

constexpr std::string_view kDying = "memstat_memcg_dying_descendants";
/// Numbers that recently removed groups do not explain.
constexpr double kMany = 2000;
/// Including its per-CPU counters. A small machine suffers from fewer groups.
constexpr double kBytesOfGroup = 40960;
constexpr double kManyShare = 0.02;
constexpr double kSome = 64;

constexpr std::string_view kHierarchies = "memstat_cgroup_hierarchy_groups";

/// Version 1 shows only how many groups a hierarchy has. Memory keeps removed ones, other controllers do not.
void look_at_hierarchies(const Evidence& evidence, const Cause& cause, Findings& found) {
  // Memory's numbers for groups (MEM_CGROUP_ID_MAX). Before 4.8 removed ones keep theirs.
  constexpr double kMaxGroups = 65535;
  const auto groups = evidence.value(kHierarchies, "memory");
  const auto others = evidence.value(kHierarchies, "other");
  if (!groups || !others) return;
  const double removed = *groups - *others;
  if (removed < std::max(kMany, *others)) return;
  const bool is_full = *groups == kMaxGroups;
  Finding& finding = add_finding(found, cause, is_full ? Severity::kNow : Severity::kNotable, Certainty::kLikely,
                                 is_full ? "No control group can be created: memory has numbers for " + count_text(*groups) +
                                               ", and nearly all are of removed ones"
                                         : count_text(removed) + " removed control groups still hold memory");
  finding.fact(
      {.text = count_text(*groups) + " groups of the memory controller, at most " + count_text(*others) + " of any other",
       .source = std::string(kHierarchies),
       .value = groups,
       .limit = is_full ? kMaxGroups : *others + kMany});
  finding.is_about("account", "percpu")
      .leads_to(is_full ? "New containers and services fail to start. Cached files that belong to removed groups keep them."
                        : "Each keeps per-CPU and slab memory, and makes reclaim slower.")
      .then("grep -e num_cgroups -e memory /proc/cgroups")
      .then("sync; echo 1 > /proc/sys/vm/drop_caches");
}

void look(const Evidence& evidence, const Cause& cause, Findings& found) {
  const MetricEvidence* most = nullptr;
  for (const MetricEvidence& one : evidence.samples(kDying)) {
    if (most == nullptr || one.value > most->value) most = &one;
  }
  if (most == nullptr) return look_at_hierarchies(evidence, cause, found);
  if (most->value < kSome) return;
  const bool is_growing = most->change.recent >= 0.25 * most->value;
  const double many = std::max(std::min(kMany, kManyShare * evidence.total_bytes / kBytesOfGroup), kSome);
  if (most->value < many && !is_growing) return;  // they disappear with the caches that hold them
  const bool is_long = evidence.watched_seconds >= 3600 && most->change.since_start > 0;
  Finding& finding = add_finding(found, cause, most->value >= many && is_long ? Severity::kWasteful : Severity::kNotable,
                                 Certainty::kLikely, count_text(most->value) + " removed control groups still hold memory");
  finding.fact({.text = count_text(most->change.recent) + " more in " + duration_words(evidence.recent_seconds),
                .source = std::string(kDying),
                .value = most->value,
                .limit = many,
                .window_seconds = evidence.recent_seconds});
  if (most->labels[0] != "/") finding.by("group", most->labels[0]);
  finding.is_about("account", "percpu").leads_to("Each keeps per-CPU and slab memory, and makes reclaim slower.");
  finding.then("grep dying " + group_file(evidence, most->labels[0], "/cgroup.stat"));
  finding.then("echo 1G > " + group_file(evidence, most->labels[0], "/memory.reclaim"));
}

constexpr std::string_view kNeeds[] = {kDying};
constexpr std::string_view kUses[] = {kHierarchies};
constexpr std::string_view kExplains[] = {"percpu_growth", "percpu_large", "memory_growth",
                                          "slab_leak",     "kmalloc_leak", "vfs_pinned"};
constexpr std::array kCauses{
    Cause{.name = "cgroup_dying",
          .looks_for = "Removed control groups remain in memory because cached files or tmpfs pages still belong to them.",
          .system = CauseSystem::kLinux,
          .needs = kNeeds,
          .uses = kUses,
          .explains = kExplains,
          .runbook = "MemstatLeakSuspected",
          .look = look}};

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::dying_groups
