// SPDX-License-Identifier: BSD-2-Clause
#include "core/kernel/listed_files.h"

#include <gtest/gtest.h>

#include "tests/support/fake_kernel_view.h"

namespace memstat {
namespace {

class ListedFiles : public testing::Test {
 protected:
  /// "name=content name=content ..." of what a read of the list gives.
  std::string read_all(bool (*is_needed)(std::string_view)) {
    FileBundleWriter writer(bundle_, scratch_);
    if (const auto result = read_listed_files(view_, list_.view(), writer, is_needed); !result) {
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
  Buffer list_;
  Buffer bundle_;
  Buffer scratch_;
};

TEST_F(ListedFiles, AreReadInTheirOrderAndFollowedByAnEnd) {
  view_.set("/b", "2");
  view_.set("/a", "1");
  for (const char* path : {"/b", "/a"}) ASSERT_TRUE(list_file(view_, Finding::kWhenOpened, path, list_));
  EXPECT_EQ(read_all([](std::string_view) { return true; }), "/b=2 /a=1 end=\n ");
}

TEST_F(ListedFiles, AreNotListedWhenASourceThatOpensCannotKeepThem) {
  EXPECT_EQ(list_file(view_, Finding::kWhenOpened, "/absent", list_).error().code, ErrorCode::kNotPresent);
  view_.fail("/secret", EACCES);
  EXPECT_EQ(list_file(view_, Finding::kWhenOpened, "/secret", list_).error().code, ErrorCode::kPermission);
  EXPECT_TRUE(list_.empty());
  EXPECT_TRUE(list_file(view_, Finding::kWhenRead, "/absent", list_)) << "that is seen when it is read";
  EXPECT_FALSE(list_file(view_, Finding::kWhenRead, "/two\nlines", list_));
  EXPECT_EQ(list_.view(), "/absent\n");
}

TEST_F(ListedFiles, ThatCannotBeReadAreLeftOutUnlessNothingGoesWithout) {
  view_.set("/a", "1");
  view_.set("/b", "2");
  for (const char* path : {"/a", "/b"}) ASSERT_TRUE(list_file(view_, Finding::kWhenOpened, path, list_));
  view_.fail("/a", EIO);
  EXPECT_EQ(read_all([](std::string_view path) { return path == "/b"; }), "/b=2 end=\n ");
  EXPECT_NE(read_all([](std::string_view path) { return path == "/a"; }).find("/a"), std::string::npos);
}

TEST(ComponentAfter, IsWhatStandsBehindThePrefix) {
  std::string_view rest = "x";
  EXPECT_EQ(component_after("/a/b/c/d", "/a/", rest), "b");
  EXPECT_EQ(rest, "c/d");
  EXPECT_EQ(component_after("/a/b", "/a/", rest), "b");
  EXPECT_EQ(rest, "");
  EXPECT_EQ(component_after("/a/node12/x", "/a/node", rest), "12");
  EXPECT_EQ(component_after("/b/c", "/a/", rest), "");
  EXPECT_EQ(component_after("", "/a/", rest), "");
}

}  // namespace
}  // namespace memstat
