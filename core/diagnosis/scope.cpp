// SPDX-License-Identifier: BSD-2-Clause
#include "core/diagnosis/scope.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/diagnosis/words.h"

namespace memstat {
namespace {

/// Files of one namespace, or that lxcfs replaces. The first row whose text begins the need applies.
constexpr std::pair<std::string_view, ViewPart> kParts[] = {
    {"table/conntrack", ViewPart::kNetwork},
    {"table/arp_cache", ViewPart::kNetwork},
    {"table/ndisc_cache", ViewPart::kNetwork},
    {"table/tcp_", ViewPart::kNetwork},
    {"socket/", ViewPart::kNetwork},
    {"memstat_socket_", ViewPart::kNetwork},
    {"table/sysv_", ViewPart::kIpc},
    {"memstat_sysv_", ViewPart::kIpc},
    {"memstat_tmpfs_", ViewPart::kMounts},
    {"memstat_table_user_", ViewPart::kUsers},
    {"memcg/", ViewPart::kGroups},
    {"memstat_memcg_", ViewPart::kGroups},
    {"table/threads", ViewPart::kMemory},  // of /proc/loadavg
    {"table/process_threads", ViewPart::kProcesses},
    {"account/", ViewPart::kMemory},
    {"slab/", ViewPart::kMemory},
    {"memstat_accounted_", ViewPart::kMemory},
    {"memstat_anonymous_", ViewPart::kMemory},
    {"memstat_commit", ViewPart::kMemory},
    {"memstat_locked_", ViewPart::kMemory},
    {"memstat_memory_", ViewPart::kMemory},
    {"memstat_swap_", ViewPart::kMemory},
    {"memstat_unaccounted_", ViewPart::kMemory},
    {"memstat_unevictable_", ViewPart::kMemory},
};

/// Shares of memory are unknown if its total is a container's.
bool compares_with_memory(const Cause& cause) {
  if (cause.watches == Watches::kChange) return false;
  constexpr std::array<std::string_view, 3> kLimited = {"table/", "who/", "memcg/"};
  return std::any_of(cause.needs.begin(), cause.needs.end(), [&](std::string_view need) {
    return std::none_of(kLimited.begin(), kLimited.end(), [&](std::string_view one) { return need.starts_with(one); });
  });
}

/// Why an answer is not about all that was asked; "": it is.
std::string why_partial(const InspectionAnswer& answer) {
  if (!answer.view.is_whole()) return answer.view.words_and_permit();
  if (answer.is_cut) {
    const std::string seen = seen_text(answer);
    return "memstatctl who " + std::string(answer.question) + " had time for only " + (seen.empty() ? "a part" : seen);
  }
  if (answer.refused == 0) return {};
  return "memstatctl who " + std::string(answer.question) + " may not examine at least " +
         counted(static_cast<double>(answer.refused), "process", "processes") + "; run it as root with CAP_SYS_PTRACE";
}

}  // namespace

ViewParts parts_behind(std::string_view need) {
  for (const auto& [begin, part] : kParts) {
    if (need.starts_with(begin)) return part;
  }
  return {};
}

std::string why_unseen(const Evidence& evidence, const Cause& cause) {
  ViewParts parts = compares_with_memory(cause) ? ViewParts(ViewPart::kMemory) : ViewParts();
  for (const std::string_view need : cause.needs) parts = parts | parts_behind(need);
  for (const std::span<const std::string_view> names : {cause.needs, cause.uses}) {
    for (const std::string_view name : names) {
      const std::string_view question = question_in(name);
      if (question.empty()) continue;
      const InspectionAnswer* const answer = answer_for(cause, evidence, question);
      if (std::string why = answer == nullptr ? std::string() : why_partial(*answer); !why.empty()) return why;
    }
  }
  return evidence.view.of(parts).words_and_permit();
}

}  // namespace memstat
