// SPDX-License-Identifier: BSD-2-Clause
// The document of /api/v1/findings as the command why uses it.
#include <cmath>
#include <nlohmann/json.hpp>

#include "daemon/ctl/source/report_source.h"

namespace memstat::ctl {
namespace {

using FindingsJson = nlohmann::json;

constexpr std::size_t kMaxFindingsBytes = std::size_t{4} << 20U;

std::string word_in(const FindingsJson& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<double> amount_in(const FindingsJson& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return {};
  const double number = found->get<double>();
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

/// Calls `visit` for each member of the list that is of the wanted kind.
template <typename Visit>
void each_of(const FindingsJson& object, const char* key, FindingsJson::value_t kind, Visit visit) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return;
  for (const FindingsJson& one : *found) {
    if (one.type() == kind) visit(one);
  }
}

std::vector<std::string> words_in(const FindingsJson& object, const char* key) {
  std::vector<std::string> words;
  each_of(object, key, FindingsJson::value_t::string,
          [&](const FindingsJson& one) { words.push_back(one.get<std::string>()); });
  return words;
}

/// The enumerator that has that word; the last of `count` for one that is not known.
template <typename Enum>
Enum named(std::string_view word, std::size_t count) {
  std::size_t number = 0;
  while (number + 1 < count && to_string(static_cast<Enum>(number)) != word) ++number;
  return static_cast<Enum>(number);
}

Finding finding_in(const FindingsJson& object) {
  constexpr auto kObject = FindingsJson::value_t::object;
  Finding finding{.cause = word_in(object, "cause"),
                  .severity = named<Severity>(word_in(object, "severity"), kSeverityCount),
                  .certainty = named<Certainty>(word_in(object, "certainty"), 3),
                  .headline = word_in(object, "headline")};
  each_of(object, "about", kObject, [&](const FindingsJson& one) {
    finding.about.push_back({word_in(one, "allocator"), word_in(one, "type")});
  });
  each_of(object, "who", kObject, [&](const FindingsJson& one) {
    finding.who.push_back({word_in(one, "kind"), word_in(one, "name")});
  });
  each_of(object, "evidence", kObject, [&](const FindingsJson& one) {
    finding.facts.push_back({.text = word_in(one, "text"),
                             .source = word_in(one, "source"),
                             .value = amount_in(one, "value"),
                             .limit = amount_in(one, "limit"),
                             .window_seconds = amount_in(one, "window_seconds").value_or(0)});
  });
  finding.effect = word_in(object, "effect");
  finding.seconds_left = amount_in(object, "seconds_left");
  finding.next = words_in(object, "next");
  finding.runbook = word_in(object, "runbook");
  finding.explains = words_in(object, "explains");
  return finding;
}

}  // namespace

bool parse_findings_answer(std::string_view json, Diagnosis& diagnosis) {
  if (json.size() > kMaxFindingsBytes) return false;
  constexpr int kMaxDepth = 6;
  const auto is_shallow = [](int depth, FindingsJson::parse_event_t, const FindingsJson&) { return depth <= kMaxDepth; };
  const FindingsJson document = FindingsJson::parse(json.begin(), json.end(), is_shallow, false);
  if (!document.is_object()) return false;
  const auto findings = document.find("findings");
  if (findings == document.end() || !findings->is_array()) return false;
  each_of(document, "findings", FindingsJson::value_t::object,
          [&](const FindingsJson& one) { diagnosis.findings.push_back(finding_in(one)); });
  diagnosis.ruled_out = words_in(document, "ruled_out");
  each_of(document, "not_checked", FindingsJson::value_t::object, [&](const FindingsJson& one) {
    diagnosis.not_checked.push_back({word_in(one, "cause"), word_in(one, "why")});
  });
  diagnosis.watched_seconds = amount_in(document, "watched_seconds").value_or(0);
  const double polls = amount_in(document, "polls").value_or(0);
  diagnosis.polls = polls > 0 && polls < 1e12 ? static_cast<std::size_t>(polls) : 0;
  return true;
}

}  // namespace memstat::ctl
