// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/replay_view.h"

#include "core/capture/archive.h"
#include "core/capture/manifest.h"
#include "tests/support/fixtures.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

const std::string kReplayManifest = "format: 1\nos: linux\npage_size: 4096\ncpus_present: \"0-3\"\n";
const std::string kReplayPoll = "label: one\nrealtime: 2026-11-20T15:00:00Z\nmonotonic_ns: 100\n";

/// The same small capture in memory and in a directory: both kinds of files must behave alike.
struct SmallCapture {
  std::vector<std::pair<std::string, std::string>> files = {
      {"manifest.yaml", kReplayManifest},       {"000000/poll.yaml", kReplayPoll}, {"000000/fs/proc/stat", "cpu 1\n"},
      {"000000/fs/sys/slab/real/size", "64\n"}, {"000000/sysctl/kern.x", "bytes"}, {"000000/sysctl/kern.xy.z", "z"},
      {"000000/sysctl/kern.x.b", "b"},          {"000000/sysctl/kern.x.a", "a"}};
  std::vector<std::pair<std::string, std::string>> links = {{"000000/fs/sys/slab/alias", "real"}};

  [[nodiscard]] std::unique_ptr<CaptureFiles> in_memory() const {
    auto made = std::make_unique<MemoryFiles>("memory");
    for (const auto& [path, bytes] : files) EXPECT_TRUE(made->add_file(path, bytes)) << path;
    for (const auto& [path, target] : links) EXPECT_TRUE(made->add_link(path, target)) << path;
    return made;
  }
  void write_to(const TemporaryDirectory& directory) const {
    for (const auto& [path, bytes] : files) write_text(directory.file(path), bytes);
    for (const auto& [path, target] : links) {
      std::filesystem::create_directories(std::filesystem::path(directory.file(path)).parent_path());
      std::filesystem::create_symlink(target, directory.file(path));
    }
  }
  /// Opens both kinds, and a directory loaded into memory, and runs `check` on each.
  void check_both(const std::function<void(ReplayKernelView&)>& check) const {
    auto memory = ReplayKernelView::open(in_memory());
    ASSERT_TRUE(memory) << to_string(memory.error());
    check(**memory);
    const TemporaryDirectory directory;
    write_to(directory);
    auto opened = open_capture(directory.path());
    ASSERT_TRUE(opened) << to_string(opened.error());
    check(**opened);
    auto opened_files = open_capture_files(directory.path());
    ASSERT_TRUE(opened_files) << to_string(opened_files.error());
    auto held = load_into_memory(**opened_files, kMaxCaptureBytes);
    ASSERT_TRUE(held) << to_string(held.error());
    auto loaded = ReplayKernelView::open(*std::move(held));
    ASSERT_TRUE(loaded) << to_string(loaded.error());
    std::filesystem::remove_all(directory.path());  // it is no longer needed
    check(**loaded);
  }
  void expect_refused(ErrorCode code, const std::string& message) const {
    const auto memory = ReplayKernelView::open(in_memory());
    ASSERT_TRUE(fails(memory, code));
    EXPECT_NE(to_string(memory.error()).find(message), std::string::npos) << to_string(memory.error());
    const TemporaryDirectory directory;
    write_to(directory);
    EXPECT_TRUE(fails(open_capture(directory.path()), code));
  }
};

