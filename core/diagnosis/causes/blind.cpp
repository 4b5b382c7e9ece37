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

constexpr std::array kCauses{Cause{.name = "source_down",
                                   .looks_for = "A source of memstatd fails.",
                                   .runbook = "MemstatSourceDown",
                                   .look = look_at_sources}};

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::blind
