// SPDX-License-Identifier: BSD-2-Clause
// The ARC, the cache of ZFS, that does not give memory back while memory is short. A large ARC by itself is healthy.
#include <algorithm>
#include <array>

#include "core/diagnosis/cause.h"
#include "core/diagnosis/growth_ranking.h"
#include "core/diagnosis/parts.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::arc {
namespace {

constexpr std::string_view kSize = "memstat_zfs_arc_bytes";
constexpr std::string_view kTarget = "memstat_zfs_arc_target_bytes";
constexpr std::string_view kMin = "memstat_zfs_arc_min_bytes";
constexpr std::string_view kKills = "memstat_oom_kills_total";

/// Share of the target above which the ARC normally evicts at once.
constexpr double kAbove = 1.05;
/// Share of memory that the minimum may keep. Its default is a thirty-second part.
constexpr double kMinShare = 0.25;
constexpr double kShortShare = 0.1;

std::string_view command_for(const Evidence& evidence, bool is_stuck) {
  if (evidence.system == EvidenceSystem::kLinux)
    return "grep -E '^(size|c|c_min|c_max|dnode_size|.*_evictable_data) ' /proc/spl/kstat/zfs/arcstats; cat "
           "/sys/module/zfs/parameters/zfs_arc_max";
  return is_stuck ? "sysctl kstat.zfs.misc.arcstats.dnode_size kern.maxvnodes vfs.numvnodes"
                  : "sysctl vfs.zfs.arc.min vfs.zfs.arc.max";
}

void look(const Evidence& evidence, const Cause& cause, Findings& found) {
  const auto size = evidence.value(kSize);
  const auto target = evidence.value(kTarget);
  const auto least = evidence.value(kMin);
  if (!size || !target || !least || !evidence.available_bytes) return;
  const double available = evidence.share(available_without_arc(evidence));
  const bool is_stuck = *size > kAbove * *target && evidence.share(*size - *target) > 0.02;
  const bool is_kept = evidence.share(std::min(*size, *least)) > kMinShare;
  // Kernels of Linux kill before the ARC has given back what it should.
  const bool has_killed = recent_kills(evidence) > 0 && evidence.share(*size) > kMinShare;
  if (available >= kShortShare || (!is_stuck && !is_kept && !has_killed)) return;
  Finding& finding = add_finding(
      found, cause, has_killed ? Severity::kNow : Severity::kWasteful, Certainty::kLikely,
      has_killed ? "Memory ran out while the ZFS cache (ARC) held " + bytes_text(*size) + ": it did not shrink in time"
      : is_stuck
          ? "The ZFS cache (ARC) holds " + bytes_text(*size) + ", " + bytes_text(*size - *target) + " above its target"
          : "The ZFS cache (ARC) keeps " + bytes_text(*size) + ", because its minimum is " + bytes_text(*least));
  finding
      .fact({.text = bytes_text(*size) + ", target " + bytes_text(*target) + ", minimum " + bytes_text(*least),
             .source = std::string(kSize),
             .value = size,
             .limit = is_stuck ? target : least})
      .fact({.text = bytes_text(available * evidence.total_bytes) + " available" +
                     (evidence.system == EvidenceSystem::kLinux ? " without it, " : ", ") + percent_text(available) +
                     " of all memory",
             .source = "memstat_memory_available_bytes",
             .value = available * evidence.total_bytes})
      .leads_to(has_killed ? "The kernel killed programs instead. A smaller zfs_arc_max leaves them room."
                : is_stuck ? "Vnodes in use, or data not yet written, hold what it should give back."
                           : "Programs are swapped out or killed before it shrinks further.")
      .then(command_for(evidence, is_stuck));
  finding.is_about(kAccountAllocator, "arc");
  finding.bytes = is_stuck && !has_killed ? *size - *target : *size;
}

constexpr std::string_view kNeeds[] = {kSize, kTarget, kMin};
constexpr std::string_view kUses[] = {kKills};
/// The ARC is kernel memory.
constexpr std::string_view kExplains[] = {"kernel_memory_large", "machine_oom_kill", "memory_low"};
constexpr std::array kCauses{Cause{.name = "arc_stuck",
                                   .looks_for = "The cache of ZFS does not shrink although memory is short.",
                                   .needs = kNeeds,
                                   .uses = kUses,
                                   .explains = kExplains,
                                   .look = look}};

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::arc
