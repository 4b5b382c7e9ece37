// SPDX-License-Identifier: BSD-2-Clause
// Parses the document of /api/v1/findings for the command why.
#include "core/base/text.h"
#include "daemon/ctl/source/document.h"
#include "daemon/ctl/source/report_source.h"

namespace memstat::ctl {
namespace {

/// The enumerator with this word; the last of `count` if unknown.
template <typename Enum>
Enum named(std::string_view word, std::size_t count) {
  std::size_t number = 0;
  while (number + 1 < count && to_string(static_cast<Enum>(number)) != word) ++number;
  return static_cast<Enum>(number);
}

Finding finding_in(const Document& object) {
  constexpr auto kObject = Document::value_t::object;
  Finding finding{.cause = text_of(object, "cause"),
                  .severity = named<Severity>(text_of(object, "severity"), kSeverityCount),
                  .certainty = named<Certainty>(text_of(object, "certainty"), 3),
                  .headline = text_of(object, "headline")};
  each_of(object, "about", kObject, [&](const Document& one) {
    finding.about.push_back({text_of(one, "allocator"), text_of(one, "type")});
  });
  each_of(object, "who", kObject, [&](const Document& one) {
    finding.who.push_back({text_of(one, "kind"), text_of(one, "name")});
  });
  each_of(object, "evidence", kObject, [&](const Document& one) {
    finding.facts.push_back({.text = text_of(one, "text"),
                             .source = text_of(one, "source"),
                             .value = number_of(one, "value"),
                             .limit = number_of(one, "limit"),
                             .window_seconds = number_of(one, "window_seconds").value_or(0)});
  });
  finding.killed = text_of(object, "killed");
  finding.killer = text_of(object, "killer");
  finding.effect = text_of(object, "effect");
  finding.seconds_left = number_of(object, "seconds_left");
  finding.next = texts_of(object, "next");
  finding.runbook = text_of(object, "runbook");
  finding.explains = texts_of(object, "explains");
  return finding;
}

}  // namespace

bool parse_findings_answer(std::string_view json, Diagnosis& diagnosis) {
  const Document document = parsed_document(json);
  if (!document.is_object() || list_of(document, "findings") == nullptr) return false;
  each_of(document, "findings", Document::value_t::object,
          [&](const Document& one) { diagnosis.findings.push_back(finding_in(one)); });
  diagnosis.ruled_out = texts_of(document, "ruled_out");
  each_of(document, "not_checked", Document::value_t::object, [&](const Document& one) {
    diagnosis.not_checked.push_back({text_of(one, "cause"), text_of(one, "why")});
  });
  if (const auto view = document.find("view"); view != document.end() && view->is_object()) {
    const std::string reasons = text_of(*view, "lacks");
    std::string_view rest = reasons;
    for (std::string_view reason; next_word(rest, reason);) diagnosis.view.add(reason);
  }
  diagnosis.watched_seconds = number_of(document, "watched_seconds").value_or(0);
  const double polls = number_of(document, "polls").value_or(0);
  diagnosis.polls = polls > 0 && polls < 1e12 ? static_cast<std::size_t>(polls) : 0;
  return true;
}

}  // namespace memstat::ctl
