// SPDX-License-Identifier: BSD-2-Clause
// Polls of a capture, recordings by a program, and figures of one CPU.
#include <sys/stat.h>

#include "core/source.h"
#include "tests/support/c_list.h"
#include "tests/support/fixtures.h"
#include "tests/support/staging_builder.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

class CApiPolls : public testing::Test {
 protected:
  void SetUp() override { ::unsetenv("MEMSTAT_CAPTURE"); }

  /// A capture of a FreeBSD kernel whose poll number p was made p seconds after the first and has a type with 100 + p bytes.
  [[nodiscard]] std::string write_polls(int polls) const {
    const std::string directory = directory_.file("capture");
    write_text(directory + "/manifest.yaml",
               "format: 1\nos: freebsd\nrelease: 15.0\nmachine: amd64\npage_size: 4096\ncpus_present: \"0-1\"\nnodes: 1\n");
    for (int poll = 0; poll < polls; ++poll) {
      const std::string at = directory + "/00000" + std::to_string(poll) + "/";
      const auto number = static_cast<std::uint64_t>(poll);
      write_text(at + "poll.yaml", "label: poll " + std::to_string(poll) + "\nrealtime: 2026-01-01T00:00:0" +
                                       std::to_string(poll) + "Z\nmonotonic_ns: " + std::to_string(poll) + "000000000\n");
      write_text(at + "errors.yaml", poll == 1 ? "- {sysctl: vm.zone_stats, errno: 1}\n" : "");
      write_text(at + "sysctl/kern.malloc_stats", MallocStream(2).add("m", {{1, {100 + number, 0, 1, 0, 1}}}).bytes());
      write_text(at + "sysctl/kern.smp.maxcpus", bytes_of(2));
      write_text(at + "sysctl/kern.malloc_count", bytes_of(1));
    }
    return directory;
  }

  const TemporaryDirectory directory_;
  const ListPtr list_ = make_list();
};

TEST_F(CApiPolls, OfACaptureAreCountedDescribedAndSelectedWhileTypesStay) {
  ASSERT_EQ(memstat_mtl_set_capture(list_.get(), write_polls(3).c_str()), 0) << memstat_mtl_get_message(list_.get());
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
    memstat_kernel_all(list_.get(), 0);  // fails in part: the capture has no zones
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

TEST_F(CApiPolls, AreZeroWithoutACapture) {
  const auto kernel = std::make_shared<FakeKernelView>(OperatingSystem::kLinux, 1);
  const ListPtr list = make_list(kernel);
  EXPECT_EQ(memstat_capture_get_count(list.get()), 0U);
  EXPECT_EQ(memstat_capture_select(list.get(), 0), -1);
  EXPECT_EQ(memstat_mtl_geterror(list.get()), MEMSTAT_ERROR_NOTPRESENT);
  EXPECT_EQ(memstat_capture_get_count(nullptr), 0U);
}

TEST_F(CApiPolls, SourcesNameTheirKernel) {
  for (std::size_t n = 0; n < memstat_source_get_count(); ++n) {
    EXPECT_STREQ(memstat_source_get_os(n),
                 std::string(memstat_source_get_name(n)).starts_with("linux_") ? "linux" : "freebsd");
  }
  EXPECT_EQ(memstat_source_get_os(memstat_source_get_count()), nullptr);
}

class CApiRecording : public CApiPolls {
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

TEST_F(CApiRecording, OfACaptureIsRefused) {
  ASSERT_EQ(memstat_mtl_set_capture(list_.get(), write_polls(1).c_str()), 0);
  EXPECT_EQ(memstat_record_begin(list_.get(), directory_.file("new").c_str(), 0), -1);
  expect_failure(list_.get(), MEMSTAT_ERROR_DATAERROR, "only this machine's kernel");
}

TEST_F(CApiRecording, WithoutAnySourceHasNoPoll) {
  const ListPtr list = make_list(std::make_shared<FakeKernelView>(OperatingSystem::kLinux, 1));
  ASSERT_EQ(memstat_record_begin(list.get(), directory_.file("new").c_str(), 0), 0) << memstat_mtl_get_message(list.get());
  EXPECT_EQ(memstat_record_poll(list.get(), nullptr), -1);
  expect_failure(list.get(), MEMSTAT_ERROR_NOTPRESENT, "none of the requested sources");
  EXPECT_FALSE(std::filesystem::exists(directory_.file("new/000000")));
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