TEST(Captured, GivesFilesSysctlsLinksAndListings) {
  SmallCapture().check_both([](ReplayKernelView& view) {
    EXPECT_EQ(view.os(), OperatingSystem::kLinux);
    EXPECT_EQ(view.page_size(), 4096U);
    EXPECT_EQ(view.cpu_count(), 4U);
    EXPECT_EQ(view.poll_count(), 1U);
    EXPECT_EQ(view.poll_info(0).label, "one");
    EXPECT_EQ(view.poll_info(0).monotonic_ns, 100);
    Buffer out;
    ASSERT_TRUE(view.read_file("/proc/stat", out));
    EXPECT_EQ(out.view(), "cpu 1\n");
    ASSERT_TRUE(view.read_sysctl("kern.x", out, 0));
    EXPECT_EQ(out.view(), "bytes");
    ASSERT_TRUE(view.read_file("/sys/slab/alias/size", out));
    EXPECT_EQ(out.view(), "64\n");
    const auto link = view.read_link("/sys/slab/alias");
    ASSERT_TRUE(link);
    EXPECT_EQ(*link, "real");
    std::vector<std::string> names;
    ASSERT_TRUE(view.list_directory("/sys/slab", names));
    EXPECT_EQ(names, (std::vector<std::string>{"alias", "real"}));
    ASSERT_TRUE(view.list_directory("/sys/slab/alias", names));
    EXPECT_EQ(names, (std::vector<std::string>{"size"}));
    ASSERT_TRUE(view.list_directory("/", names));
    EXPECT_EQ(names, (std::vector<std::string>{"proc", "sys"}));
    ASSERT_TRUE(view.list_sysctls("kern.x", names));
    EXPECT_EQ(names, (std::vector<std::string>{"kern.x.a", "kern.x.b"}));
    ASSERT_TRUE(view.list_sysctls("", names));
    EXPECT_EQ(names.size(), 4U);
    EXPECT_TRUE(view.keep_open("/proc/stat"));
  });
}

TEST(Captured, MissingFilesAreNotPresent) {
  SmallCapture().check_both([](ReplayKernelView& view) {
    Buffer out;
    std::vector<std::string> names;
    for (const char* path : {"/proc/none", "/none/x", "/proc/stat/x", "/sys/slab/alias/none"}) {
      EXPECT_TRUE(fails(view.read_file(path, out), {.code = ErrorCode::kNotPresent, .path = path})) << path;
      EXPECT_EQ(view.read_link(path).error().code, ErrorCode::kNotPresent);
      EXPECT_EQ(view.list_directory(path, names).error().code, ErrorCode::kNotPresent);
      EXPECT_EQ(view.keep_open(path).error().code, ErrorCode::kNotPresent);
    }
    EXPECT_EQ(view.read_sysctl("kern.none", out, 0).error().code, ErrorCode::kNotPresent);
    EXPECT_EQ(view.list_sysctls("vm", names).error().code, ErrorCode::kNotPresent);
    EXPECT_EQ(view.read_file("/proc", out).error().system_errno, EISDIR);
    EXPECT_EQ(view.list_directory("/proc/stat", names).error().system_errno, ENOTDIR);
    EXPECT_EQ(view.read_link("/proc/stat").error().system_errno, EINVAL);
  });
}

TEST(Captured, RefusesNamesThatWouldLeaveTheCapture) {
  SmallCapture().check_both([](ReplayKernelView& view) {
    Buffer out;
    std::vector<std::string> names;
    for (const std::string& path :
         {std::string(""), std::string("proc/stat"), std::string("/../poll.yaml"), std::string("/proc/../../poll.yaml"),
          std::string("//proc/stat"), std::string("/proc//stat"), std::string("/proc/stat/"), std::string("/./proc/stat"),
          std::string("/proc/st\0at", 11)}) {
      EXPECT_EQ(view.read_file(path, out).error().code, ErrorCode::kData) << path;
      EXPECT_EQ(view.list_directory(path, names).error().code, ErrorCode::kData) << path;
    }
    for (const char* name : {"", ".", "..", "../poll.yaml", "/etc/passwd", "a/b"}) {
      EXPECT_EQ(view.read_sysctl(name, out, 0).error().code, ErrorCode::kData) << name;
    }
    EXPECT_EQ(view.read_file("/" + std::string(5000, 'x'), out).error().system_errno, ENAMETOOLONG);
    EXPECT_EQ(view.read_sysctl(std::string(5000, 'x'), out, 0).error().system_errno, ENAMETOOLONG);
  });
}

