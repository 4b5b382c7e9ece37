// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/fixed_path.h"
#include "core/base/text.h"
#include "core/base/unique_fd.h"
#include "core/kernel/kernel_view.h"
#include "core/kernel/posix_files.h"
#include "tests/support/child_process.h"
#include "tests/support/fixtures.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

std::unique_ptr<KernelView> live_view() {
  auto view = make_live_kernel_view();
  return view ? std::move(*view) : nullptr;
}

class LiveView : public testing::Test {
 protected:
  void SetUp() override {
    if (!view) GTEST_SKIP() << "this system has no live view";
  }
  std::unique_ptr<KernelView> view = live_view();
  Buffer out;
};

class LiveLinuxView : public LiveView {
 protected:
  void SetUp() override {
    LiveView::SetUp();
    if (view && view->os() != OperatingSystem::kLinux) GTEST_SKIP() << "this is not Linux";
  }
};

TEST_F(LiveView, KnowsPageSizeAndCpus) {
  EXPECT_EQ(view->page_size(), static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
  EXPECT_GE(view->cpu_count(), static_cast<std::uint32_t>(::sysconf(_SC_NPROCESSORS_ONLN)));
}

TEST_F(LiveLinuxView, ReadsSlabinfoToItsEnd) {
  const auto result = view->read_file("/proc/slabinfo", out);
  if (!result) GTEST_SKIP() << "cannot read it here: " << to_string(result.error());
  EXPECT_GT(out.size(), 4096U) << "one read gives at most 4 KiB";
  EXPECT_EQ(out.view().substr(0, 8), "slabinfo");
  EXPECT_EQ(out.view().back(), '\n');
}

TEST_F(LiveLinuxView, AsksLittleOfProcSys) {
  ASSERT_TRUE(view->read_file("/proc/sys/fs/dentry-state", out));
  EXPECT_EQ(out.capacity(), 256U);
  std::string_view rest = trim(out.view());
  std::string_view word;
  ASSERT_TRUE(next_word(rest, word));
  EXPECT_TRUE(parse_u64(word)) << out.view();
}

TEST_F(LiveLinuxView, WhatEndsWithAShortReadIsWhole) {
  const auto lines_of = [](const Buffer& text) { return std::count(text.view().begin(), text.view().end(), '\n'); };
  for (const std::string_view path : {"/proc/net/netstat", "/proc/net/snmp", "/proc/net/snmp6", "/proc/vmstat"}) {
    Buffer to_the_end;
    PosixFiles files;
    if (!files.read_file(path, to_the_end, ReadManner::kToTheEnd)) continue;  // a kernel without IPv6
    ASSERT_TRUE(view->read_file(path, out)) << path;
    EXPECT_EQ(lines_of(out), lines_of(to_the_end)) << path;
    EXPECT_EQ(out.view().back(), '\n') << path;
  }
}

TEST_F(LiveLinuxView, AnAbsentFileIsNotPresentAndNamed) {
  EXPECT_TRUE(
      fails(view->read_file("/proc/no_such_file", out), {.code = ErrorCode::kNotPresent, .path = "/proc/no_such_file"}));
  EXPECT_FALSE(view->may_read("/proc/no_such_file"));
  EXPECT_TRUE(view->may_read("/proc/self/stat"));
}

TEST_F(LiveLinuxView, ReadsFilesBelowADirectoryThatItCameNear) {
  const TemporaryDirectory directory;
  write_text(directory.file("a/b"), "content");
  const std::string path = directory.file("a/b");
  const BaseDirectory near = view->open_base(directory.path());
  ASSERT_TRUE(near.descriptor);
  ASSERT_TRUE(view->read_at_base(near, path, out));
  EXPECT_EQ(out.view(), "content");
  const std::string absent = directory.file("a/c");
  EXPECT_TRUE(fails(view->read_at_base(near, absent, out), {.code = ErrorCode::kNotPresent, .path = absent}));
  const BaseDirectory none = view->open_base(absent);
  EXPECT_FALSE(none.descriptor);
  ASSERT_TRUE(view->read_at_base(none, path, out)) << "by its whole path";
  EXPECT_EQ(out.view(), "content");
}

TEST_F(LiveLinuxView, ListsDirectoriesSortedAndReadsLinks) {
  std::vector<std::string> names;
  ASSERT_TRUE(view->list_directory("/proc/self", names));
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_TRUE(std::binary_search(names.begin(), names.end(), "stat"));
  EXPECT_FALSE(std::binary_search(names.begin(), names.end(), ".."));
  const auto link = view->read_link("/proc/self");
  ASSERT_TRUE(link);
  EXPECT_EQ(*link, std::to_string(::getpid()));
}

TEST(PosixFiles, AKeptFileOutlivesItsNameAndIsTheOneThatWasOpened) {
  const TemporaryDirectory directory;
  write_text(directory.file("kept"), "old");
  PosixFiles files;
  ASSERT_TRUE(files.keep_open(directory.file("kept")));
  std::filesystem::remove(directory.file("kept"));
  EXPECT_TRUE(files.may_read(directory.file("kept")));
  EXPECT_FALSE(files.may_read(directory.file("other")));
  write_text(directory.file("kept"), "new");
  Buffer out;
  ASSERT_TRUE(files.read_file(directory.file("kept"), out, ReadManner::kToTheEnd));
  EXPECT_EQ(out.view(), "old");
}

// So two readers of it do not disturb each other.
TEST(PosixFiles, AReadOfAKeptFileNeitherUsesNorMovesItsOffset) {
  const TemporaryDirectory directory;
  const std::string content(3'000'000, 'x');  // several reads
  write_text(directory.file("kept"), "start" + content + "end");
  PosixFiles files;
  const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);  // the number that the kept file will have
  ASSERT_EQ(::close(next), 0);
  ASSERT_TRUE(files.keep_open(directory.file("kept")));
  ASSERT_EQ(::lseek(next, 7, SEEK_SET), 7);
  Buffer out;
  ASSERT_TRUE(files.read_file(directory.file("kept"), out, ReadManner::kToTheEnd));
  EXPECT_EQ(out.size(), content.size() + 8);
  EXPECT_EQ(out.view().substr(0, 5), "start");
  EXPECT_EQ(out.view().substr(content.size() + 5), "end");
  EXPECT_EQ(::lseek(next, 0, SEEK_CUR), 7);
}

