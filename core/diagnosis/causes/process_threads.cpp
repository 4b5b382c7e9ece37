// SPDX-License-Identifier: BSD-2-Clause
// A process of FreeBSD that has as many threads as one process may have. The kernel counts refusals, but no table shows the
// threads of a process.
#include <array>

#include "core/diagnosis/ended.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::process_threads {
namespace {

void look(const Evidence& evidence, const Cause& cause, Findings& found) {
  const TypeEvidence* const type = evidence.type(Allocator::kTable, "process_threads");
  if (type == nullptr || type->failures.recent <= 0) return;
  const double failed = type->failures.recent;
  const std::string limit = type->limit_objects ? " of " + count_text(*type->limit_objects) : "";
  Finding& finding =
      add_finding(found, cause, Severity::kNow, Certainty::kConfirmed,
                  "A process is at the limit" + limit + " threads: " + counted(failed, "request") + " failed");
  finding.refused = failed;
  finding.fact({.text = counted(failed, "refusal") + " in " + duration_words(evidence.recent_seconds),
                .source = "table/process_threads",
                .value = failed,
                .limit = type->limit_objects,
                .window_seconds = evidence.recent_seconds});
  finding.is_about("table", "process_threads")
      .leads_to("pthread_create of that process fails with EAGAIN, for root, too.")
      .then("procstat -ta | awk '{print $1, $3}' | sort | uniq -c | sort -rn | head -n 3")
      .then("sysctl kern.threads.max_threads_per_proc");
  if (const auto ago = ended(evidence, type->failures); ago) {
    finding.headline = "A process was at the limit" + limit + " threads" + last_time_text(ago);
    finding.severity = Severity::kNotable;
  }
}

constexpr std::string_view kNeeds[] = {"table/process_threads"};

constexpr std::array kCauses{
    Cause{.name = "process_threads_full",
          .looks_for = "A process has reached the limit of threads per process, and further threads are refused.",
          .system = CauseSystem::kFreeBsd,
          .watches = Watches::kChange,
          .needs = kNeeds,
          .runbook = "MemstatLimitHit",
          .look = look},
};

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::process_threads
