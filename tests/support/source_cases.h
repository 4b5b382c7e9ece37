// SPDX-License-Identifier: BSD-2-Clause
// Every source of this build with every capture that shows it, for the contract tests. A new source is included
// automatically.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "core/query.h"
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

/// A word that GoogleTest accepts as the name of a parameter.
inline std::string word_of(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return text;
}
inline std::string name_of_case(const testing::TestParamInfo<SourceCase>& info) {
  return word_of(std::string(info.param.source->name) + "_" + info.param.capture);
}
inline std::string name_of_capture(const testing::TestParamInfo<std::string>& info) { return word_of(info.param); }

/// The captures that show a source, for INSTANTIATE_TEST_SUITE_P with name_of_capture.
inline auto shown_by(const std::string& source_name) { return testing::ValuesIn(captures_of_source(source_name)); }

/// Whether a file is in a directory whose files the source opens by name.
inline bool is_reopened(const SourceDescriptor& source, std::string_view path) {
  const std::vector<std::string> reopened = reopened_paths_of(source);
  return std::any_of(reopened.begin(), reopened.end(),
                     [&](const std::string& each) { return path == each || path.starts_with(each + "/"); });
}

/// Whether each type has its own files, so that a type whose file cannot be read has vanished.
inline bool has_types_that_go_alone(const SourceDescriptor& source) {
  return source.allocator == Allocator::kMemcg || source.allocator == Allocator::kSocket ||
         source.allocator == Allocator::kTable || source.allocator == Allocator::kProcess;
}

/// Whether a source reads one of FreeBSD's statistics streams, whose records are contiguous.
inline bool is_stream(const SourceDescriptor& source) {
  return source.name == "freebsd_malloc" || source.name == "freebsd_uma";
}

/// Whether it reads files or sysctls; it may also have a table.
inline bool reads_files(const SourceDescriptor& source) {
  return !source.name.ends_with("_log") && source.name != "linux_tmpfs" && source.name != "linux_view";
}

/// Whether a source reads a table of its own, and hardly any file.
inline bool has_table(const SourceDescriptor& source) { return source.name == "cpu_counters" || !reads_files(source); }

/// At least three times as slow, so use fewer repetitions if one takes milliseconds.
inline bool is_sanitized() { return std::string_view(MEMSTAT_SANITIZER) != ""; }

/// The roster of a source's types: the source itself, or, if it only adds figures to another's types, the other one.
inline const SourceDescriptor& roster_of(const SourceDescriptor& source) {
  for (const SourceDescriptor* other : all_sources()) {
    if (other->os == source.os && other->allocator == source.allocator && other->is_roster) return *other;
  }
  return source;
}

/// The types to which such a source adds its figures. For rosters nothing.
/// Thread safety: none.
class RosterFirst {
 public:
  explicit RosterFirst(const SourceDescriptor& source) {
    if (const SourceDescriptor& roster = roster_of(source); &roster != &source) reader_.emplace(roster);
  }
  void refresh_into(MemoryTypeList& list, KernelView& view, std::uint64_t generation) {
    if (!reader_) return;
    const auto result = refresh(*reader_, view, list, generation);
    ASSERT_TRUE(result) << to_string(result.error());
  }

 private:
  std::optional<SourceReader> reader_;
};

/// Every capture that shows a source, once.
inline std::vector<std::string> all_captures() {
  std::vector<std::string> captures;
  for (const SourceCase& value : all_source_cases()) captures.push_back(value.capture);
  std::sort(captures.begin(), captures.end());
  captures.erase(std::unique(captures.begin(), captures.end()), captures.end());
  return captures;
}

}  // namespace memstat
