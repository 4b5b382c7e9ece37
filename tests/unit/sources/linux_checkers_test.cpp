// SPDX-License-Identifier: BSD-2-Clause
// What the kernel's own checkers count, from handwritten files. Captured and live kernels: tests/guests/checker.py.
#include <unistd.h>

#include "core/query.h"
#include "tests/support/bundled_files.h"
#include "tests/support/fake_kernel_view.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/support/source_reading.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/test.h"

namespace memstat::linux_checkers_test {
namespace {

const SourceDescriptor& source() { return *find_source("linux_checkers"); }

constexpr const char* kTainted = "/proc/sys/kernel/tainted";
constexpr const char* kKfence = "/sys/kernel/debug/kfence/stats";
constexpr const char* kSlab = "/sys/kernel/slab";

using Found = std::map<std::string, std::uint64_t>;

class Checkers : public testing::Test {
 protected:
  Checkers() : files_(source()) { files_.contents[kTainted] = "0\n"; }
  Found statistics() { return files_.statistics(); }
  BundledFiles files_;
};

const Found kUntainted = {{"kernel_tainted{bad_page}", 0}, {"kernel_tainted{machine_check}", 0}};

TEST_F(Checkers, ThatAreOffAreNotPresent) {
  EXPECT_EQ(statistics(), kUntainted);
  files_.contents[kKfence] = "enabled: 0\ncurrently allocated: 0\ntotal allocations: 0\ntotal bugs: 0\n";
  EXPECT_EQ(statistics(), kUntainted);
}

TEST_F(Checkers, HaveKfencesCounters) {
  files_.contents[kKfence] =
      "enabled: 1\ncurrently allocated: 50\ntotal allocations: 625\ntotal frees: 575\nzombie allocations: 1\ntotal bugs: 2\n"
      "skipped allocations (incompatible): 28\nskipped allocations (capacity): 3\nskipped allocations (a \"new\" one): 4\n"
      "something new: 9\ntotal bugs: 77\nskipped allocations (capacity): 5\nskipped allocations (\xFF): 6\n";
  Found expected = kUntainted;
  expected.insert({{"checker_objects{kfence,allocated}", 50},
                   {"checker_objects{kfence,zombie}", 1},
                   {"checker_allocations_total{kfence}", 625},
                   {"checker_frees_total{kfence}", 575},
                   {"checker_bugs_total{kfence}", 2},
                   {"checker_skips_total{kfence,incompatible}", 28},
                   {"checker_skips_total{kfence,capacity}", 3},
                   {"checker_skips_total{kfence,a \"new\" one}", 4}});
  EXPECT_EQ(statistics(), expected);
}

TEST_F(Checkers, ThatWereSwitchedOffKeepWhatTheyFound) {
  files_.contents[kKfence] = "enabled: 0\ntotal allocations: 625\ntotal bugs: 2\n";
  EXPECT_EQ(statistics().at("checker_bugs_total{kfence}"), 2U);
}

TEST_F(Checkers, HaveWhatTheKernelReportedAndWhatItIsMarkedWith) {
  files_.contents[kTainted] = "4128\n";  // bits 12 and 5
  files_.contents["/sys/kernel/warn_count"] = "3\n";
  files_.contents["/sys/kernel/oops_count"] = "1\n";
  EXPECT_EQ(statistics(), (Found{{"kernel_tainted{bad_page}", 1},
                                 {"kernel_tainted{machine_check}", 0},
                                 {"kernel_reports_total{warning}", 3},
                                 {"kernel_reports_total{oops}", 1}}));
  files_.contents[kTainted] = "16\n";
  EXPECT_EQ(statistics().at("kernel_tainted{machine_check}"), 1U);
  EXPECT_EQ(statistics().at("kernel_tainted{bad_page}"), 0U);
}

TEST_F(Checkers, ThatAreWrongAreRefusedWithThePlace) {
  for (const char* file : {kTainted, "/sys/kernel/warn_count", "/sys/kernel/oops_count"})
    files_.expect_refused_with(file, "x\n");
  for (const char* line : {"total bugs: x\n", "total bugs: -1\n", "total bugs: 1", "\n"}) {
    files_.expect_refused_with(kKfence, std::string("enabled: 1\n") + line, 11);
  }
  files_.contents = {{kKfence, "enabled: 1\n"}};
  EXPECT_FALSE(files_.parse());
}

/// A kernel with two caches, one of which has a second name.
class SlabKernel final : public PreparedKernelView {
 public:
  SlabKernel() : PreparedKernelView(OperatingSystem::kLinux) {
    contents[kTainted] = {"0\n"};
    for (const char* cache : {"dentry", ":0000064", "alias"}) {
      for (const char* check : {"sanity_checks", "red_zone", "poison", "store_user"}) file(cache, check) = {"0\n"};
    }
  }
  std::vector<std::string>& file(const std::string& cache, const std::string& check) {
    return contents[std::string(kSlab) + "/" + cache + "/" + check];
  }
  Result<std::string> read_link(std::string_view path) override {
    if (path.ends_with("alias")) return std::string(":0000064");
    return system_error(path, EINVAL);
  }
  Result<void> list_directory(std::string_view path, std::vector<std::string>& names) override {
    if (path != kSlab) return system_error(path, ENOENT);
    names = {":0000064", "alias", "dentry"};
    return {};
  }
};

TEST(CheckersOfThisMachine, AreReadAtEachFourthReadAndAgainAfterAReadThatFailed) {
  FakeKernelView view(OperatingSystem::kLinux);
  view.set_live(true);
  view.set(kTainted, "0\n");
  SourceReader reader(source());
  MemoryTypeList list;
  std::uint64_t warnings = 0;
  const auto is_seen = [&] {
    view.set("/sys/kernel/warn_count", std::to_string(++warnings) + "\n");
    return refresh(reader, view, list, 1) && statistics_of(reader.staging).at("kernel_reports_total{warning}") == warnings;
  };
  EXPECT_TRUE(is_seen()) << "the first read";
  int seen = 0;
  for (int i = 0; i < 8; ++i) seen += is_seen() ? 1 : 0;
  EXPECT_EQ(seen, 2);
  view.fail(kTainted, EIO);
  int failed_after = 0;
  while (refresh(reader, view, list, 1)) ASSERT_LT(++failed_after, 4);
  view.set(kTainted, "0\n");
  EXPECT_TRUE(is_seen()) << "at once";
}

TEST(SlabChecks, AreThoseOfCachesAndNotOfTheirOtherNamesAndAreReadOnce) {
  SlabKernel kernel;
  kernel.file(":0000064", "red_zone") = {"1\n"};
  kernel.file("alias", "red_zone") = {"1\n"};
  kernel.file("dentry", "red_zone") = {"1\n"};
  kernel.file("dentry", "poison") = {"1\n"};
  kernel.file("dentry", "store_user").clear();
  SourceReader reader(source());
  MemoryTypeList list;
  ASSERT_TRUE(open_source(reader, kernel));
  const std::size_t reads = kernel.reads_of(std::string(kSlab) + "/dentry/poison");
  for (std::uint64_t poll = 1; poll < 4; ++poll) ASSERT_TRUE(refresh(reader, kernel, list, poll));
  EXPECT_EQ(kernel.reads_of(std::string(kSlab) + "/dentry/poison"), reads);
  Found expected = kUntainted;
  expected.insert({{"slab_debug_caches{red_zone}", 2}, {"slab_debug_caches{poison}", 1}});
  EXPECT_EQ(statistics_of(reader.staging), expected);
}

}  // namespace
}  // namespace memstat::linux_checkers_test