// In a child, because the limits are the process's.
TEST(PosixFiles, WithoutRoomForAnotherOpenFileTheErrorSaysWhatToDo) {
  const TemporaryDirectory directory;
  write_text(directory.file("file"), "x");
  const int failed_step = exit_status_of_child([&] {
    const rlimit none{.rlim_cur = 0, .rlim_max = 0};
    if (::setrlimit(RLIMIT_NOFILE, &none) != 0) return 1;
    PosixFiles files;
    const auto kept = files.keep_open(directory.file("file"));
    if (kept || kept.error().code != ErrorCode::kIo || kept.error().system_errno != EMFILE) return 2;
    const std::string text = to_string(kept.error());
    for (const char* wanted : {"/file", "ulimit", "LimitNOFILE", "switch off"}) {
      if (text.find(wanted) == std::string::npos) return 3;
    }
    return 0;
  });
  EXPECT_EQ(failed_step, 0);
}

// In a child, because the limits are the process's.
TEST(PosixFiles, KeptFilesLeaveAQuarterOfTheDescriptorsAndGoWhenTheirSourceFails) {
  const TemporaryDirectory directory;
  constexpr int kFiles = 100;
  for (int i = 0; i < kFiles; ++i) write_text(directory.file(std::to_string(i)), "x");
  const int failed_step = exit_status_of_child([&] {
    const rlimit few{.rlim_cur = 80, .rlim_max = 80};
    if (::setrlimit(RLIMIT_NOFILE, &few) != 0) return 1;
    PosixFiles files;
    for (int i = 0; i < 10; ++i) {
      if (!files.keep_open(directory.file(std::to_string(i)))) return 2;
    }
    int refused = 10;
    while (refused < kFiles && files.keep_open(directory.file(std::to_string(refused)))) ++refused;
    if (refused == kFiles || files.kept_count() != static_cast<std::size_t>(refused)) return 3;
    for (int i = 0; i < 20; ++i) {
      const int left = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
      if (left < 0) return 4;
    }
    files.close_kept_after(10);
    if (files.kept_count() != 10) return 5;
    for (int i = 10; i < refused - 20; ++i) {
      if (!files.keep_open(directory.file(std::to_string(i)))) return 6;
    }
    return 0;
  });
  EXPECT_EQ(failed_step, 0);
}

