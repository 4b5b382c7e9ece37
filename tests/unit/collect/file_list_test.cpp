// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/file_list.h"

#include "tests/support/fake_kernel_view.h"
#include "tests/support/manual_clock.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

class ListedFiles : public testing::Test {
 protected:
  /// "name=content name=content ..." of a read of the list.
  std::string read_all(bool (*is_error)(std::string_view, ErrorCode)) {
    FileBundleWriter writer(bundle_, scratch_);
    if (const auto result = read_listed_files(view_, list_, writer, is_error); !result) {
      return to_string(result.error());
    }
    std::string words;
    FileBundleReader reader(bundle_.view());
    std::string_view name;
    std::string_view content;
    while (reader.next(name, content)) words += std::string(name) + "=" + std::string(content) + " ";
    return words;
  }

  FakeKernelView view_{OperatingSystem::kLinux};
  FileList list_;
  Buffer bundle_;
  Buffer scratch_;
};

TEST_F(ListedFiles, AreReadInTheirOrderAndFollowedByAnEnd) {
  view_.set("/b", "2");
  view_.set("/a", "1");
  for (const char* path : {"/b", "/a"}) ASSERT_TRUE(list_file(view_, ListTime::kWhenOpened, path, list_));
  EXPECT_EQ(read_all([](std::string_view, ErrorCode) { return true; }), "/b=2 /a=1 end=\n ");
}

TEST_F(ListedFiles, ThatCannotBeReadAreLeftOutOnlyWhereTheSourceSaysSo) {
  view_.set("/a", "1");
  view_.set("/b", "2");
  for (const char* path : {"/a", "/b"}) ASSERT_TRUE(list_file(view_, ListTime::kWhenOpened, path, list_));
  const auto is_error = [](std::string_view path, ErrorCode code) { return path == "/b" || code != ErrorCode::kNotPresent; };
  view_.fail("/a", ENOENT);
  EXPECT_EQ(read_all(is_error), "/b=2 end=\n ");
  view_.fail("/a", ESPIPE);
  EXPECT_NE(read_all(is_error).find("/a"), std::string::npos);
  view_.set("/a", "1");
  view_.fail("/b", ENOENT);
  EXPECT_NE(read_all(is_error).find("/b"), std::string::npos);
}

class KnownFiles : public ListedFiles {
 protected:
  static constexpr std::string_view kPaths[] = {"/a", "/b", "/c"};
  std::string list(ListTime when, std::string_view needed = {}) {
    const auto result = list_known_files(view_, when, kPaths, needed, scratch_, list_);
    return result ? lines() : to_string(result.error());
  }
  /// The list, a path a line.
  std::string lines() {
    std::string text;
    for (const std::string& path : list_) text += path + "\n";
    return text;
  }
  /// "content content ..." of a read, "-" for a file that cannot be read.
  std::string read(std::string_view needed = {}) {
    FileBundleWriter writer(bundle_, scratch_);
    if (const auto result = read_known_files(view_, list_, needed, writer); !result) return to_string(result.error());
    std::array<std::optional<std::string_view>, 3> contents;
    EXPECT_TRUE(find_contents(bundle_.view(), kPaths, contents));
    std::string words;
    for (const auto& content : contents) words += std::string(content.value_or("-")) + " ";
    return words;
  }
};

TEST_F(KnownFiles, AreThoseThatTheKernelHas) {
  view_.set("/a", "1");
  view_.set("/c", "3");
  for (const ListTime when : {ListTime::kWhenOpened, ListTime::kWhenRead}) {
    EXPECT_EQ(list(when), "/a\n/c\n");
    EXPECT_EQ(list(when, "/c"), "/a\n/c\n");
    EXPECT_EQ(read(), "1 - 3 ");
    EXPECT_NE(list(when, "/b").find("/b"), std::string::npos) << "needed";
    EXPECT_TRUE(list_.empty());
  }
}

TEST_F(KnownFiles, ThatGoAreLeftOutWhileAnyIsThere) {
  for (const char* path : {"/a", "/b", "/c"}) view_.set(path, path + 1);
  ASSERT_EQ(list(ListTime::kWhenOpened), "/a\n/b\n/c\n");
  EXPECT_EQ(read("/a"), "a b c ");
  view_.fail("/b", ENOENT);
  EXPECT_EQ(read("/a"), "a - c ");
  view_.fail("/b", EACCES);
  EXPECT_EQ(read("/a"), "a - c ");
  EXPECT_NE(read("/b").find("/b"), std::string::npos) << "needed";
  view_.fail("/b", EIO);
  EXPECT_NE(read("/a").find("/b"), std::string::npos);
  for (const char* path : {"/a", "/b", "/c"}) view_.fail(path, ENOENT);
  EXPECT_NE(read().find("/a"), std::string::npos) << "the first";
}

