// SPDX-License-Identifier: BSD-2-Clause
// Mounts of tmpfs at their maximum size or number of files.
#include <array>

#include "core/diagnosis/limit_state.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::tmpfs_mounts {
namespace {

struct Size {
  std::string_view used;
  std::string_view limit;
  bool is_bytes;
  std::string_view option;
};
constexpr std::array kSizes{Size{"memstat_tmpfs_bytes", "memstat_tmpfs_limit_bytes", true, "size="},
                            Size{"memstat_tmpfs_files", "memstat_tmpfs_limit_files", false, "nr_inodes="}};

void look_at_mount(const Evidence& evidence, const Cause& cause, const Size& size, const MetricEvidence& limit,
                   Findings& found) {
  const std::string_view mount = limit.labels[0];
  const auto used = evidence.value(size.used, mount);
  if (!used || limit.value <= 0 || *used < kNearShare * limit.value) return;
  const bool is_full = *used >= kFullShare * limit.value;
  const std::string amounts =
      amount_text(*used, size.is_bytes) + " of " + amount_text(limit.value, size.is_bytes) + (size.is_bytes ? "" : " files");
  Finding& finding =
      add_finding(found, cause, is_full ? Severity::kNow : Severity::kNotable,
                  is_full && evidence.polls >= 2 ? Certainty::kLikely : Certainty::kPossible,
                  "tmpfs " + short_name(mount, 36) + (is_full ? " is full: " : " is nearly full: ") + amounts);
  finding.fact({.text = percent_text(*used / limit.value) + " of its limit " + std::string(size.option),
                .source = std::string(size.used),
                .value = used,
                .limit = limit.value});
  if (size.is_bytes) finding.bytes = *used;
  finding.by("mount", mount)
      .leads_to("Writes there fail with ENOSPC while memory is free.")
      .then("du -xa " + shell_word(mount) + " | sort -rn | head")
      .then("mount -o remount," + std::string(size.option) + "N " + shell_word(mount));
}

void look(const Evidence& evidence, const Cause& cause, Findings& found) {
  for (const Size& size : kSizes) {
    for (const MetricEvidence& limit : evidence.samples(size.limit)) look_at_mount(evidence, cause, size, limit, found);
  }
}

constexpr std::string_view kNeeds[] = {"memstat_tmpfs_limit_bytes"};
constexpr std::string_view kUses[] = {"memstat_tmpfs_bytes", "memstat_tmpfs_files", "memstat_tmpfs_limit_files"};
constexpr std::array kCauses{Cause{.name = "tmpfs_full",
                                   .looks_for = "A mount of tmpfs has reached its maximum size or number of files.",
                                   .system = CauseSystem::kLinux,
                                   .needs = kNeeds,
                                   .uses = kUses,
                                   .inspection = "tmpfs",
                                   .look = look}};

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::tmpfs_mounts