TEST(Captured, RefusesLinksThatLeaveThePollsFiles) {
  SmallCapture capture;
  capture.links = {{"000000/fs/up", "../poll.yaml"},
                   {"000000/fs/absolute", "/etc/passwd"},
                   {"000000/fs/sys/far", "../../../manifest.yaml"},
                   {"000000/fs/directory", "../../.."},
                   {"000000/sysctl/kern.link", "../poll.yaml"},
                   {"000000/fs/inside", "sys/../proc/./stat"},
                   {"000000/fs/again", "inside"}};
  capture.check_both([](ReplayKernelView& view) {
    Buffer out;
    std::vector<std::string> names;
    for (const char* path : {"/up", "/absolute", "/sys/far", "/directory", "/directory/etc/passwd"}) {
      EXPECT_EQ(view.read_file(path, out).error().code, ErrorCode::kData) << path;
      EXPECT_EQ(view.list_directory(path, names).error().code, ErrorCode::kData) << path;
    }
    for (const char* path : {"/up", "/absolute", "/sys/far"}) EXPECT_EQ(view.read_link(path).error().code, ErrorCode::kData);
    EXPECT_EQ(view.read_sysctl("kern.link", out, 0).error().code, ErrorCode::kData);
    ASSERT_TRUE(view.read_file("/again", out));
    EXPECT_EQ(out.view(), "cpu 1\n");
  });
}

TEST(Captured, LinksInACircleEnd) {
  SmallCapture capture;
  capture.links = {{"000000/fs/a", "b"}, {"000000/fs/b", "a"}, {"000000/fs/self", "self/x"}};
  capture.check_both([](ReplayKernelView& view) {
    Buffer out;
    EXPECT_EQ(view.read_file("/a", out).error().system_errno, ELOOP);
    EXPECT_EQ(view.read_file("/self/y", out).error().code, ErrorCode::kIo);
  });
}

TEST(Captured, GivesBackTheErrnoThatWasRecorded) {
  SmallCapture capture;
  capture.files.emplace_back(
      "000000/errors.yaml",
      "- {path: /proc/slabinfo, errno: 13}\n- {path: /proc/stat, errno: 5}\n- {sysctl: vm.x, errno: 12}\n"
      "- {sysctl: kern.x, errno: 1}\n");
  capture.check_both([](ReplayKernelView& view) {
    Buffer out;
    std::vector<std::string> names;
    EXPECT_TRUE(fails(view.read_file("/proc/slabinfo", out), {.code = ErrorCode::kPermission, .system_errno = 13}));
    EXPECT_EQ(view.keep_open("/proc/slabinfo").error().code, ErrorCode::kPermission);
    EXPECT_EQ(view.read_file("/proc/stat", out).error().system_errno, 5) << "an error wins over a file";
    EXPECT_EQ(view.read_sysctl("vm.x", out, 0).error().code, ErrorCode::kNoMemory);
    EXPECT_EQ(view.list_sysctls("kern.x", names).error().code, ErrorCode::kPermission);
    EXPECT_TRUE(view.read_sysctl("kern.x.a", out, 0));
  });
}

TEST(Captured, SelectsPollsInOrderAndSkipsOtherDirectories) {
  SmallCapture capture;
  const auto poll = [](int number) {
    return "realtime: 2026-11-20T15:00:00Z\nmonotonic_ns: " + std::to_string(number) + "\n";
  };
  for (const int number : {3, 1000000, 999999}) {
    const std::string name = number > 999 ? std::to_string(number) : "00000" + std::to_string(number);
    capture.files.emplace_back(name + "/poll.yaml", poll(number));
    capture.files.emplace_back(name + "/fs/proc/stat", std::to_string(number));
  }
  capture.files.emplace_back("000007.tmp/poll.yaml", poll(7));
  capture.files.emplace_back("000008/fs/proc/stat", "no poll.yaml: not whole");
  capture.files.emplace_back("00009/poll.yaml", poll(9));
  capture.files.emplace_back("oracle/000000-notes.txt", "ignored");
  capture.check_both([](ReplayKernelView& view) {
    ASSERT_EQ(view.poll_count(), 4U);
    const std::vector<std::int64_t> times = {100, 3, 999999, 1000000};
    Buffer out;
    for (std::size_t i = 0; i < times.size(); ++i) {
      EXPECT_EQ(view.poll_info(i).monotonic_ns, times[i]);
      ASSERT_TRUE(view.select_poll(i));
      EXPECT_EQ(view.selected_poll(), i);
      ASSERT_TRUE(view.read_file("/proc/stat", out));
      EXPECT_EQ(out.view(), i == 0 ? "cpu 1\n" : std::to_string(times[i]));
    }
    EXPECT_TRUE(fails(view.select_poll(4), ErrorCode::kNotPresent));
    EXPECT_EQ(view.selected_poll(), 3U);
  });
}