TEST_F(KnownFiles, ThatComeLaterAreFoundAtEveryFourthRead) {
  view_.set("/b", "2");
  ASSERT_EQ(list(ListTime::kWhenOpened), "/b\n");
  view_.set("/c", "3");
  view_.fail("/a", EACCES);
  for (const std::uint32_t reads : {0U, 1U, 2U, 3U, 5U}) {
    add_new_files(view_, reads, kPaths, scratch_, list_);
    EXPECT_EQ(lines(), "/b\n") << reads;
  }
  add_new_files(view_, kReadsBetweenLooks, kPaths, scratch_, list_);
  EXPECT_EQ(lines(), "/b\n/c\n");
  view_.set("/a", "1");
  add_new_files(view_, 2 * kReadsBetweenLooks, kPaths, scratch_, list_);
  EXPECT_EQ(lines(), "/a\n/b\n/c\n");
  EXPECT_EQ(read(), "1 2 3 ");
  list_.clear();
  add_new_files(view_, kReadsBetweenLooks, kPaths, scratch_, list_);
  EXPECT_EQ(lines(), "/a\n/b\n/c\n");
}

// ---- settings ------------------------------------------------------------------------------------------------------------

class Settings : public testing::Test {
 protected:
  Settings() {
    view_.set_clock(clock_);
    view_.set_live(true);
    view_.set("/a", "1\n");
    view_.set("/b", "2\n");
  }
  /// The content of both files in the next read; "-" for a missing one.
  std::string next() {
    const auto result = read_settings(view_, reads_++, files_, scratch_, bundle_);
    if (!result) return to_string(result.error());
    constexpr std::array<std::string_view, 2> kBoth = {"/a", "/b"};
    std::array<std::optional<std::string_view>, 2> contents;
    EXPECT_TRUE(find_contents(bundle_.view(), kBoth, contents));
    return std::string(contents[0].value_or("-")) + std::string(contents[1].value_or("-"));
  }

  ManualClock clock_;
  FakeKernelView view_{OperatingSystem::kLinux};
  SettingFiles files_{.list = {"/a", "/b"}};
  Buffer scratch_;
  Buffer bundle_;
  std::uint32_t reads_ = 0;
};

TEST_F(Settings, AreReadAtEachFourthRead) {
  EXPECT_EQ(next(), "1\n2\n");
  view_.set("/a", "3\n");
  for (std::uint32_t i = 1; i < kReadsBetweenLooks; ++i) EXPECT_EQ(next(), "1\n2\n");
  EXPECT_EQ(next(), "3\n2\n");
  EXPECT_EQ(view_.reads_of("/a"), 2);
}

TEST_F(Settings, AreReadAtLeastOnceAMinute) {
  EXPECT_EQ(next(), "1\n2\n");
  view_.set("/a", "3\n");
  clock_.advance(std::chrono::seconds(58));
  EXPECT_EQ(next(), "1\n2\n");
  clock_.advance(std::chrono::seconds(1));
  EXPECT_EQ(next(), "3\n2\n");
  EXPECT_EQ(view_.reads_of("/a"), 2);
}

TEST(WhatMayBeLeftOut, IsReadAsOftenAsTheSourceRequests) {
  FakeKernelView view(OperatingSystem::kLinux);
  view.set_live(true);
  int fourths = 0;
  int sixteenths = 0;
  for (std::uint32_t reads = 0; reads < 32; ++reads) {
    fourths += may_skip(view, reads) ? 0 : 1;
    sixteenths += may_skip(view, reads, 16) ? 0 : 1;
  }
  EXPECT_EQ(fourths, 8);
  EXPECT_EQ(sixteenths, 2);
}

TEST_F(Settings, AreReadEachTimeInACaptureAndForOne) {
  view_.set_live(false);
  for (int i = 0; i < 3; ++i) next();
  EXPECT_EQ(view_.reads_of("/a"), 3);
  view_.set_live(true);
  view_.set_recorded(true);
  for (int i = 0; i < 3; ++i) next();
  EXPECT_EQ(view_.reads_of("/a"), 6);
}

TEST_F(Settings, AreReadAgainWhileOneIsMissing) {
  view_.fail("/b", ENOENT);
  EXPECT_EQ(next(), "1\n-");
  view_.set("/b", "2\n");
  EXPECT_EQ(next(), "1\n2\n");
  EXPECT_EQ(next(), "1\n2\n");
  EXPECT_EQ(view_.reads_of("/b"), 2);
}

TEST_F(Settings, StayWhereNoFileCanBeOpened) {
  EXPECT_EQ(next(), "1\n2\n");
  view_.set("/a", "3\n");
  view_.fail("/b", ENFILE);
  clock_.advance(std::chrono::minutes(1));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(next(), "1\n2\n");
  view_.set("/b", "4\n");
  EXPECT_EQ(next(), "3\n4\n");
}

TEST_F(Settings, AreReadAgainAfterAnError) {
  view_.fail("/b", EIO);
  EXPECT_NE(next().find("/b"), std::string::npos);
  view_.set("/b", "2\n");
  EXPECT_EQ(next(), "1\n2\n");
}

}  // namespace
}  // namespace memstat
