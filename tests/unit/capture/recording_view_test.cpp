// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/recording_view.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/capture/archive.h"
#include "core/capture/replay_view.h"
#include "tests/support/child_process.h"
#include "tests/support/fake_kernel_view.h"
#include "tests/support/faulty_kernel_view.h"
#include "tests/support/fixtures.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

class RecordedClock final : public Clock {
 public:
  [[nodiscard]] std::int64_t monotonic_ns() const override { return now; }
  [[nodiscard]] std::int64_t realtime_ns() const override { return 1'795'186'800'000'000'000 + now; }
  std::int64_t now = 0;
};

class Recording : public testing::Test {
 protected:
  Recording() {
    auto files = std::make_unique<MemoryFiles>("kernel");
    (void)files->add_file("manifest.yaml", "format: 1\nos: linux\npage_size: 16384\ncpus_present: \"0-5\"\n").has_value();
    (void)files->add_file("000000/poll.yaml", "realtime: 2026-11-20T15:00:00Z\nmonotonic_ns: 1\n").has_value();
    (void)files->add_file("000000/fs/proc/stat", "cpu 1\n").has_value();
    (void)files->add_file("000000/fs/proc/binary", std::string("\0\xFF\0ffffffff81000000", 19)).has_value();
    (void)files->add_file("000000/fs/sys/slab/real/size", "64\n").has_value();
    (void)files->add_link("000000/fs/sys/slab/alias", "real").has_value();
    (void)files->add_file("000000/sysctl/kern.x", std::string("bytes\0\1", 7)).has_value();
    kernel_ = std::move(*ReplayKernelView::open(std::move(files)));
    view_ = std::make_unique<FaultyKernelView>(*kernel_);
  }
  std::unique_ptr<RecordingKernelView> record(RecordingOptions options = {}) {
    options.directory = path();
    auto made = RecordingKernelView::create(*view_, std::move(options), clock_);
    EXPECT_TRUE(made) << to_string(made.error());
    return made ? std::move(*made) : nullptr;
  }
  std::unique_ptr<ReplayKernelView> replay() {
    auto opened = open_capture(path());
    EXPECT_TRUE(opened) << to_string(opened.error());
    return opened ? std::move(*opened) : nullptr;
  }
  /// One poll that reads one file of N bytes.
  Result<void> record_poll(RecordingKernelView& recording, std::size_t size = 10) {
    view_->replace("/proc/stat", std::string(size, 'x'));
    recording.begin_poll("poll");
    EXPECT_TRUE(recording.read_file("/proc/stat", out_));
    return recording.end_poll();
  }
  [[nodiscard]] std::string path() const { return directory_.file("rec"); }
  /// Whether the capture has that file or poll, in whatever form its polls are stored.
  [[nodiscard]] bool exists(const std::string& name) const {
    const auto files = open_directory_files(path());
    EXPECT_TRUE(files) << to_string(files.error());
    const auto kind = files ? (*files)->kind(name) : Result<FileKind>(FileKind::kAbsent);
    return kind && *kind != FileKind::kAbsent;
  }

  TemporaryDirectory directory_;
  RecordedClock clock_;
  std::unique_ptr<ReplayKernelView> kernel_;
  std::unique_ptr<FaultyKernelView> view_;
  Buffer out_;
  std::vector<std::string> names_;
};

/// A source's table that contains how often it was called.
class CountedTable final : public TextTableSource {
 public:
  Result<void> open() override {
    ++opened;
    return {};
  }
  Result<void> read(Buffer& out) override {
    out.assign("reads " + std::to_string(++reads) + "\n");
    return {};
  }
  int opened = 0;
  int reads = 0;
};

