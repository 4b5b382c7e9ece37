// SPDX-License-Identifier: BSD-2-Clause
// Dumps as programs open them: through the factory, as captures of one poll.
#include <sys/resource.h>

#include "core/capture/replay_view.h"
#include "core/kernel/open_view.h"
#include "tests/support/fake_linux_dump.h"
#include "tests/support/fixtures.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

std::string read_of(KernelView& view, std::string_view path) {
  Buffer bytes;
  const auto read = view.read_file(path, bytes);
  return read ? std::string(bytes.view()) : to_string(read.error());
}

TEST(OpenDump, AnswersWithTheFilesOfTheKernel) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("dump");
  FakeKernelOptions options = small_kernel();
  options.cpus = {0, 1, 4};
  write_text(path, FakeLinuxDump(options).elf());
  for (const std::string& reference : {path, path + "@0"}) {
    const auto opened = open_view(reference);
    ASSERT_TRUE(opened) << to_string(opened.error());
    KernelView& view = *opened->view;
    EXPECT_TRUE(opened->notes.empty());
    EXPECT_EQ(view.os(), OperatingSystem::kLinux);
    EXPECT_EQ(view.os_release(), "6.1.0-fake");
    EXPECT_EQ(view.page_size(), 4096U);
    EXPECT_EQ(view.cpu_count(), 5U);
    ASSERT_NE(opened->capture, nullptr);
    EXPECT_EQ(opened->capture->manifest().cpus_present, "0-1,4");
    EXPECT_EQ(opened->capture->manifest().machine, "x86_64");
    EXPECT_EQ(opened->capture->poll_info(0).realtime_ns, 1763650800LL * 1'000'000'000);
    EXPECT_EQ(
        read_of(view, "/proc/slabinfo"),
        "slabinfo - version: 2.1\n"
        "# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables <limit> <batchcount> "
        "<sharedfactor> : slabdata <active_slabs> <num_slabs> <sharedavail>\n"
        "dentry               165    200    200   20    1 : tunables    0    0    0 : slabdata     10     10      0\n"
        "kmalloc-64           256    256     64   64    1 : tunables    0    0    0 : slabdata      4      4      0\n"
        "empty                  0      0   1152   28    8 : tunables    0    0    0 : slabdata      0      0      0\n");
    EXPECT_EQ(read_of(view, "/sys/kernel/slab/dentry/object_size"), "192\n");
    EXPECT_EQ(read_of(view, "/sys/kernel/slab/dentry/objects"), "165 N0=165\n");
    EXPECT_EQ(read_of(view, "/sys/kernel/slab/dentry/partial"), "3 N0=3\n");
    EXPECT_EQ(read_of(view, "/sys/kernel/slab/dentry/objects_partial"), "25\n");
    EXPECT_EQ(read_of(view, "/sys/kernel/slab/kmalloc-64/cpu_slabs"), "4 N0=4\n");
  }
  EXPECT_TRUE(fails(open_view(path + "@1"), ErrorCode::kNotPresent));
}

TEST(OpenDump, NamesOfCachesNeverLeaveTheirLineOrDirectory) {
  const TemporaryDirectory directory;
  FakeKernelOptions options = small_kernel();
  options.caches[0].name = "a/../b\nc";
  options.caches[1].name = "..";
  options.caches[2].name = "..";
  write_text(directory.file("dump"), FakeLinuxDump(options).elf());
  const auto opened = open_view(directory.file("dump"));
  ASSERT_TRUE(opened) << to_string(opened.error());
  const std::string slabinfo = read_of(*opened->view, "/proc/slabinfo");
  EXPECT_THAT(slabinfo, HasSubstr("\na/../b?c             165"));
  EXPECT_EQ(std::count(slabinfo.begin(), slabinfo.end(), '\n'), 5);
  std::vector<std::string> names;
  ASSERT_TRUE(opened->view->list_directory("/sys/kernel/slab", names));
  EXPECT_THAT(names, ::testing::ElementsAre("a!..!b?c"));
}

TEST(OpenDump, OtherFilesAreLeftToCapturesOrRefusedWithWhatToDo) {
  const TemporaryDirectory directory;
  write_text(directory.file("compressed"), "KDUMP   " + std::string(4096, '\0'));
  const auto compressed = open_view(directory.file("compressed"));
  ASSERT_FALSE(compressed);
  EXPECT_THAT(to_string(compressed.error()), HasSubstr("compressed dump of version 0"));

  std::string elf = FakeLinuxDump(small_kernel()).elf();
  elf[16] = 2;  // a program
  write_text(directory.file("program"), elf);
  const auto program = open_view(directory.file("program"));
  ASSERT_FALSE(program);
  EXPECT_THAT(to_string(program.error()), HasSubstr("tar")) << "as a capture would be";
}

TEST(OpenDump, OfSixtyFourGigabytesIsNotLoaded) {
  const TemporaryDirectory directory;
  FakeLinuxDump(small_kernel()).write_sparse(directory.file("dump"), std::uint64_t{64} << 30U);
  rusage before{};
  ::getrusage(RUSAGE_SELF, &before);
  const auto opened = open_view(directory.file("dump"));
  rusage after{};
  ::getrusage(RUSAGE_SELF, &after);
  ASSERT_TRUE(opened) << to_string(opened.error());
  EXPECT_THAT(read_of(*opened->view, "/proc/slabinfo"), HasSubstr("dentry               165"));
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 * 1024) << "KiB";
}

}  // namespace
}  // namespace memstat