/// Each reader can read its content once and cannot seek, as in debugfs' files of numbers.
class OnceReadable {
 public:
  explicit OnceReadable(std::string path) : path_(std::move(path)) {
    EXPECT_EQ(::mkfifo(path_.c_str(), 0644), 0);
    EXPECT_EQ(::chmod(path_.c_str(), 0644), 0);
  }
  /// Runs `read`, which opens the file once, while the content is offered.
  template <typename Read>
  auto offer(const std::string& content, Read read) {
    std::thread writer([&] {
      const int fd = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
      EXPECT_EQ(::write(fd, content.data(), content.size()), static_cast<ssize_t>(content.size()));
      EXPECT_EQ(::close(fd), 0);
    });
    auto result = read();
    writer.join();
    return result;
  }

 private:
  std::string path_;
};

TEST(PosixFiles, AKeptFileWithoutOffsetsIsOpenedAgainAtEachRead) {
  const TemporaryDirectory directory;
  OnceReadable file(directory.file("number"));
  PosixFiles files;
  ASSERT_TRUE(file.offer("", [&] { return files.keep_open(directory.file("number")); }));
  Buffer out;
  for (const ReadManner manner : {ReadManner::kToTheEnd, ReadManner::kInOne, ReadManner::kToTheEnd}) {
    const std::string content = manner == ReadManner::kInOne ? "2\n" : std::string(10'000, 'x');
    const auto result = file.offer(content, [&] { return files.read_file(directory.file("number"), out, manner); });
    ASSERT_TRUE(result) << to_string(result.error());
    EXPECT_EQ(out.view(), content);
  }
}

// As in debugfs: the directory belongs to root; the files in it are readable by anyone, or only by root.
TEST(PosixFiles, AKeptFileWithoutOffsetsIsReadableBelowADirectoryOfRootsAndItsRefusalIsAnError) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a directory that it later cannot reach";
  const TemporaryDirectory directory;
  std::filesystem::create_directories(directory.file("debug/zswap"));
  const std::string open = directory.file("debug/zswap/open");
  const std::string secret = directory.file("debug/zswap/secret");
  ASSERT_EQ(::mkfifo(open.c_str(), 0644), 0);
  ASSERT_EQ(::mkfifo(secret.c_str(), 0600), 0);
  ASSERT_EQ(::chmod(directory.file("debug").c_str(), 0700), 0);
  const pid_t writer = ::fork();
  ASSERT_GE(writer, 0);
  if (writer == 0) {
    // Each open waits for the reader. Only the last one writes: the others' reader closes as soon as it finds no offsets.
    ::close(::open(open.c_str(), O_WRONLY | O_CLOEXEC));
    ::close(::open(secret.c_str(), O_WRONLY | O_CLOEXEC));
    const int fd = ::open(open.c_str(), O_WRONLY | O_CLOEXEC);
    if (::write(fd, "1\n", 2) != 2) ::_exit(1);
    ::_exit(0);
  }
  const int failed_step = exit_status_of_child([&] {
    PosixFiles files;
    Buffer out;
    if (!files.keep_open(open)) return 1;
    if (!files.keep_open(secret)) return 2;
    if (::setuid(65534) != 0) return 3;
    if (!files.read_file(open, out, ReadManner::kToTheEnd) || out.view() != "1\n") return 4;
    const auto refused = files.read_file(secret, out, ReadManner::kToTheEnd);
    if (refused || refused.error().code != ErrorCode::kPermission) return 5;
    return refused.error().path == secret && refused.error().detail.find("at every read") != std::string::npos ? 0 : 6;
  });
  EXPECT_EQ(failed_step, 0);
  ::kill(writer, SIGKILL);
  ASSERT_EQ(::waitpid(writer, nullptr, 0), writer);
}

