// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshot/active_findings.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "core/base/text.h"
#include "core/base/utf8.h"
#include "core/model/field.h"

namespace memstat {
namespace {

constexpr std::int64_t kNever = INT64_MIN;

unsigned level_of(Severity severity) { return ActiveFindings::kMaxLevel - static_cast<unsigned>(severity); }

std::string label_of(std::string_view text) {
  return std::string(utf8_prefix(make_label_text(text), ActiveFindings::kMaxText));
}

std::string culprit_of(const Finding& finding) {
  std::string text;
  for (const Finding::Who& who : finding.who) {
    if (!text.empty()) text += ", ";
    text += who.kind + " " + who.name;
  }
  return label_of(text.empty() ? finding.unnamed : text);
}

/// The first command, and the one that shows the setting of a limit, if there is room for both.
std::string commands_of(const Finding& finding) {
  if (finding.next.empty()) return {};
  const auto setting = std::find_if(finding.next.begin() + 1, finding.next.end(),
                                    [](const std::string& one) { return one.starts_with("sysctl "); });
  if (setting == finding.next.end() || finding.next.front().starts_with("sysctl ")) return label_of(finding.next.front());
  const std::string both = finding.next.front() + "; " + *setting;
  return label_of(both.size() > ActiveFindings::kMaxText ? finding.next.front() : both);
}

std::string time_of(std::int64_t realtime_ns) {
  const auto seconds = static_cast<std::time_t>(realtime_ns / 1'000'000'000);
  std::tm parts{};
  std::array<char, 32> text{};
  ::gmtime_r(&seconds, &parts);
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts)};
}

}  // namespace

std::string object_of(const Finding& finding) {
  if (!finding.about.empty()) {
    const Finding::About& about = finding.about.front();
    // The path of a control group begins with a slash, and names its allocator.
    if (about.allocator == to_string(Allocator::kMemcg)) return label_of(about.type);
    return label_of(about.allocator + "/" + about.type);
  }
  const auto is_thing = [](const Finding::Who& who) { return who.kind != "process" && who.kind != "user"; };
  const auto thing = std::find_if(finding.who.begin(), finding.who.end(), is_thing);
  return thing == finding.who.end() ? std::string() : label_of(thing->name);
}

FindingTexts texts_of(const Finding& finding) {
  return {.headline = label_of(finding.headline), .culprit = culprit_of(finding), .next = commands_of(finding)};
}

ActiveFindings::Entry* ActiveFindings::entry_of(const Finding& finding, std::int64_t now_ns) {
  std::string object = object_of(finding);
  const auto is_same = [&](const Entry& entry) { return entry.cause == finding.cause && entry.object == object; };
  auto entry = std::find_if(entries_.begin(), entries_.end(), is_same);
  if (entry == entries_.end() && entries_.size() == kMaxFindings) {
    const auto ended = [](const Entry& one) { return one.level_now == 0 && one.level == 0 ? one.ended_ns : INT64_MAX; };
    entry = std::min_element(entries_.begin(), entries_.end(),
                             [&](const Entry& a, const Entry& b) { return ended(a) < ended(b); });
    if (ended(*entry) == INT64_MAX) return nullptr;
    entries_.erase(entry);
    entry = entries_.end();
  }
  if (entry == entries_.end()) {
    Entry fresh;
    fresh.cause = finding.cause;
    fresh.object = std::move(object);
    fresh.level_ns.fill(kNever);
    fresh.ended_ns = now_ns;
    entry = entries_.insert(entries_.end(), std::move(fresh));
  }
  return &*entry;
}

bool ActiveFindings::settle(Entry& entry, std::int64_t now_ns) {
  unsigned level = kMaxLevel;
  while (level != 0 && (entry.level_ns[level - 1] == kNever || now_ns - entry.level_ns[level - 1] >= kHoldNs)) --level;
  if (level == entry.level) return false;
  if (entry.level == 0) {
    ++entry.begun;
    entry.returns = 0;
    entry.is_listed = true;
    entry.incident.clear();
  }
  if (level == 0) entry.ended_ns = now_ns;
  entry.level = level;
  return true;
}

bool ActiveFindings::name_incident(std::string_view cause, std::string_view object, std::string_view incident) {
  const auto entry = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& one) { return one.cause == cause && one.object == object; });
  if (entry == entries_.end() || !entry->is_listed) return false;
  entry->incident = incident;
  return true;
}

bool ActiveFindings::update(std::span<const Finding> findings, std::int64_t now_ns, std::int64_t realtime_ns) {
  const std::size_t old_dropped = std::exchange(dropped_, 0);
  bool has_changed = false;
  begun_.clear();
  turned_now_.clear();
  for (Entry& entry : entries_) entry.level_before = std::exchange(entry.level_now, 0);
  for (const Finding& finding : findings) {  // most urgent first, so of two with the same object the first counts
    Entry* const entry = entry_of(finding, now_ns);
    if (entry == nullptr) {
      ++dropped_;
      continue;
    }
    if (entry->level_now != 0) continue;
    entry->level_now = level_of(finding.severity);
    if (entry->level != 0 && entry->level_before == 0) ++entry->returns;
    const bool is_certain = is_first_ || finding.certainty == Certainty::kConfirmed;
    const unsigned confirmed = is_certain ? entry->level_now : std::min(entry->level_now, entry->level_before);
    for (unsigned level = 0; level < confirmed; ++level) entry->level_ns[level] = now_ns;
    const std::uint64_t begun_before = entry->begun;
    const bool was_now = entry->level == kMaxLevel || is_first_;
    const bool has_new_level = settle(*entry, now_ns);
    if (entry->begun != begun_before) {
      begun_.push_back(static_cast<std::size_t>(&finding - findings.data()));
      entry->since = time_of(realtime_ns);
    }
    if (entry->level == kMaxLevel && !was_now) turned_now_.push_back(static_cast<std::size_t>(&finding - findings.data()));
    if (entry->level == 0 || (!has_new_level && now_ns - entry->worded_ns < kRewordNs)) continue;
    has_changed = true;
    entry->worded_ns = now_ns;
    FindingTexts texts = texts_of(finding);
    entry->headline = entry->returns < 2 ? std::move(texts.headline) : label_of(finding.headline + " (comes and goes)");
    entry->certainty = finding.certainty;
    entry->culprit = std::move(texts.culprit);
    entry->next = std::move(texts.next);
  }
  is_first_ = false;
  for (Entry& entry : entries_) {
    if (entry.level_now == 0 && settle(entry, now_ns)) has_changed = true;
  }
  std::erase_if(entries_, [&](const Entry& entry) {
    const bool is_over = entry.level == 0 && entry.level_now == 0;
    const bool is_erased = is_over && (!entry.is_listed || now_ns - entry.ended_ns >= kKeepEndedNs);
    if (is_erased && entry.is_listed) has_changed = true;
    return is_erased;
  });
  return has_changed || dropped_ != old_dropped;
}

}  // namespace memstat
