// SPDX-License-Identifier: BSD-2-Clause
// KernelView::list_directories, of the live view and of the base.
#include "tests/support/fixtures.h"
#include "tests/support/rooted_kernel_view.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

std::set<std::string> names_of(const Buffer& buffer) {
  std::set<std::string> names;
  std::string_view rest = buffer.view();
  for (std::size_t end = rest.find('\0'); end != std::string_view::npos; end = rest.find('\0')) {
    EXPECT_TRUE(names.emplace(rest.substr(0, end)).second) << "twice: " << rest.substr(0, end);
    rest.remove_prefix(end + 1);
  }
  EXPECT_TRUE(rest.empty()) << "a name without its end";
  return names;
}

class ListDirectories : public testing::Test {
 protected:
  void SetUp() override {
    if (!RootedKernelView::has_live_view()) GTEST_SKIP() << "this system has no live view";
    view_ = std::make_unique<RootedKernelView>(directory_.path());
  }
  std::set<std::string> listed(const std::string& path) {
    Buffer names("left over");
    const auto result = view_->list_directories(path, names);
    EXPECT_TRUE(result) << to_string(result.error());
    return names_of(names);
  }
  TemporaryDirectory directory_;
  std::unique_ptr<RootedKernelView> view_;
};

TEST_F(ListDirectories, NamesDirectoriesAndNeitherFilesNorLinks) {
  EXPECT_EQ(listed(""), std::set<std::string>{});
  write_text(directory_.file("file"), "x");
  EXPECT_EQ(listed(""), std::set<std::string>{});
  const std::set<std::string> names{"a", ".hidden", "..more", "with blank", "new\nline", "\xFF\"", std::string(255, 'n')};
  for (const std::string& name : names) std::filesystem::create_directories(directory_.file(name) + "/below");
  std::filesystem::create_directory_symlink("a", directory_.file("link"));
  EXPECT_EQ(listed(""), names);
  EXPECT_EQ(listed("/a"), std::set<std::string>{"below"});
  EXPECT_EQ(listed("/a/below"), std::set<std::string>{});
}

TEST_F(ListDirectories, SaysWhatIsWrong) {
  write_text(directory_.file("file"), "x");
  Buffer names;
  EXPECT_EQ(view_->list_directories("/none", names).error().system_errno, ENOENT);
  EXPECT_EQ(view_->list_directories("/file", names).error().system_errno, ENOTDIR);
  EXPECT_EQ(view_->list_directories("/file", names).error().code, ErrorCode::kNotPresent);
  EXPECT_FALSE(view_->list_directories(std::string("/a\0b", 4), names));
  EXPECT_FALSE(view_->list_directories("/" + std::string(5000, 'n'), names));
}

TEST_F(ListDirectories, OfTheBaseAreTheSameAsOfTheLiveView) {
  for (const char* name : {"a", "b c", "d"}) std::filesystem::create_directory(directory_.file(name));
  write_text(directory_.file("file"), "x");
  Buffer names;
  ASSERT_TRUE(view_->KernelView::list_directories("", names));
  EXPECT_EQ(names_of(names), listed(""));
  view_->failures["/a"] = EACCES;  // a directory all the same
  ASSERT_TRUE(view_->KernelView::list_directories("", names));
  EXPECT_EQ(names_of(names), listed(""));
  view_->failures["/a"] = EIO;
  EXPECT_EQ(view_->KernelView::list_directories("", names).error().system_errno, EIO);
}

}  // namespace
}  // namespace memstat
