// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/selftest/selftest.h"

#include "tests/support/fake_kernel_view.h"
#include "tests/support/fixtures.h"
#include "tests/support/rooted_kernel_view.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr const char* kFileOfProc = "/proc/sys/kernel/ostype";

class MissingMountsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!RootedKernelView::has_live_view()) GTEST_SKIP() << "this system has no live view, which reads the tree";
    make("/proc/sys/kernel");
    std::ofstream(directory_.path() + kFileOfProc) << "Linux\n";
  }

  std::vector<std::string> missing() {
    RootedKernelView view(directory_.path());
    return missing_mounts(view, all_sources());
  }
  void make(const std::string& directory) { std::filesystem::create_directories(directory_.path() + directory); }

  TemporaryDirectory directory_;
};

TEST_F(MissingMountsTest, WithoutSysfsItsSourcesAreNamedWithWhatToDo) {
  make("/sys");
  const std::vector<std::string> lines = missing();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(lines[0].starts_with("sysfs is not mounted at /sys, where figures of ")) << lines[0];
  EXPECT_TRUE(lines[0].ends_with(" are; to get them, type as root `mount -t sysfs sysfs /sys`")) << lines[0];
  for (const char* source : {"linux_slab_sysfs", "linux_hugetlb", "linux_cma"}) {
    EXPECT_NE(lines[0].find(source), std::string::npos) << lines[0];
  }
  EXPECT_EQ(lines[0].find("linux_vmalloc"), std::string::npos) << lines[0];
}

TEST_F(MissingMountsTest, WithoutProcfsMostFiguresAreMissing) {
  make("/sys/kernel/mm");
  EXPECT_TRUE(missing().empty());
  std::filesystem::remove(directory_.path() + kFileOfProc);
  constexpr const char* kRemedy = " are; to get them, type as root `mount -t proc proc /proc`";
  EXPECT_THAT(missing(), testing::ElementsAre("proc is not mounted at /proc, where most figures" + std::string(kRemedy)));
  make("/proc/self");
  std::ofstream(directory_.path() + "/proc/self/stat") << "1\n";
  EXPECT_THAT(missing(),
              testing::ElementsAre("proc at /proc shows processes only (its option subset=pid), and not the files "
                                   "where most figures" +
                                   std::string(kRemedy)));
  std::ofstream(directory_.path() + "/proc/meminfo") << "MemTotal: 1 kB\n";
  EXPECT_THAT(missing(),
              testing::ElementsAre("/proc/sys is missing or hidden, where limits of the kernel" + std::string(kRemedy)));
}

TEST_F(MissingMountsTest, OfDebugfsThePlaceToMountItIsEmpty) {
  make("/sys/kernel/debug");
  const std::vector<std::string> lines = missing();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0],
            "debugfs is not mounted at /sys/kernel/debug, where figures of linux_checkers, linux_memory, linux_percpu and "
            "linux_zswap are; to get them, type as root `mount -t debugfs debugfs /sys/kernel/debug`");
  make("/sys/kernel/debug/zswap");
  EXPECT_TRUE(missing().empty());
}

TEST_F(MissingMountsTest, FilesThatOnlyRootMaySeeAreNotReportedMissing) {
  make("/sys/kernel/debug");
  for (const char* path : {"/sys/kernel", "/sys/kernel/debug"}) {
    RootedKernelView view(directory_.path());
    view.failures[path] = EACCES;
    EXPECT_TRUE(missing_mounts(view, all_sources()).empty()) << path;
    view.failures[kFileOfProc] = EACCES;
    EXPECT_EQ(missing_proc(view), "");
  }
}

}  // namespace
}  // namespace memstat
