// SPDX-License-Identifier: BSD-2-Clause
// Fixtures that have read a source once: from a capture, or from this machine's kernel.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/query.h"
#include "tests/support/fixtures.h"
#include "tests/support/result_checks.h"
#include "tests/support/source_cases.h"
#include "tests/support/stream_builder.h"

namespace memstat {

/// The figures of a staged type, with "-" for one that it does not have.
inline std::string figure_words(const StagedType& type, std::initializer_list<Field> fields, char between = '/') {
  std::string words;
  for (const Field field : fields) {
    if (!words.empty()) words += between;
    words += type.fields.has(field) ? std::to_string(type.figures[field]) : "-";
  }
  return words;
}

/// "name: FIGURES; name: FIGURES" of all types.
inline std::string type_words(const Staging& staging, std::initializer_list<Field> fields, char between = '/') {
  std::string words;
  for (const StagedType& type : staging.types()) {
    words += (words.empty() ? "" : "; ") + std::string(type.name) + ": " + figure_words(type, fields, between);
  }
  return words;
}

/// A source whose raw bytes are one text, which the tests write: the file that its plan requires.
template <const SourceDescriptor& (*kSource)()>
class ParsedSource : public testing::Test {
 protected:
  Result<void> parse(std::string_view text, std::uint32_t cpus = 4, std::uint64_t page_size = 4096) {
    if (kSource().plan.empty()) {
      reader_.raw.parts[0].assign(text);
    } else {
      set_file(kSource(), main_file(kSource()).path, text, reader_.raw);
    }
    reader_.raw.cpu_count = cpus;
    reader_.raw.page_size = page_size;
    return parse_source(reader_);
  }
  /// The figures of all types, or the error.
  std::string words(std::string_view text, std::initializer_list<Field> fields, char between = '/') {
    const auto result = parse(text);
    return result ? type_words(reader_.staging, fields, between) : to_string(result.error());
  }
  void expect_refused(std::string_view text, std::uint64_t offset, ErrorCode code = ErrorCode::kData) {
    const auto result = parse(text);
    ASSERT_TRUE(fails(result, {.code = code, .offset = offset})) << text;
    EXPECT_FALSE(result.error().detail.empty()) << text;
  }
  SourceReader reader_{kSource()};
};

/// The source has been read from the capture that is the parameter.
template <const SourceDescriptor& (*kSource)()>
class CapturedSource : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(open_source(reader_, *view_));
    const auto refreshed = refresh(reader_, *view_, list_, 1);
    ASSERT_TRUE(refreshed) << to_string(refreshed.error());
  }
  const std::unique_ptr<ReplayKernelView> view_ = open_fixture(GetParam());
  SourceReader reader_{kSource()};
  MemoryTypeList list_;
};

/// The source is open on this machine's kernel, and not read yet. The test is skipped if it cannot be opened.
template <const SourceDescriptor& (*kSource)()>
class LiveSource : public testing::Test {
 protected:
  void SetUp() override {
    auto view = make_live_kernel_view();
    if (!view || (*view)->os() != kSource().os) GTEST_SKIP() << "this machine runs another system";
    view_ = *std::move(view);
    if (const auto opened = open_source(reader_, *view_); !opened) {
      const ErrorCode code = opened.error().code;
      ASSERT_TRUE(code == ErrorCode::kNotPresent || code == ErrorCode::kPermission) << to_string(opened.error());
      GTEST_SKIP() << to_string(opened.error());
    }
  }
  testing::AssertionResult refreshes() {
    const auto refreshed = refresh(reader_, *view_, list_, ++generation_);
    return refreshed ? testing::AssertionSuccess() : testing::AssertionFailure() << to_string(refreshed.error());
  }
  std::unique_ptr<KernelView> view_;
  SourceReader reader_{kSource()};
  MemoryTypeList list_;
  std::uint64_t generation_ = 0;
};

}  // namespace memstat