TEST(Captured, ABadCaptureIsRefusedWithFileAndReason) {
  SmallCapture no_manifest;
  no_manifest.files.erase(no_manifest.files.begin());
  no_manifest.expect_refused(ErrorCode::kNotPresent, "manifest");
  SmallCapture no_page_size;
  no_page_size.files[0].second = "format: 1\nos: linux\npage_size: 0\ncpus_present: 0-3\n";
  no_page_size.expect_refused(ErrorCode::kData, "line 3: page_size");
  SmallCapture no_cpus;
  no_cpus.files[0].second = "format: 1\nos: linux\npage_size: 4096\n";
  no_cpus.expect_refused(ErrorCode::kData, "cpus_present");
  SmallCapture newer;
  newer.files[0].second = "format: 2\n";
  newer.expect_refused(ErrorCode::kVersion, "format 1");
  SmallCapture no_polls;
  no_polls.files.erase(no_polls.files.begin() + 1);
  no_polls.expect_refused(ErrorCode::kData, "no complete poll");
  SmallCapture bad_poll;
  bad_poll.files[1].second = "label: x\n";
  bad_poll.expect_refused(ErrorCode::kData, "000000/poll.yaml");
  SmallCapture bad_errors;
  bad_errors.files.emplace_back("000000/errors.yaml", "nonsense\n");
  bad_errors.expect_refused(ErrorCode::kData, "000000/errors.yaml: line 1");
  SmallCapture linked_poll;
  linked_poll.links = {{"000001", "000000"}};
  linked_poll.expect_refused(ErrorCode::kData, "000001");
  SmallCapture linked_manifest;
  linked_manifest.files.erase(linked_manifest.files.begin());
  linked_manifest.links = {{"manifest.yaml", "/etc/hostname"}};
  linked_manifest.expect_refused(ErrorCode::kData, "manifest.yaml");
}

TEST(MemoryFiles, RefusesUnsafeNamesAndContradictions) {
  MemoryFiles files("m");
  for (const std::string& bad : {std::string(""), std::string("/a"), std::string("a/"), std::string("a//b"),
                                 std::string("../a"), std::string("a/../b"), std::string("./a"), std::string("a\0b", 3)}) {
    EXPECT_FALSE(files.add_file(bad, "x")) << bad;
    EXPECT_FALSE(files.add_directory(bad)) << bad;
    EXPECT_FALSE(files.add_link(bad, "x")) << bad;
  }
  ASSERT_TRUE(files.add_file("a/file", "x"));
  ASSERT_TRUE(files.add_link("a/link", "file"));
  EXPECT_TRUE(files.add_directory("a"));
  EXPECT_FALSE(files.add_file("a/file", "again"));
  EXPECT_FALSE(files.add_file("a/file/below", "x"));
  EXPECT_FALSE(files.add_file("a/link/below", "x")) << "through a link";
  EXPECT_FALSE(files.add_directory("a/link"));
  EXPECT_FALSE(files.add_file("a", "x"));
  Buffer out;
  ASSERT_TRUE(files.read("a/file", out));
  EXPECT_EQ(out.view(), "x");
}

TEST(PollDirectory, IsSixDigitsOrMoreWithoutALeadingZero) {
  for (const char* good : {"000000", "000123", "999999", "1000000"}) EXPECT_TRUE(is_poll_directory(good)) << good;
  for (const char* bad : {"", "0", "00000", "0000000", "000000.tmp", "00000a", "-00001", "99999999999999999999"}) {
    EXPECT_FALSE(is_poll_directory(bad)) << bad;
  }
}

}  // namespace
}  // namespace memstat
