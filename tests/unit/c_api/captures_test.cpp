// SPDX-License-Identifier: BSD-2-Clause
// A recording instead of the kernel: by MEMSTAT_CAPTURE or memstat_mtl_set_capture, as a directory or an archive, at any
// poll; and recordings by a program.
#include <fcntl.h>
#include <sys/stat.h>

#include "core/capture/archive.h"
#include "tests/support/c_list.h"
#include "tests/support/fixtures.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

const std::string kLinux = "linux-6.12-4cpu.tar.zst";

/// Writes a capture of a FreeBSD kernel whose poll number p has a malloc type with 100 + p bytes and a zone with p items.
void write_capture(const std::string& directory, int polls) {
  write_text(directory + "/manifest.yaml",
             "format: 1\nos: freebsd\nrelease: 15.0\nmachine: amd64\npage_size: 4096\ncpus_present: \"0-1\"\nnodes: 1\n");
  for (int poll = 0; poll < polls; ++poll) {
    const std::string at = directory + "/00000" + std::to_string(poll) + "/";
    const auto number = static_cast<std::uint64_t>(poll);
    write_text(at + "poll.yaml", "label: poll " + std::to_string(poll) + "\nrealtime: 2026-01-01T00:00:0" +
                                     std::to_string(poll) + "Z\nmonotonic_ns: " + std::to_string(poll) + "000000000\n");
    write_text(at + "sysctl/kern.malloc_stats", MallocStream(2).add("m", {{1, {100 + number, 0, 1, 0, 1}}}).bytes());
    write_text(at + "sysctl/kern.smp.maxcpus", bytes_of(2));
    write_text(at + "sysctl/kern.malloc_count", bytes_of(1));
    write_text(at + "sysctl/vm.zone_stats", UmaStream(2).add({.name = "z", .size = 1, .allocs = number}).bytes());
    write_text(at + "sysctl/kern.smp.maxid", bytes_of(1));
    write_text(at + "sysctl/vm.zone_count", bytes_of(1));
  }
}

bool has_archives() {
  const auto opened = open_capture(fixture_path("captures/" + kLinux));
  return opened.has_value();
}

class CApiCaptures : public testing::Test {
 protected:
  void SetUp() override { ::unsetenv("MEMSTAT_CAPTURE"); }
  void TearDown() override { ::unsetenv("MEMSTAT_CAPTURE"); }
  static void name(const std::string& reference) { ::setenv("MEMSTAT_CAPTURE", reference.c_str(), 1); }
  /// Bytes of the malloc type after a query that must succeed.
  static std::uint64_t bytes_after_query(memory_type_list* list) {
    EXPECT_EQ(memstat_sysctl_all(list, 0), 0) << memstat_mtl_get_message(list);
    return memstat_get_bytes(memstat_mtl_find(list, ALLOCATOR_MALLOC, "m"));
  }
  static void expect_failure(memory_type_list* list, int error, const std::string& words) {
    const std::string before = everything(list);
    EXPECT_EQ(memstat_sysctl_all(list, 0), -1);
    EXPECT_EQ(memstat_mtl_geterror(list), error) << memstat_mtl_get_message(list);
    EXPECT_NE(std::string(memstat_mtl_get_message(list)).find(words), std::string::npos) << memstat_mtl_get_message(list);
    EXPECT_EQ(everything(list), before);
  }
  const TemporaryDirectory directory_;
  const ListPtr list_ = make_list();
};

TEST_F(CApiCaptures, OfTheEnvironmentAreReadAtTheLastPollOrTheOneNamed) {
  write_capture(directory_.file("c"), 3);
  name(directory_.file("c"));
  EXPECT_EQ(bytes_after_query(list_.get()), 102U);
  for (const int poll : {0, 1, 2}) {
    name(directory_.file("c") + "@" + std::to_string(poll));
    EXPECT_EQ(bytes_after_query(list_.get()), 100U + static_cast<unsigned>(poll)) << "the variable counts at each query";
    EXPECT_EQ(memstat_get_count(memstat_mtl_find(list_.get(), ALLOCATOR_UMA, "z")), static_cast<std::uint64_t>(poll));
  }
  EXPECT_EQ(memstat_mtl_get_count(list_.get()), 2U) << "the same types all along";
}

