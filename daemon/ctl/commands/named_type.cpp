// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/named_type.h"

#include <algorithm>

#include "daemon/ctl/output/cells.h"

namespace memstat::ctl {

namespace {

/// Whether ALLOCATOR/NAME, or another name of the row, matches.
template <typename IsMeant>
bool is_also(const TypeRow& row, IsMeant is_meant) {
  return std::any_of(row.also.begin(), row.also.end(),
                     [&](const std::string& name) { return is_meant(name) || is_meant(row.allocator + "/" + name); });
}

}  // namespace

std::string full_name(const TypeRow& type) { return type.allocator + "/" + type.name; }

NamedType find_named_type(std::span<const TypeRow> rows, const std::string& word) {
  NamedType found;
  std::vector<std::string> full_names;
  const auto take = [&](const auto& is_meant) {
    for (const TypeRow& row : rows) {
      if (!is_meant(row)) continue;
      found.types.push_back(&row);
      const std::string full = full_name(row);
      if (std::find(full_names.begin(), full_names.end(), full) == full_names.end()) full_names.push_back(full);
    }
  };
  take([&word](const TypeRow& row) { return word == row.name || word == full_name(row); });
  if (full_names.empty()) {
    take([&word](const TypeRow& row) { return is_also(row, [&](const std::string& name) { return word == name; }); });
  }
  if (full_names.size() > 1) {
    found.types.clear();
    found.problem = "several allocators have a type \"" + printable_bytes(word) + "\": give";
    for (const std::string& name : full_names)
      found.problem += (&name == full_names.data() ? " " : " or ") + printable(name);
  } else if (full_names.empty()) {
    const bool is_full = word.find('/') != std::string::npos;
    std::vector<std::string> known;
    for (const TypeRow& row : rows) known.push_back(is_full ? full_name(row) : row.name);
    found.problem = "there is no type \"" + printable_bytes(word) + "\"" +
                    did_you_mean(word, known, "memstatctl types lists them, and ALLOCATOR/TYPE names one");
  }
  return found;
}

std::optional<std::uint64_t> sum_of(const std::vector<const TypeRow*>& types, const Column& column) {
  std::uint64_t sum = 0;
  for (const TypeRow* const type : types) {
    if (!has(*type, column)) return std::nullopt;
    sum += figure_of(*type, column);
  }
  return types.empty() ? std::nullopt : std::optional(sum);
}

void report_unknown_type(Report& report, const NamedType& named) {
  if (report.missing.empty()) {
    report.problem = named.problem;
  } else {
    report.missing.front() =
        named.problem.substr(0, named.problem.find_first_of(";?")) + " in what could be read; " + report.missing.front();
  }
}

ReportView with_merged_names(ReportView view, std::span<const TypeRow> rows) {
  const auto is_meant = [patterns = view.patterns](const std::string& name) { return matches_any(patterns, name); };
  for (const TypeRow& row : rows) {
    if (!is_also(row, is_meant)) continue;
    std::string exact;
    for (const char c : full_name(row)) {
      if (std::string_view(".[]{}()*+?|^$\\").find(c) != std::string_view::npos) exact += '\\';
      exact += c;
    }
    if (auto pattern = NamePattern::compile(exact)) view.patterns.push_back(*std::move(pattern));
  }
  return view;
}

}  // namespace memstat::ctl
