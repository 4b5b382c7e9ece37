// SPDX-License-Identifier: BSD-2-Clause
// The files that a source reads together, written by hand, and its parser's result.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/source.h"
#include "tests/support/result_checks.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/stream_builder.h"

namespace memstat {

/// Parses files by their paths as if read together. Thread safety: none.
class BundledFiles {
 public:
  explicit BundledFiles(const SourceDescriptor& source) : source_(source), raw_(make_raw("")) {}

  std::map<std::string, std::string> contents;  ///< By path; read in this order.
  RawBytes& raw() { return raw_; }
  Staging& staging() { return staging_; }

  Result<void> parse() {
    raw_.files.clear();
    for (const auto& [path, content] : contents) set_file(source_, path, content, raw_);
    return parse_bytes(source_, raw_, staging_);
  }
  /// The statistics, which must be unique, of valid files.
  std::map<std::string, std::uint64_t> statistics() {
    const auto result = parse();
    EXPECT_TRUE(result) << to_string(result.error());
    EXPECT_TRUE(has_unique_statistics(staging_));
    return statistics_of(staging_);
  }
  /// The figures of one type, "bytes=1 count=2", or what is wrong.
  std::string figures_of(std::string_view name) {
    if (const auto result = parse(); !result) return to_string(result.error());
    const StagedType* type = find_staged(staging_, name);
    if (type == nullptr) return "none";
    std::string words;
    for_each_of(type->fields, [&](Field field) {
      words += (words.empty() ? "" : " ") + std::string(to_string(field)) + "=" + std::to_string(type->figures[field]);
    });
    return words;
  }
  /// The parser refuses the files and reports an error in `path` at `offset`.
  void expect_refused(const std::string& path, std::size_t offset) {
    const auto result = parse();
    ASSERT_TRUE(fails(result, {.code = ErrorCode::kData, .path = path, .offset = offset})) << path;
    EXPECT_FALSE(result.error().detail.empty());
  }
  /// Replaces a file by `content`, expects it to be refused, and restores the old one.
  void expect_refused_with(const std::string& path, const std::string& content, std::size_t offset = 0) {
    SCOPED_TRACE(content.substr(0, 60));
    const auto before = contents;
    contents[path] = content;
    expect_refused(path, offset);
    contents = before;
  }

 private:
  const SourceDescriptor& source_;
  RawBytes raw_;
  Staging staging_;
};

}  // namespace memstat
