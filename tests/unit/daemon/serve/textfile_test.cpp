// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/textfile.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/fixtures.h"
#include "tests/support/polled_daemon.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

class TextfileTest : public testing::Test {
 protected:
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(directory_))
      all.push_back(entry.path().filename().string());
    return all;
  }

  const TemporaryDirectory temporary_;
  const std::filesystem::path directory_ = temporary_.path();
  const std::filesystem::path path_ = directory_ / "memstat.prom";
};

TEST_F(TextfileTest, ReplacesTheFileAndLeavesNoOther) {
  auto file = Textfile::open(path_);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->check());
  EXPECT_TRUE(names().empty());
  ASSERT_TRUE(file->write("first\n"));
  ASSERT_TRUE(file->write("2\n"));
  EXPECT_EQ(read_text(path_), "2\n");
  EXPECT_THAT(names(), testing::ElementsAre("memstat.prom"));
}

TEST_F(TextfileTest, IsReadableByTheCollectorWhateverTheUmask) {
  const mode_t before = umask(0077);
  auto file = Textfile::open(path_);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write("x\n"));
  umask(before);
  struct stat status {};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0644U);
}

TEST_F(TextfileTest, AnOldTemporaryFileIsReplaced) {
  std::filesystem::create_symlink(directory_ / "elsewhere", directory_ / ".memstat.prom.tmp");
  auto file = Textfile::open(path_);
  ASSERT_TRUE(file && file->write("page\n"));
  EXPECT_EQ(read_text(path_), "page\n");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "elsewhere")) << "a link is not followed";
}

TEST_F(TextfileTest, AFailureKeepsThePreviousFileAndReportsWhy) {
  auto file = Textfile::open(path_);
  ASSERT_TRUE(file);
  std::filesystem::create_directory(path_);  // a directory cannot be replaced by a file
  const auto written = file->write("page\n");
  ASSERT_TRUE(fails(written, {.path = path_.string()}));
  EXPECT_THAT(to_string(written.error()), HasSubstr("the old file stays"));
  EXPECT_THAT(names(), testing::ElementsAre("memstat.prom"));
}

TEST_F(TextfileTest, AMissingDirectoryIsReportedAtTheStart) {
  const auto file = Textfile::open((directory_ / "no" / "memstat.prom").string());
  ASSERT_FALSE(file);
  EXPECT_THAT(to_string(file.error()), HasSubstr("make it first"));
  EXPECT_FALSE(Textfile::open((directory_ / "").string()));
}

TEST_F(TextfileTest, TheWriterWritesEachPollsPageWithoutWhatTheExporterHasItself) {
  PolledDaemon daemon{OperatingSystem::kLinux};
  daemon.view->set(kSlabinfo, slabinfo({{"dentry", 5}}));
  auto file = Textfile::open(path_);
  ASSERT_TRUE(file);
  {
    TextfileWriter writer(*std::move(file), daemon.pool, daemon.metrics, [](LogLevel, std::string_view) {});
    writer.notify();  // before the first poll there is no page, and no file
    daemon.poll();
    writer.notify();
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(path_); }));
    daemon.view->set(kSlabinfo, slabinfo({{"dentry", 7}}));
    daemon.poll();
    writer.notify();
  }
  const std::string page = read_text(path_);
  EXPECT_EQ(type_value(page, "objects", "slab", "dentry"), "7") << "the last page is written before the writer ends";
  EXPECT_THAT(page, HasSubstr("memstat_source_up"));
  EXPECT_THAT(page, Not(HasSubstr("process_")));
}

TEST_F(TextfileTest, TheWriterReportsAFailureOnceAndTheRecovery) {
  PolledDaemon daemon{OperatingSystem::kLinux};
  daemon.view->set(kSlabinfo, slabinfo({{"dentry", 5}}));
  daemon.poll();
  auto file = Textfile::open(path_);
  ASSERT_TRUE(file);
  std::filesystem::create_directory(path_);
  std::mutex mutex;
  std::vector<std::string> messages;
  const auto count = [&] {
    const std::lock_guard lock(mutex);
    return messages.size();
  };
  {
    TextfileWriter writer(*std::move(file), daemon.pool, daemon.metrics, [&](LogLevel, std::string_view text) {
      const std::lock_guard lock(mutex);
      messages.emplace_back(text);
    });
    writer.notify();
    ASSERT_TRUE(eventually([&] { return count() == 1; }));
    std::filesystem::remove(path_);
    writer.notify();
    ASSERT_TRUE(eventually([&] { return count() == 2; }));
  }
  EXPECT_THAT(messages.at(0), HasSubstr(path_.string()));
  EXPECT_THAT(messages.at(1), HasSubstr("written again"));
}

}  // namespace
}  // namespace memstat