TEST(CApiSysctl, IsGivenAsItIs) {
  auto kernel = make_kernel(MallocStream(2).add("m").bytes(), UmaStream(2).add({.name = "z", .size = 1}).bytes());
  kernel->set("kern.ipc.sfstat", "12345678");
  const ListPtr list = make_list(kernel);
  char room[16] = {};
  std::size_t size = sizeof room;
  ASSERT_EQ(memstat_sysctl_get(list.get(), "kern.ipc.sfstat", room, &size), 0);
  EXPECT_EQ(std::string(room, size), "12345678");
  size = 7;
  EXPECT_EQ(memstat_sysctl_get(list.get(), "kern.ipc.sfstat", room, &size), -1);
  EXPECT_EQ(memstat_mtl_geterror(list.get()), MEMSTAT_ERROR_DATAERROR);
  EXPECT_EQ(size, 8U) << "what is needed";
  size = 0;
  EXPECT_EQ(memstat_sysctl_get(list.get(), "kern.ipc.sfstat", nullptr, &size), -1);
  EXPECT_EQ(size, 8U);
  EXPECT_EQ(memstat_sysctl_get(list.get(), "no.such", room, &size), -1);
  EXPECT_EQ(memstat_mtl_geterror(list.get()), MEMSTAT_ERROR_NOTPRESENT);
  kernel->fail("kern.ipc.sfstat", EPERM);
  EXPECT_EQ(memstat_sysctl_get(list.get(), "kern.ipc.sfstat", room, &size), -1);
  EXPECT_EQ(memstat_mtl_geterror(list.get()), MEMSTAT_ERROR_PERMISSION);
  EXPECT_EQ(memstat_sysctl_get(list.get(), nullptr, room, &size), -1);
  EXPECT_EQ(memstat_sysctl_get(list.get(), "x", room, nullptr), -1);
  EXPECT_EQ(memstat_sysctl_get(nullptr, "x", room, &size), -1);
  EXPECT_EQ(memstat_mtl_get_count(list.get()), 0U) << "no query";
}

TEST_F(CApiCaptures, SetByTheFunctionWinOverTheEnvironmentAndTheLiveKernel) {
  write_capture(directory_.file("a"), 1);
  write_capture(directory_.file("b"), 2);
  name(directory_.file("a"));
  ASSERT_EQ(memstat_mtl_set_capture(list_.get(), directory_.file("b").c_str()), 0);
  EXPECT_EQ(bytes_after_query(list_.get()), 101U);
  ASSERT_EQ(memstat_mtl_set_capture(list_.get(), (directory_.file("b") + "@0").c_str()), 0);
  EXPECT_EQ(bytes_after_query(list_.get()), 100U);
  ASSERT_EQ(memstat_mtl_set_capture(list_.get(), ""), 0) << "the live kernel";
  const auto live = make_live_kernel_view();
  if (!live || (*live)->os() != OperatingSystem::kFreeBsd)
    expect_failure(list_.get(), MEMSTAT_ERROR_NOTPRESENT, "MEMSTAT_CAPTURE");
  ASSERT_EQ(memstat_mtl_set_capture(list_.get(), nullptr), 0) << "back to the environment";
  EXPECT_EQ(bytes_after_query(list_.get()), 100U);
}

TEST_F(CApiCaptures, ThatCannotBeSetLeaveTheOldOneInForce) {
  write_capture(directory_.file("a"), 2);
  ASSERT_EQ(memstat_mtl_set_capture(list_.get(), directory_.file("a").c_str()), 0);
  EXPECT_EQ(bytes_after_query(list_.get()), 101U);
  for (const std::string& bad : {directory_.file("none"), directory_.file("a") + "@2", directory_.path()}) {
    EXPECT_EQ(memstat_mtl_set_capture(list_.get(), bad.c_str()), -1) << bad;
    EXPECT_EQ(memstat_mtl_geterror(list_.get()), MEMSTAT_ERROR_NOTPRESENT) << bad;
    EXPECT_STRNE(memstat_mtl_get_message(list_.get()), "");
  }
  EXPECT_EQ(bytes_after_query(list_.get()), 101U);
}

