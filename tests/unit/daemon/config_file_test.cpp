// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/config_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include "core/base/sanitizer.h"
#include "tests/support/fixtures.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

/// While this object exists, the process is not root (if it was root, and if the system permits that).
class WithoutRoot {
 public:
  WithoutRoot() : is_without_(!was_root_ || seteuid(65534) == 0) {}
  ~WithoutRoot() {
    if (was_root_ && seteuid(0) != 0) std::abort();
  }
  [[nodiscard]] bool succeeded() const { return is_without_; }
  WithoutRoot(const WithoutRoot&) = delete;
  WithoutRoot& operator=(const WithoutRoot&) = delete;

 private:
  bool was_root_ = geteuid() == 0;
  bool is_without_;
};
constexpr const char* kStaysRoot = "this root cannot become another user (a user namespace without user 65534?)";

class ConfigFileTest : public testing::Test {
 protected:
  ConfigFileTest() { chmod(directory_.c_str(), 0755); }
  static void write(const std::string& path, std::string_view text) { std::ofstream(path, std::ios::trunc) << text; }
  /// Now only the account that owned the file when it was opened can read it.
  static void close_to_others(const std::string& path) { ASSERT_EQ(chmod(path.c_str(), 0), 0); }

  const TemporaryDirectory temporary_;
  const std::string directory_ = temporary_.path();
  const std::string path_ = temporary_.file("memstatd.yaml");
};

TEST_F(ConfigFileTest, IsReadAnewAtEachLoad) {
  write(path_, "retention: 3\n");
  ConfigFile file(path_);
  EXPECT_EQ(file.path(), path_);
  EXPECT_EQ(file.load()->retention, 3U);
  write(path_, "retention: 4\n");
  EXPECT_EQ(file.load()->retention, 4U);
  const std::string fresh = directory_ + "/fresh";
  write(fresh, "retention: 5\n");
  std::filesystem::rename(fresh, path_);
  EXPECT_EQ(file.load()->retention, 5U);
}

TEST_F(ConfigFileTest, KnowsTheSourcesOfThisBuild) {
  write(path_, "sources: {linux_slabinfo: {enabled: off}}\n");
  ConfigFile file(path_);
  const ConfigResult loaded = file.load();
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->sources.at("linux_slabinfo").enabled, Switch::kOff);
  write(path_, "sources: {linux_nonsense: {enabled: off}}\n");
  EXPECT_FALSE(file.load());
}

TEST_F(ConfigFileTest, AFileThatWentAwayIsAProblemAndNotReadFromMemory) {
  write(path_, "retention: 3\n");
  ConfigFile file(path_);
  ASSERT_TRUE(file.load());
  std::filesystem::remove(path_);
  EXPECT_FALSE(file.load());
}

TEST_F(ConfigFileTest, ReadsThroughTheKeptDescriptorAfterLosingPermission) {
  write(path_, "retention: 3\n");
  ConfigFile file(path_);
  ASSERT_TRUE(file.load());
  write(path_, "retention: 4\n");
  close_to_others(path_);
  const WithoutRoot without_root;
  if (!without_root.succeeded()) GTEST_SKIP() << kStaysRoot;
  const ConfigResult loaded = file.load();
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->retention, 4U) << "changed in place";
}

TEST_F(ConfigFileTest, AnUnreadableReplacedFileIsReportedWithARemedy) {
  for (const bool keep_the_old_one : {false, true}) {
    write(path_, "retention: 3\n");
    ConfigFile file(path_);
    ASSERT_TRUE(file.load());
    if (keep_the_old_one) std::filesystem::rename(path_, directory_ + "/old");
    const std::string fresh = directory_ + "/fresh";
    write(fresh, "retention: 4\n");
    close_to_others(fresh);
    std::filesystem::rename(fresh, path_);
    {
      const WithoutRoot without_root;
      if (!without_root.succeeded()) GTEST_SKIP() << kStaysRoot;
      const ConfigResult loaded = file.load();
      ASSERT_FALSE(loaded) << (keep_the_old_one ? "the old file still has a name" : "the old file has no name");
      EXPECT_THAT(loaded.problems(), ElementsAre(HasSubstr("readable by the account of the key user")));
    }
    std::filesystem::remove(path_);
  }
}

TEST_F(ConfigFileTest, OnlyRegularFilesAreReadAndNoPipeIsWaitedFor) {
  const std::string fifo = directory_ + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string& path : {fifo, std::string("/dev/zero")}) {
    EXPECT_THAT(ConfigFile(path).load().problems(),
                ElementsAre(AllOf(HasSubstr(path), HasSubstr("must be a regular file"))));
  }
  EXPECT_THAT(ConfigFile(directory_).load().problems(), ElementsAre(HasSubstr("name the file in this directory")));
}

TEST_F(ConfigFileTest, AFileMayHaveOneMebibyte) {
  write(path_, std::string(kMaxConfigBytes, '#'));
  EXPECT_TRUE(ConfigFile(path_).load());
  write(path_, std::string(kMaxConfigBytes + 1, '#'));
  EXPECT_THAT(ConfigFile(path_).load().problems(), ElementsAre(HasSubstr("larger than 1MiB")));
}

/// A file system that does not answer: reads wait until the test lets them continue.
class SlowFileSystem {
 public:
  SlowFileSystem() { is_slow = true; }
  ~SlowFileSystem() { answer(); }
  SlowFileSystem(const SlowFileSystem&) = delete;
  SlowFileSystem& operator=(const SlowFileSystem&) = delete;
  static void answer() {
    is_slow = false;
    is_slow.notify_all();
  }
  static void wait() { is_slow.wait(true); }

 private:
  inline static std::atomic<bool> is_slow = false;
};

TEST_F(ConfigFileTest, AFileSystemThatDoesNotAnswerIsAProblemAndLaterReadAgain) {
  write(path_, "retention: 3\n");
  ConfigFile file(path_, {.deadline = std::chrono::milliseconds(1), .before_read = SlowFileSystem::wait});
  {
    const SlowFileSystem slow;
    EXPECT_THAT(file.load().problems(), ElementsAre(HasSubstr("the file system did not return")));
    EXPECT_TRUE(file.is_stuck());
    EXPECT_THAT(file.load().problems(), ElementsAre(HasSubstr("an earlier read")));
  }
  while (file.is_stuck()) std::this_thread::yield();
  ConfigResult loaded = file.load();
  while (!loaded) loaded = file.load();  // a deadline of a millisecond may pass on a busy machine
  EXPECT_EQ(loaded->retention, 3U);
}

TEST_F(ConfigFileTest, DoesNotWaitForAReadWhenStopping) {
#if defined(MEMSTAT_SANITIZED)
  GTEST_SKIP() << "the stuck read that is left behind on purpose is a leak to the sanitizer";
#endif
  write(path_, "retention: 3\n");
  const SlowFileSystem slow;
  ConfigFile file(
      path_, {.deadline = std::chrono::hours(1), .must_stop = [] { return true; }, .before_read = SlowFileSystem::wait});
  EXPECT_THAT(file.load().problems(), ElementsAre(HasSubstr("memstatd is stopping")));
}  // and a stuck read is left behind

}  // namespace
}  // namespace memstat
