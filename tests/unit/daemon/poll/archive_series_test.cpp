// SPDX-License-Identifier: BSD-2-Clause
// Consecutive names of archives: which one is used, which is reused, which are removed.
#include "daemon/poll/archive_series.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/fixtures.h"
#include "tests/support/manual_clock.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

class ArchiveSeries : public testing::Test {
 protected:
  ArchiveSeries() : parent_(::open(directory_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    options_.may_number = true;
  }
  /// A file of the series that was written this long ago.
  void put(const std::string& name, std::size_t bytes, std::chrono::hours age = {}) {
    std::ofstream(directory_.file(name)) << std::string(bytes, 'x');
    timespec time{};
    time.tv_sec = clock_.realtime_ns() / 1'000'000'000 - std::chrono::seconds(age).count();
    const timespec times[2] = {time, time};
    ASSERT_EQ(::utimensat(parent_.get(), name.c_str(), times, 0), 0);
  }
  Result<SeriesArchive> open(const std::string& name = "rec.tar.zst") {
    return open_in_series(parent_.get(), directory_.file(name), options_);
  }
  std::string opened(const std::string& name = "rec.tar.zst") {
    auto archive = open(name);
    return archive ? archive->name : to_string(archive.error());
  }
  std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      all.push_back(entry.path().filename().string());
    }
    std::sort(all.begin(), all.end());
    return all;
  }

  TemporaryDirectory directory_;
  UniqueFd parent_;
  ManualClock clock_;
  SeriesOptions options_{.clock = clock_};
};

/// The account to which memstatd switches; its archives are next to those of the user who started it as root.
TEST_F(ArchiveSeries, BelongsToTheAccountAndSoCountsAsOursTheNextTime) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  constexpr uid_t kOther = 54321;
  options_.owner = kOther;
  options_.group = kOther;
  struct stat status {};
  ASSERT_EQ(::fstat(open()->file.get(), &status), 0);
  EXPECT_EQ(status.st_uid, kOther);
  EXPECT_EQ(status.st_gid, kOther);
  EXPECT_EQ(status.st_mode & 07777, 0600U);
  EXPECT_EQ(opened(), "rec.tar.zst") << "it is empty, as a run that was killed leaves it";

  put("rec.tar.zst", 100);
  ASSERT_EQ(::chown(directory_.file("rec.tar.zst").c_str(), kOther, kOther), 0);
  put("rec-2.tar.zst", 100);
  options_.max_bytes = 150;
  EXPECT_EQ(opened(), "rec-3.tar.zst");
  EXPECT_THAT(names(), ElementsAre("rec-2.tar.zst", "rec-3.tar.zst"));
}

TEST_F(ArchiveSeries, ContinuesAfterTheHighestNumber) {
  put("rec.tar.zst", 1);
  EXPECT_EQ(opened(), "rec-2.tar.zst");
  put("rec-2.tar.zst", 1);
  put("rec-10.tar.zst", 1);
  EXPECT_EQ(opened(), "rec-11.tar.zst");
}

TEST_F(ArchiveSeries, KnowsItsOwnNamesOnly) {
  for (const char* name : {"rec-1.tar.zst", "rec-02.tar.zst", "rec-x.tar.zst", "rec-.tar.zst", "rec3.tar.zst", "rec-4.tar",
                           "rec-1234567890.tar.zst", "record.tar.zst", "a-rec-7.tar.zst"}) {
    put(name, 1);
  }
  put("rec.tar.zst", 1);
  EXPECT_EQ(opened(), "rec-2.tar.zst");
  EXPECT_EQ(opened("other.tar"), "other.tar");
}

TEST_F(ArchiveSeries, FillsAnEmptyOneThatARunLeftBehind) {
  put("rec.tar.zst", 5);
  put("rec-2.tar.zst", 0);
  const auto first = open();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->name, "rec-2.tar.zst");
  EXPECT_EQ(opened(), "rec-3.tar.zst") << "the empty one is locked by a run that continues";
}

TEST_F(ArchiveSeries, FillsOnlyPlainFilesWithOneName) {
  put("elsewhere", 0);
  std::filesystem::create_symlink("elsewhere", directory_.file("rec.tar.zst"));
  EXPECT_EQ(opened(), "rec-2.tar.zst");
  std::filesystem::remove(directory_.file("rec-2.tar.zst"));
  std::filesystem::create_hard_link(directory_.file("elsewhere"), directory_.file("rec-2.tar.zst"));
  EXPECT_EQ(opened(), "rec-3.tar.zst");
  std::filesystem::remove(directory_.file("rec-3.tar.zst"));
  ASSERT_EQ(::mkfifo(directory_.file("rec-3.tar.zst").c_str(), 0600), 0);
  EXPECT_EQ(opened(), "rec-4.tar.zst") << "and does not wait for a writer";
}

TEST_F(ArchiveSeries, RemovesTheOldestBeyondTheBytes) {
  put("rec.tar.zst", 100);
  put("rec-2.tar.zst", 100);
  put("rec-3.tar.zst", 100);
  put("rec-x.tar.zst", 1000);
  options_.max_bytes = 250;
  EXPECT_EQ(opened(), "rec-4.tar.zst");
  EXPECT_THAT(names(), ElementsAre("rec-2.tar.zst", "rec-3.tar.zst", "rec-4.tar.zst", "rec-x.tar.zst"));
}

TEST_F(ArchiveSeries, RemovesOldArchives) {
  using std::chrono::hours;
  put("rec.tar.zst", 100, hours(50));
  put("rec-2.tar.zst", 100, hours(10));
  put("rec-3.tar.zst", 100, hours(49));  // the clock was set meanwhile
  options_.max_age_ns = std::chrono::nanoseconds(hours(48)).count();
  EXPECT_EQ(opened(), "rec-4.tar.zst") << "a number is not used again, so names stay in order";
  EXPECT_THAT(names(), ElementsAre("rec-2.tar.zst", "rec-4.tar.zst"));
}

TEST_F(ArchiveSeries, RemovesNothingWithoutBoundsOrNumbers) {
  put("rec.tar.zst", 100, std::chrono::hours(100'000));
  opened();
  options_.may_number = false;
  options_.max_bytes = options_.max_age_ns = 1;
  opened("rec.tar.zst");
  EXPECT_TRUE(std::filesystem::exists(directory_.file("rec.tar.zst")));
}

}  // namespace
}  // namespace memstat