TEST_F(CApiCaptures, ThatAreMissingOrBadAreErrorsOfTheQuery) {
  write_capture(directory_.file("a"), 2);
  name(directory_.file("a"));
  EXPECT_EQ(bytes_after_query(list_.get()), 101U);
  name(directory_.file("none"));
  expect_failure(list_.get(), MEMSTAT_ERROR_NOTPRESENT, "none");
  name(directory_.file("a") + "@2");
  expect_failure(list_.get(), MEMSTAT_ERROR_NOTPRESENT, "0 to 1");
  name(directory_.file("a") + "@18446744073709551615");
  expect_failure(list_.get(), MEMSTAT_ERROR_NOTPRESENT, "0 to 1");
  write_text(directory_.file("a/000001/poll.yaml"), "nonsense\n");
  name(directory_.file("a") + "@0");
  expect_failure(list_.get(), MEMSTAT_ERROR_DATAERROR, "poll.yaml");
  write_text(directory_.file("b/manifest.yaml"), "format: 99\n");
  name(directory_.file("b"));
  EXPECT_EQ(memstat_sysctl_all(list_.get(), 0), -1);
  write_capture(directory_.file("c"), 1);
  std::filesystem::remove(directory_.file("c/000000/sysctl/vm.zone_stats"));
  name(directory_.file("c"));
  EXPECT_EQ(memstat_sysctl_malloc(list_.get(), 0), 0);
  EXPECT_EQ(memstat_sysctl_uma(list_.get(), 0), -1);
  EXPECT_EQ(memstat_mtl_geterror(list_.get()), MEMSTAT_ERROR_VERSION);
  write_text(directory_.file("c/000000/errors.yaml"), "- {sysctl: vm.zone_stats, errno: 1}\n");
  const ListPtr fresh = make_list();
  EXPECT_EQ(memstat_sysctl_uma(fresh.get(), 0), -1);
  EXPECT_EQ(memstat_mtl_geterror(fresh.get()), MEMSTAT_ERROR_PERMISSION) << "as it was recorded";
}

TEST_F(CApiCaptures, AreReadFromArchives) {
  if (!has_archives()) GTEST_SKIP() << "this build has no zstd";
  write_capture(directory_.file("c"), 3);
  const auto files = open_directory_files(directory_.file("c"));
  ASSERT_TRUE(files);
  for (const std::string ending : {".tar", ".tar.zst"}) {
    const std::string archive = directory_.file("packed" + ending);
    const UniqueFd file(::open(archive.c_str(), O_WRONLY | O_CREAT, 0600));
    ASSERT_TRUE(pack_capture(**files, archive, file.get()));
    name(archive);
    EXPECT_EQ(bytes_after_query(list_.get()), 102U) << ending;
    name(archive + "@1");
    EXPECT_EQ(bytes_after_query(list_.get()), 101U) << ending;
    name(archive + "@3");
    expect_failure(list_.get(), MEMSTAT_ERROR_NOTPRESENT, "0 to 2");
    write_text(archive, "");
    expect_failure(list_.get(), MEMSTAT_ERROR_DATAERROR, archive);
  }
}

TEST_F(CApiCaptures, OfLinuxAreRejectedAsAFreeBsdKernel) {
  if (!has_archives()) GTEST_SKIP() << "this build has no zstd";
  name(fixture_path("captures/" + kLinux));
  for (const auto query : {memstat_sysctl_all, memstat_sysctl_malloc, memstat_sysctl_uma}) {
    EXPECT_EQ(query(list_.get(), 0), -1);
    EXPECT_EQ(memstat_mtl_geterror(list_.get()), MEMSTAT_ERROR_NOTPRESENT);
    EXPECT_NE(std::string(memstat_mtl_get_message(list_.get())).find("not a capture of a FreeBSD"), std::string::npos);
  }
  EXPECT_EQ(memstat_mtl_first(list_.get()), nullptr);
}