// In a child, because root must become another user for good.
TEST(PosixFiles, AKeptFileIsReadableAfterPrivilegesAreGone) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("kept");
  write_text(path, "content");
  const int failed_step = exit_status_of_child([&] {
    PosixFiles files;
    Buffer out;
    if (!files.keep_open(path)) return 1;
    if (::chmod(path.c_str(), 0) != 0) return 2;
    if (::geteuid() == 0 && ::setuid(65534) != 0) return 3;
    if (!files.read_file(path, out, ReadManner::kToTheEnd) || out.view() != "content") return 4;
    const auto denied = PosixFiles().read_file(path, out, ReadManner::kToTheEnd);
    return !denied && denied.error().code == ErrorCode::kPermission ? 0 : 5;
  });
  EXPECT_EQ(failed_step, 0);
}

TEST(ProcessStatsReader, ContinuesAfterPrivilegesAreGone) {
  if (!live_view()) GTEST_SKIP() << "this system has no live view";
  if (::geteuid() != 0) GTEST_SKIP() << "only root has privileges to drop";
  const int failed_step = exit_status_of_child([&] {
    const auto meter = make_process_stats_reader();
    const ProcessStats before = meter->read();
    if (::setuid(65534) != 0) return 1;
    const ProcessStats after = meter->read();
    return after.resident_bytes > 0 && after.open_files == before.open_files && after.start_time_seconds > 0 ? 0 : 2;
  });
  EXPECT_EQ(failed_step, 0);
}

TEST(PosixFiles, DirectoriesAndFilesAreNotInterchangeable) {
  const TemporaryDirectory directory;
  write_text(directory.file("file"), "x");
  PosixFiles files;
  Buffer out;
  std::vector<std::string> names;
  EXPECT_EQ(files.read_file(directory.path(), out, ReadManner::kToTheEnd).error().system_errno, EISDIR);
  EXPECT_EQ(files.list_directory(directory.file("file"), names).error().system_errno, ENOTDIR);
}

TEST(ProcessStatsReader, SeesADescriptorThatIsOpenedAndCpuTimeThatGrows) {
  const auto meter = make_process_stats_reader();
  if (!live_view()) GTEST_SKIP() << "this system has no live view";
  const ProcessStats before = meter->read();
  if (before.open_files == 0) GTEST_SKIP() << "this kernel does not count descriptors";
  const UniqueFd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ProcessStats after = meter->read();
  EXPECT_EQ(after.open_files, before.open_files + 1);
  while (after.cpu_seconds <= before.cpu_seconds) after = meter->read();  // reading itself takes time
  EXPECT_EQ(after.start_time_seconds, before.start_time_seconds);
}

TEST(FixedPath, RefusesWhatDoesNotFitAndStaysAsItWas) {
  FixedPath path;
  ASSERT_TRUE(path.assign("a"));
  EXPECT_FALSE(path.append(std::string(4095, 'x')));
  EXPECT_FALSE(path.append_component(std::string(4094, 'x')));
  EXPECT_EQ(path.view(), "a");
  EXPECT_TRUE(path.append_component(std::string(4093, 'x')));
  EXPECT_EQ(path.size(), 4095U);
  path.remove_last_component();
  EXPECT_STREQ(path.c_str(), "a");
  path.remove_last_component();
  EXPECT_TRUE(path.empty());
}

}  // namespace
}  // namespace memstat