TEST_F(Recording, TheTableOfASourceWithoutFilesReplaysWithoutItsSource) {
  FakeKernelView machine(OperatingSystem::kLinux);
  RecordingOptions options;
  options.directory = path();
  auto recording = std::move(*RecordingKernelView::create(machine, std::move(options), clock_));
  CountedTable table;
  ASSERT_TRUE(recording->open_table("counters", table));
  for (int poll = 1; poll <= 2; ++poll) {
    recording->begin_poll("poll");
    ASSERT_TRUE(recording->read_table("counters", table, out_));
    EXPECT_EQ(out_.view(), "reads " + std::to_string(poll) + "\n");
    ASSERT_TRUE(recording->end_poll());
  }
  EXPECT_TRUE(exists("000001/source/counters"));

  auto replay_of_it = replay();
  CountedTable untouched;
  ASSERT_TRUE(replay_of_it->open_table("counters", untouched));
  EXPECT_EQ(replay_of_it->open_table("events", untouched).error().code, ErrorCode::kNotPresent);
  ASSERT_TRUE(replay_of_it->select_poll(1));
  ASSERT_TRUE(replay_of_it->read_table("counters", untouched, out_));
  EXPECT_EQ(out_.view(), "reads 2\n");
  EXPECT_EQ(untouched.opened + untouched.reads, 0) << "a replay runs on any machine";
  EXPECT_EQ(replay_of_it->read_table("../fs/proc/stat", untouched, out_).error().code, ErrorCode::kData);
}

TEST_F(Recording, WhatWasReadReplaysByteForByte) {
  auto recording = record();
  clock_.now = 5'000'000'007;
  recording->begin_poll("first: #1");
  ASSERT_TRUE(recording->read_file("/proc/stat", out_));
  EXPECT_EQ(out_.view(), "cpu 1\n") << "the caller gets the inner view's bytes";
  ASSERT_TRUE(recording->read_file("/proc/binary", out_));
  ASSERT_TRUE(recording->read_sysctl("kern.x", out_, 0));
  ASSERT_TRUE(recording->read_link("/sys/slab/alias"));
  ASSERT_TRUE(recording->list_directory("/sys/slab", names_));
  ASSERT_TRUE(recording->read_file("/sys/slab/alias/size", out_));
  ASSERT_FALSE(recording->read_file("/proc/none", out_));
  auto ended = recording->end_poll();
  ASSERT_TRUE(ended) << to_string(ended.error());

  const auto replayed = replay();
  EXPECT_EQ(replayed->os(), OperatingSystem::kLinux);
  EXPECT_EQ(replayed->page_size(), 16384U);
  EXPECT_EQ(replayed->cpu_count(), 6U);
  EXPECT_EQ(replayed->poll_info(0).label, "first: #1");
  EXPECT_EQ(replayed->poll_info(0).monotonic_ns, 5'000'000'007);
  EXPECT_EQ(replayed->poll_info(0).realtime_ns, 1'795'186'805'000'000'007);
  ASSERT_TRUE(replayed->read_file("/proc/stat", out_));
  EXPECT_EQ(out_.view(), "cpu 1\n");
  ASSERT_TRUE(replayed->read_file("/proc/binary", out_));
  EXPECT_EQ(out_.view(), std::string_view("\0\xFF\0ffffffff81000000", 19)) << "not text, so it contains no address";
  ASSERT_TRUE(replayed->read_sysctl("kern.x", out_, 0));
  EXPECT_EQ(out_.view(), std::string_view("bytes\0\1", 7));
  EXPECT_EQ(*replayed->read_link("/sys/slab/alias"), "real");
  ASSERT_TRUE(replayed->read_file("/sys/slab/alias/size", out_));
  EXPECT_EQ(out_.view(), "64\n");
  ASSERT_TRUE(replayed->list_directory("/sys/slab", names_));
  EXPECT_EQ(names_, (std::vector<std::string>{"alias", "real"}));
  EXPECT_EQ(replayed->read_file("/proc/none", out_).error().code, ErrorCode::kNotPresent);
}

TEST_F(Recording, FailedReadsReplayWithTheirErrno) {
  view_->fail_name("/proc/slabinfo", EACCES);
  view_->fail_name("kern.secret", EPERM);
  view_->fail_name("/proc/broken", EIO);
  auto recording = record();
  ASSERT_FALSE(recording->keep_open("/proc/broken"));
  for (int poll = 0; poll < 2; ++poll) {
    recording->begin_poll("");
    ASSERT_FALSE(recording->read_file("/proc/slabinfo", out_));
    ASSERT_FALSE(recording->read_sysctl("kern.secret", out_, 0));
    ASSERT_TRUE(recording->end_poll());
  }
  const auto replayed = replay();
  ASSERT_TRUE(replayed->select_poll(1));
  EXPECT_EQ(replayed->read_file("/proc/slabinfo", out_).error().code, ErrorCode::kPermission);
  EXPECT_EQ(replayed->read_sysctl("kern.secret", out_, 0).error().system_errno, EPERM);
  EXPECT_EQ(replayed->keep_open("/proc/broken").error().system_errno, EIO) << "kept in every poll";
}

TEST_F(Recording, WhatWasReadBeforeTheFirstPollBelongsToItAndBetweenPollsToNone) {
  auto recording = record();
  ASSERT_TRUE(recording->read_file("/proc/stat", out_));
  recording->begin_poll("");
  ASSERT_TRUE(recording->end_poll());
  ASSERT_TRUE(recording->read_file("/proc/binary", out_));
  recording->begin_poll("");
  ASSERT_TRUE(recording->end_poll());
  EXPECT_TRUE(exists("000000/fs/proc/stat"));
  EXPECT_FALSE(exists("000001/fs"));
}

TEST_F(Recording, APollThatWasNotEndedIsThrownAway) {
  auto recording = record();
  recording->begin_poll("lost");
  ASSERT_TRUE(recording->read_file("/proc/binary", out_));
  recording->begin_poll("kept");
  ASSERT_TRUE(recording->read_file("/proc/stat", out_));
  ASSERT_TRUE(recording->end_poll());
  EXPECT_FALSE(exists("000000/fs/proc/binary"));
  EXPECT_EQ(replay()->poll_info(0).label, "kept");
  EXPECT_TRUE(fails(recording->end_poll(), {.system_errno = EINVAL}));
}

TEST_F(Recording, AReadThatHangsIntoALaterPollIsDropped) {
  auto recording = record();
  recording->begin_poll("hangs");
  view_->block_next("/proc/stat");
  std::thread stuck([&recording] {
    Buffer own;
    EXPECT_TRUE(recording->read_file("/proc/stat", own));
    EXPECT_EQ(own.view(), "cpu 1\n") << "still passed on";
  });
  view_->wait_until_blocked();
  ASSERT_TRUE(recording->read_file("/proc/binary", out_));
  ASSERT_TRUE(recording->end_poll());
  recording->begin_poll("next");
  view_->release();
  stuck.join();
  ASSERT_TRUE(recording->end_poll());
  EXPECT_TRUE(exists("000000/fs/proc/binary"));
  EXPECT_FALSE(exists("000000/fs/proc/stat"));
  EXPECT_FALSE(exists("000001/fs/proc/stat"));
}

TEST_F(Recording, ReadersInSeveralThreadsAreAllRecorded) {
  for (int i = 0; i < 4; ++i) view_->replace("/many/" + std::to_string(i), std::string(1000, static_cast<char>('a' + i)));
  auto recording = record();
  recording->begin_poll("");
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&recording, i] {
      Buffer own;
      for (int round = 0; round < 20; ++round) EXPECT_TRUE(recording->read_file("/many/" + std::to_string(i), own));
    });
  }
  for (std::thread& reader : readers) reader.join();
  ASSERT_TRUE(recording->end_poll());
  const auto replayed = replay();
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(replayed->read_file("/many/" + std::to_string(i), out_));
    EXPECT_EQ(out_.view(), std::string(1000, static_cast<char>('a' + i)));
  }
}