TEST_F(CApiCaptures, HavePollsThatAreCountedDescribedAndSelectedWhileTypesStay) {
  write_capture(directory_.file("c"), 3);
  write_text(directory_.file("c/000001/errors.yaml"), "- {sysctl: vm.zone_stats, errno: 1}\n");
  ASSERT_EQ(memstat_mtl_set_capture(list_.get(), directory_.file("c").c_str()), 0) << memstat_mtl_get_message(list_.get());
  ASSERT_EQ(memstat_capture_get_count(list_.get()), 3U);
  const memory_type* type = nullptr;
  for (std::size_t number = 0; number < 3; ++number) {
    memstat_poll poll;
    ASSERT_EQ(memstat_capture_get_poll(list_.get(), number, &poll), 0) << memstat_mtl_get_message(list_.get());
    EXPECT_EQ(poll.label, "poll " + std::to_string(number));
    EXPECT_EQ(poll.monotonic_ns, static_cast<std::int64_t>(number) * 1'000'000'000);
    EXPECT_EQ(poll.realtime_ns % 10'000'000'000, static_cast<std::int64_t>(number) * 1'000'000'000);
    EXPECT_EQ(poll.failed_reads, number == 1 ? 1U : 0U);
    ASSERT_EQ(memstat_capture_select(list_.get(), number), 0);
    memstat_kernel_all(list_.get(), 0);  // fails in part
    const memory_type* const now = memstat_mtl_find(list_.get(), ALLOCATOR_MALLOC, "m");
    EXPECT_EQ(memstat_get_bytes(now), 100 + number);
    EXPECT_TRUE(type == nullptr || type == now) << "the same type at the same address";
    type = now;
  }
  EXPECT_EQ(memstat_capture_select(list_.get(), 3), -1);
  EXPECT_EQ(memstat_mtl_geterror(list_.get()), MEMSTAT_ERROR_NOTPRESENT);
  memstat_poll poll;
  EXPECT_EQ(memstat_capture_get_poll(list_.get(), 3, &poll), -1);
  EXPECT_THAT(memstat_mtl_get_message(list_.get()), HasSubstr("no poll 3; its last is 2"));
  EXPECT_EQ(memstat_capture_get_poll(list_.get(), 0, nullptr), -1);
}

class CApiRecording : public CApiCaptures {
 protected:
  static std::shared_ptr<FakeKernelView> kernel(std::uint64_t bytes) {
    return make_kernel(MallocStream(2).add("m", {{1, {bytes, 0, 1, 0, 1}}}).bytes(), UmaStream(2).bytes());
  }
  void expect_failure(const memory_type_list* list, int error, const std::string& words) const {
    EXPECT_EQ(memstat_mtl_geterror(const_cast<memory_type_list*>(list)), error);
    EXPECT_THAT(memstat_mtl_get_message(list), HasSubstr(words));
  }
};

TEST_F(CApiRecording, CanBeReadAgainPollByPoll) {
  for (const std::string name : {"directory", "archive.tar"}) {
    const std::string output = directory_.file(name);
    const auto machine = kernel(7);
    machine->set("kern.boottime", std::string(16, '\1'));
    const ListPtr list = make_list(machine);
    ASSERT_EQ(memstat_record_begin(list.get(), output.c_str(), 0), 0) << memstat_mtl_get_message(list.get());
    EXPECT_EQ(memstat_record_poll(list.get(), "one"), 0) << memstat_mtl_get_message(list.get());
    set_malloc(*machine, MallocStream(2).add("m", {{1, {9, 0, 1, 0, 1}}}).bytes());
    EXPECT_EQ(memstat_record_poll(list.get(), nullptr), 0);
    EXPECT_EQ(memstat_get_bytes(memstat_mtl_find(list.get(), ALLOCATOR_MALLOC, "m")), 9U) << "the list is refreshed, too";
    ASSERT_EQ(memstat_record_end(list.get()), 0) << memstat_mtl_get_message(list.get());
    EXPECT_EQ(memstat_record_end(list.get()), -1);
    struct stat status {};
    ASSERT_EQ(::stat(output.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, name == "directory" ? 0700U : 0600U);
    EXPECT_FALSE(std::filesystem::exists(directory_.file("." + name + ".polls")));

    const ListPtr replayed = make_list();
    ASSERT_EQ(memstat_mtl_set_capture(replayed.get(), output.c_str()), 0) << memstat_mtl_get_message(replayed.get());
    ASSERT_EQ(memstat_capture_get_count(replayed.get()), 2U);
    memstat_poll poll;
    ASSERT_EQ(memstat_capture_get_poll(replayed.get(), 0, &poll), 0);
    EXPECT_STREQ(poll.label, "one");
    for (std::size_t number = 0; number < 2; ++number) {
      ASSERT_EQ(memstat_capture_select(replayed.get(), number), 0);
      std::array<char, 16> boot_time{};
      std::size_t size = boot_time.size();
      EXPECT_EQ(memstat_sysctl_get(replayed.get(), "kern.boottime", boot_time.data(), &size), 0);
      ASSERT_EQ(memstat_sysctl_malloc(replayed.get(), 0), 0) << memstat_mtl_get_message(replayed.get());
      EXPECT_EQ(memstat_get_bytes(memstat_mtl_find(replayed.get(), ALLOCATOR_MALLOC, "m")), 7 + 2 * number);
    }
  }
}

TEST_F(CApiRecording, ThatWasRemovedMeanwhileIsAnError) {
  for (const std::string name : {"directory", "archive.tar"}) {
    const ListPtr list = make_list(kernel(7));
    ASSERT_EQ(memstat_record_begin(list.get(), directory_.file(name).c_str(), 0), 0) << memstat_mtl_get_message(list.get());
    EXPECT_EQ(memstat_record_poll(list.get(), nullptr), 0);
    std::filesystem::remove_all(directory_.file(name));
    EXPECT_EQ(memstat_record_end(list.get()), -1);
    expect_failure(list.get(), MEMSTAT_ERROR_NOTPRESENT, "removed during the recording");
  }
  EXPECT_TRUE(std::filesystem::exists(directory_.file(".archive.tar.polls"))) << "the polls stay";
}

TEST_F(CApiRecording, WritesToNothingThatExists) {
  write_text(directory_.file("used/file"), "mine");
  write_text(directory_.file("file.tar.zst"), "mine");
  for (const std::string name : {"used", "file.tar.zst"}) {
    const ListPtr list = make_list(kernel(1));
    EXPECT_EQ(memstat_record_begin(list.get(), directory_.file(name).c_str(), 0), -1);
    expect_failure(list.get(), MEMSTAT_ERROR_DATAERROR, "already exists");
    EXPECT_EQ(memstat_record_poll(list.get(), nullptr), -1) << "nothing has begun";
  }
  EXPECT_EQ(std::filesystem::file_size(directory_.file("file.tar.zst")), 4U);
  const ListPtr list = make_list(kernel(1));
  EXPECT_EQ(memstat_record_begin(list.get(), directory_.file("no/such/directory").c_str(), 0), -1);
  expect_failure(list.get(), MEMSTAT_ERROR_NOTPRESENT, "no/such");
  EXPECT_EQ(memstat_record_begin(list.get(), "", 0), -1);
}

TEST(CApiCpuFigures, AreThoseThatTheKernelHas) {
  const ListPtr list =
      make_list(make_kernel(MallocStream(2).add("m", {{1, {100, 30, 5, 2, 1}}}).bytes(), UmaStream(2).bytes()));
  ASSERT_EQ(memstat_sysctl_all(list.get(), 0), 0) << memstat_mtl_get_message(list.get());
  const memory_type* const type = memstat_mtl_find(list.get(), ALLOCATOR_MALLOC, "m");
  const std::uint32_t figures = memstat_get_cpu_figures(type);
  EXPECT_NE(figures & MEMSTAT_CPU_FIGURE_MEMALLOCED, 0U);
  EXPECT_EQ(figures & MEMSTAT_CPU_FIGURE_FREE, 0U) << "malloc(9) keeps nothing by CPU";
  EXPECT_EQ(memstat_get_cpu_figure(type, 1, MEMSTAT_CPU_FIGURE_MEMALLOCED), 100U);
  EXPECT_EQ(memstat_get_cpu_figure(type, 1, MEMSTAT_CPU_FIGURE_NUMFREES), 2U);
  for (const std::uint32_t wrong :
       {0U, MEMSTAT_CPU_FIGURE_FREE, MEMSTAT_CPU_FIGURE_MEMALLOCED | MEMSTAT_CPU_FIGURE_NUMFREES, 1U << 31}) {
    EXPECT_EQ(memstat_get_cpu_figure(type, 1, wrong), 0U) << wrong;
  }
  EXPECT_EQ(memstat_get_cpu_figure(type, -1, MEMSTAT_CPU_FIGURE_MEMALLOCED), 0U);
  EXPECT_EQ(memstat_get_cpu_figure(nullptr, 0, MEMSTAT_CPU_FIGURE_MEMALLOCED), 0U);
  EXPECT_EQ(memstat_get_cpu_figures(nullptr), 0U);
}

}  // namespace
}  // namespace memstat
