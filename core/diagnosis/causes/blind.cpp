// SPDX-License-Identifier: BSD-2-Clause
// Data that memstatd cannot read.
#include <array>

#include "core/diagnosis/cause.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::blind {
namespace {

void look_at_sources(const Evidence& evidence, const Cause& cause, Findings& found) {
  for (const SourceEvidence& source : evidence.sources) {
    if (!source.is_down) continue;
    Finding& finding = add_finding(found, cause, Severity::kNotable, Certainty::kConfirmed,
                                   "memstatd cannot read its source " + short_name(source.name, 30));
    finding.fact({.text = source.error, .source = source.name});
    finding.by("source", source.name).leads_to("Causes that need it are not found.").then("memstatctl doctor");
  }
}

void look_at_left_out(const Evidence& evidence, const Cause& cause, Findings& found) {
  const auto left_out = evidence.value("memstat_memcg_groups_left_out");
  if (!left_out || *left_out <= 0) return;
  Finding& finding = add_finding(found, cause, Severity::kNotable, Certainty::kConfirmed,
                                 "memstatd leaves out " + counted(*left_out, "control group") + ": there are too many");
  finding.fact({.text = count_text(*left_out) + " groups", .source = "memstat_memcg_groups_left_out", .value = left_out});
  finding.leads_to("Kills in these groups look like kills of the whole machine.").then("memstatctl explain linux_memcg");
}

constexpr std::string_view kNeeds[] = {"memstat_memcg_groups_left_out"};
constexpr std::array kCauses{Cause{.name = "source_down",
                                   .looks_for = "A source of memstatd fails.",
                                   .runbook = "MemstatSourceDown",
                                   .look = look_at_sources},
                             Cause{.name = "groups_left_out",
                                   .looks_for = "There are more control groups than memstatd reads.",
                                   .system = CauseSystem::kLinux,
                                   .needs = kNeeds,
                                   .runbook = "MemstatControlGroupsLeftOut",
                                   .look = look_at_left_out}};

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::blind