TEST_F(Recording, FilesAreForTheirOwnerOnly) {
  auto recording = record();
  ASSERT_TRUE(record_poll(*recording));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path())) {
    struct stat status {};
    ASSERT_EQ(::lstat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, entry.is_directory() ? 0700U : 0600U) << entry.path();
  }
  struct stat status {};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
}

TEST_F(Recording, TheOldestPollsGoWhenItGetsTooLarge) {
  auto recording = record({.directory = {}, .max_bytes = 300'000});
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(record_poll(*recording, 50'000));
    std::uintmax_t bytes = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path())) {
      if (entry.is_regular_file()) bytes += entry.file_size();
    }
    EXPECT_LE(bytes, 300'000U);
  }
  EXPECT_FALSE(exists("000000"));
  EXPECT_TRUE(exists("000009"));
  EXPECT_GE(replay()->poll_count(), 3U);
}

TEST_F(Recording, TheOldestPollsGoWhenTheyGetTooOld) {
  auto recording = record({.directory = {}, .max_age_ns = 100});
  for (const std::int64_t time : {0, 60, 120, 160, 161}) {
    clock_.now = time;
    ASSERT_TRUE(record_poll(*recording));
  }
  EXPECT_FALSE(exists("000000"));
  EXPECT_FALSE(exists("000001")) << "101 ns old";
  EXPECT_TRUE(exists("000002"));
}

TEST_F(Recording, APollLargerThanTheBoundIsAnErrorAndTheOthersStay) {
  auto recording = record({.directory = {}, .max_bytes = 100'000});
  ASSERT_TRUE(record_poll(*recording));
  for (const std::size_t size : {100'000UL, 200'000UL}) {
    EXPECT_TRUE(fails(record_poll(*recording, size), {.system_errno = EFBIG}));
  }
  ASSERT_TRUE(record_poll(*recording));
  EXPECT_EQ(replay()->poll_count(), 2U);
}

TEST_F(Recording, ContinuesAfterThePollsThatAreThereAndCountsThem) {
  {
    auto recording = record();
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(record_poll(*recording, 50'000));
  }
  write_text(path() + "/000003.tmp/poll.yaml", "left by a kill");
  auto recording = record({.directory = {}, .max_bytes = 300'000});
  EXPECT_FALSE(exists("000003.tmp"));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(record_poll(*recording, 50'000));
  EXPECT_TRUE(exists("000005"));
  EXPECT_FALSE(exists("000000")) << "old polls count against the bound";
}

TEST_F(Recording, RefusesTheDirectoryOfAnotherKernelAndNotesAnotherRelease) {
  {
    auto recording = record({.directory = {}, .release = "1.0"});
    ASSERT_TRUE(record_poll(*recording));
  }
  view_->set_cpu_count(64);
  EXPECT_TRUE(fails(RecordingKernelView::create(*view_, {.directory = path()}, clock_), ErrorCode::kData));
  view_->clear_faults();
  auto recording = record({.directory = {}, .release = "2.0"});
  EXPECT_EQ(replay()->manifest().release, "2.0");
  EXPECT_NE(replay()->manifest().how.find("Polls before 000001 are of release 1.0"), std::string::npos);
}

TEST_F(Recording, OneRecorderAtATime) {
  const auto first = record();
  const auto second = RecordingKernelView::create(*view_, {.directory = path()}, clock_);
  ASSERT_FALSE(second);
  EXPECT_NE(to_string(second.error()).find("another process"), std::string::npos);
}

TEST_F(Recording, AFailedWriteLeavesNoHalfPollAndTheNextOneWorks) {
  auto recording = record();
  ASSERT_TRUE(record_poll(*recording));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  struct sigaction ignored {};
  struct sigaction old {};
  ignored.sa_handler = SIG_IGN;
  ASSERT_EQ(::sigaction(SIGXFSZ, &ignored, &old), 0);
  rlimit small = before;
  small.rlim_cur = 60'000;  // the disk is full
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto failed = record_poll(*recording, 100'000);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_EQ(::sigaction(SIGXFSZ, &old, nullptr), 0);
  ASSERT_TRUE(fails(failed, {.system_errno = EFBIG}));
  EXPECT_NE(to_string(failed.error()).find("000000.tar"), std::string::npos);
  EXPECT_EQ(replay()->poll_count(), 1U);
  ASSERT_TRUE(record_poll(*recording));
  EXPECT_EQ(replay()->poll_count(), 2U);
}

TEST_F(Recording, APollIsAnAppendAndMakesNoFile) {
  auto recording = record();
  const auto entries = [this] {
    const std::filesystem::recursive_directory_iterator all(path());
    return std::distance(begin(all), end(all));
  };
  ASSERT_TRUE(record_poll(*recording));
  const auto before = entries();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(record_poll(*recording));
  EXPECT_EQ(entries(), before);
  EXPECT_EQ(replay()->poll_count(), 21U);
}

TEST_F(Recording, ContinuesWhenNoDescriptorIsLeft) {
  auto recording = record({.directory = {}, .max_bytes = 8'000'000});
  ASSERT_TRUE(record_poll(*recording));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;  // open descriptors stay
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  // Together more than a file of polls should have: the next one cannot be opened.
  std::size_t written = 0;
  for (int i = 0; i < 3; ++i) written += record_poll(*recording, 600'000) ? 1U : 0U;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(written, 3U);
  ASSERT_TRUE(record_poll(*recording));
  EXPECT_EQ(replay()->poll_count(), 5U);
  EXPECT_TRUE(std::filesystem::exists(path() + "/000004.tar"));
}

TEST_F(Recording, ACutFileOfPollsHasTheWholePollsBeforeTheCut) {
  {
    auto recording = record();
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(record_poll(*recording, 5000));
  }
  const std::string file = path() + "/000000.tar";
  const std::uintmax_t whole = std::filesystem::file_size(file);
  for (const std::uintmax_t less : {1024U, 1500U, 4096U, 7000U}) {
    std::filesystem::resize_file(file, whole - less);
    EXPECT_EQ(replay()->poll_count(), less == 1024 ? 3U : 2U) << less;
  }
  auto recording = record();
  ASSERT_TRUE(record_poll(*recording));
  EXPECT_EQ(replay()->poll_count(), 3U) << "the third is cut off, and its number is used again";
  std::filesystem::resize_file(file, 700);
  EXPECT_EQ(replay()->poll_count(), 1U);
}

TEST_F(Recording, ADamagedFileOfPollsIsRefused) {
  {
    auto recording = record();
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(record_poll(*recording, 5000));
  }
  const std::string file = path() + "/000000.tar";
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekp(148 + 2 * 512 + 512);  // near a header's checksum
  for (int i = 0; i < 8000; ++i) bytes.put('x');
  bytes.close();
  const auto opened = open_capture(path());
  ASSERT_FALSE(opened);
  EXPECT_NE(to_string(opened.error()).find("000000.tar"), std::string::npos) << to_string(opened.error());
}

TEST_F(Recording, ContinuesAfterPrivilegesAreGone) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root has privileges to drop";
  constexpr uid_t kNobody = 65534;
  const int failed_step = exit_status_of_child([&] {
    auto made = RecordingKernelView::create(
        *view_, {.directory = path(), .max_bytes = 100'000, .owner = {.user = kNobody, .group = kNobody}}, clock_);
    if (!made || ::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) return 1;
    for (int poll = 0; poll < 4; ++poll) {  // more than fit: old ones are removed
      if (!record_poll(**made, 40'000)) return 2;
    }
    return 0;
  });
  EXPECT_EQ(failed_step, 0);
  EXPECT_FALSE(exists("000000"));
  EXPECT_TRUE(exists("000003"));
}

TEST_F(Recording, EveryPollIsWholeAfterSigkillAtAnyTime) {
  for (const int polls_before_kill : {1, 2, 5, 9}) {
    std::array<int, 2> pipe_ends{};
    ASSERT_EQ(::pipe(pipe_ends.data()), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto made = RecordingKernelView::create(*view_, {.directory = path(), .max_bytes = 400'000}, clock_);
      if (!made) ::_exit(1);
      Buffer own;
      while (true) {
        (*made)->begin_poll("");
        (void)(*made)->read_file("/proc/stat", own).has_value();
        (void)(*made)->read_file("/sys/slab/real/size", own).has_value();
        (void)(*made)->read_sysctl("kern.x", own, 0).has_value();
        if (!(*made)->end_poll() || ::write(pipe_ends[1], "x", 1) != 1) ::_exit(1);
      }
    }
    ::close(pipe_ends[1]);
    char byte = 0;
    for (int i = 0; i < polls_before_kill; ++i) ASSERT_EQ(::read(pipe_ends[0], &byte, 1), 1);
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status)) << "the recorder ended by itself";
    ::close(pipe_ends[0]);
    const auto replayed = replay();
    for (std::size_t poll = 0; poll < replayed->poll_count(); ++poll) {
      ASSERT_TRUE(replayed->select_poll(poll));
      EXPECT_TRUE(replayed->read_file("/proc/stat", out_));
      EXPECT_TRUE(replayed->read_file("/sys/slab/real/size", out_));
      EXPECT_TRUE(replayed->read_sysctl("kern.x", out_, 0));
    }
  }
}

}  // namespace
}  // namespace memstat
