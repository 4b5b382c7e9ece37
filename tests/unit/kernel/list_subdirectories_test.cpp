// SPDX-License-Identifier: BSD-2-Clause
// KernelView::list_directories: of this kernel, of any directory, in recordings, and of every view.
#include "core/capture/recording_view.h"
#include "core/capture/replay_view.h"
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

TEST_F(ListDirectories, NamesMoreThanOneCallBrings) {
  std::set<std::string> names;
  for (int i = 0; i < 500; ++i) names.insert("a directory with a long name to fill the buffer " + std::to_string(i));
  for (const std::string& name : names) std::filesystem::create_directory(directory_.file(name));
  EXPECT_EQ(listed(""), names);
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

TEST(ListDirectoriesLive, AreThoseThatTheStandardLibraryFindsInSys) {
  auto view = make_live_kernel_view();
  if (!view || (*view)->os() != OperatingSystem::kLinux) GTEST_SKIP() << "this is not Linux";
  std::error_code error;
  std::size_t compared = 0;
  std::size_t leaves = 0;
  std::filesystem::recursive_directory_iterator entries("/sys/kernel",
                                                        std::filesystem::directory_options::skip_permission_denied, error);
  if (error) GTEST_SKIP() << "/sys/kernel cannot be walked: " << error.message();
  for (; !error && entries != std::filesystem::end(entries) && compared < 300; entries.increment(error)) {
    // Other mounts there are not file systems with kernel figures, and may change while being read.
    if (entries->path().filename() == "tracing" || entries->path().filename() == "debug") {
      entries.disable_recursion_pending();
      continue;
    }
    if (entries->is_symlink(error) || !entries->is_directory(error)) continue;
    std::set<std::string> expected;
    for (const auto& inner : std::filesystem::directory_iterator(entries->path(), error)) {
      if (!inner.is_symlink() && inner.is_directory()) expected.insert(inner.path().filename());
    }
    if (error) continue;
    Buffer names;
    if (const auto result = (*view)->list_directories(entries->path().string(), names); !result) continue;
    EXPECT_EQ(names_of(names), expected) << entries->path();
    ++compared;
    leaves += expected.empty() ? 1 : 0;
  }
  EXPECT_GT(compared, leaves) << "no directory that holds another was seen";
}

TEST(ListDirectoriesRecorded, AreReplayed) {
  const auto original = open_fixture("linux-6.18-cgroup-v1.tar.zst");
  const TemporaryDirectory directory;
  const SystemClock clock;
  auto recording = RecordingKernelView::create(*original, {.directory = directory.file("rec")}, clock);
  ASSERT_TRUE(recording);
  (*recording)->begin_poll("");
  Buffer names;
  ASSERT_TRUE((*recording)->list_directories("/sys/fs/cgroup/memory", names));
  const std::set<std::string> live = names_of(names);
  EXPECT_EQ(live.count("machine.slice"), 1U);
  EXPECT_EQ(live.count("memory.stat"), 0U);
  EXPECT_FALSE((*recording)->list_directories("/sys/none", names));
  ASSERT_TRUE((*recording)->list_directories("/sys/fs/cgroup/memory/machine.slice", names));
  EXPECT_EQ(names_of(names), std::set<std::string>{"a name with blanks"});
  ASSERT_TRUE((*recording)->end_poll());
  const auto replayed = open_capture_directory(directory.file("rec"));
  ASSERT_TRUE(replayed) << to_string(replayed.error());
  ASSERT_TRUE((*replayed)->list_directories("/sys/fs/cgroup/memory", names));
  EXPECT_EQ(names_of(names), live);
  ASSERT_TRUE((*replayed)->list_directories("/sys/fs/cgroup/memory/machine.slice", names));
  EXPECT_EQ(names_of(names), std::set<std::string>{"a name with blanks"});
}

}  // namespace
}  // namespace memstat
