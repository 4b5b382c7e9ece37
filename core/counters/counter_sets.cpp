// SPDX-License-Identifier: BSD-2-Clause
#include "core/counters/counter_sets.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/counters/event_names.h"

namespace memstat::counters {
namespace {

bool is_plain(std::string_view event) {
  constexpr std::size_t kMaxSize = 512;
  return !event.empty() && event.size() <= kMaxSize && is_valid_label_text(event) &&
         event.find_first_of(" \t") == std::string_view::npos;
}

/// Whether the name is in the style of CPU manuals and libpfm4: upper case.
bool is_cpu_event_name(std::string_view event) {
  constexpr std::size_t kMinSize = 3;
  return event.size() >= kMinSize && std::all_of(event.begin(), event.end(), [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == ':' || c == '=';
         });
}

}  // namespace

std::vector<CounterSet> parse_counter_sets(std::string_view text) {
  std::vector<CounterSet> sets;
  for (std::string_view line; next_line(text, line);) {
    CounterSet set;
    std::string_view word;
    if (!next_word(line, word)) continue;
    set.name = word;
    if (!next_word(line, word)) continue;
    set.cpus = word;
    while (next_word(line, word)) set.events.emplace_back(word);
    if (!set.events.empty()) sets.push_back(std::move(set));
  }
  return sets;
}

std::string problem_with_event(std::string_view event) {
  if (!is_plain(event)) return "is not the name of an event: 1 to 512 characters without blanks";
  // CPU-specific events and tracepoints may belong to another machine that shares the configuration.
  const bool is_of_kernel = find_kernel_event(event) != nullptr || event == kPageWalks || parse_raw_code(event) ||
                            parse_tracepoint(event) || parse_pmu_event(event);
  if (is_of_kernel || is_cpu_event_name(event)) return {};
  std::vector<EventInfo> known;
  for (const NamedEvent& one : kernel_events()) known.push_back({.name = one.name, .description = {}});
  known.push_back({.name = std::string(kPageWalks), .description = {}});
  const std::vector<std::string> near = nearest_names(event, known);
  if (near.empty()) return "is not an event of this machine; memstatctl counters --list prints those that are";
  return "is not an event; is it " + join_words(std::vector<std::string_view>(near.begin(), near.end()), " or ") + "?";
}

}  // namespace memstat::counters
