// SPDX-License-Identifier: BSD-2-Clause
// Every source of this build with every capture that shows it: what the contract tests run over. A new source takes part by
// being there.
#pragma once

#include <algorithm>
#include <cctype>
#include <ostream>
#include <string>
#include <vector>

#include "core/source.h"
#include "tests/support/fixtures.h"

namespace memstat {

struct SourceCase {
  const SourceDescriptor* source;
  std::string capture;
};

inline void PrintTo(const SourceCase& value, std::ostream* out) { *out << value.source->name << " on " << value.capture; }

inline std::vector<SourceCase> all_source_cases() {
  std::vector<SourceCase> cases;
  for (const SourceDescriptor* source : all_sources()) {
    for (const std::string& capture : captures_of_source(std::string(source->name))) cases.push_back({source, capture});
  }
  return cases;
}

/// A word that GoogleTest takes as the name of a parameter.
inline std::string word_of(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return text;
}
inline std::string name_of_case(const SourceCase& value) {
  return word_of(std::string(value.source->name) + "_" + value.capture);
}

/// Whether each type has files of its own, so that one that cannot be read is a type that went.
inline bool has_types_that_go_alone(const SourceDescriptor& source) {
  return source.allocator == Allocator::kSocket || source.allocator == Allocator::kTable;
}

/// Thrice as slow, or more: fewer repetitions where one takes milliseconds.
inline bool is_sanitized() { return std::string_view(MEMSTAT_SANITIZER) != ""; }

/// Every capture that any source is shown by, once.
inline std::vector<std::string> all_captures() {
  std::vector<std::string> captures;
  for (const SourceCase& value : all_source_cases()) captures.push_back(value.capture);
  std::sort(captures.begin(), captures.end());
  captures.erase(std::unique(captures.begin(), captures.end()), captures.end());
  return captures;
}

}  // namespace memstat
