// SPDX-License-Identifier: BSD-2-Clause
// Transparent huge pages by size from handwritten files. Captured and live kernels: tests/guests/checker.py.
#include "core/query.h"
#include "tests/support/bundled_files.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat::linux_thp_test {
namespace {

const std::string kDirectory = "/sys/kernel/mm/transparent_hugepage/";

const SourceDescriptor& source() { return *find_source("linux_thp"); }

using Statistics = std::map<std::string, std::uint64_t>;

class Thp : public testing::Test {
 protected:
  void set(const std::string& file, const std::string& content) { files_.contents[kDirectory + file] = content; }
  BundledFiles files_{source()};
};

TEST_F(Thp, HasBytesAndFaultsBySize) {
  set("hugepages-64kB/stats/anon_fault_alloc", "7\n");
  set("hugepages-64kB/stats/anon_fault_fallback", "2\n");
  set("hugepages-64kB/stats/nr_anon", "5\n");
  set("hugepages-2048kB/stats/nr_anon", "3\n");
  EXPECT_EQ(files_.statistics(), (Statistics{{"thp_anonymous_bytes{2MiB}", 3 * 2048 * 1024},
                                             {"thp_anonymous_bytes{64KiB}", 5 * 64 * 1024},
                                             {"thp_faults_total{64KiB,huge}", 7},
                                             {"thp_faults_total{64KiB,smaller}", 2}}))
      << "nr_anon came later than the faults";
}

TEST_F(Thp, LeavesOutDirectoriesThatNameNoSize) {
  set("hugepages-64kB/stats/nr_anon", "5\n");
  for (const char* name : {"khugepaged", "hugepages-", "hugepages-64", "hugepages-18446744073709551615kB"}) {
    set(std::string(name) + "/stats/nr_anon", "9\n");
  }
  EXPECT_EQ(files_.statistics(), (Statistics{{"thp_anonymous_bytes{64KiB}", 5 * 64 * 1024}}));
}

TEST_F(Thp, RefusesWhatIsNoNumber) {
  set("hugepages-64kB/stats/nr_anon", "5\n");
  for (const char* wrong : {"", "x\n", "18446744073709551616\n"}) {
    files_.expect_refused_with(kDirectory + "hugepages-64kB/stats/nr_anon", wrong);
  }
}

TEST(ThpOfOlderKernels, IsNotPresentWhereNoSizeIsCounted) {
  PreparedKernelView view(OperatingSystem::kLinux);
  view.contents[kDirectory + "enabled"] = {"always [madvise] never\n"};
  SourceReader reader(source());
  EXPECT_EQ(open_source(reader, view).error().code, ErrorCode::kNotPresent);
}

}  // namespace
}  // namespace memstat::linux_thp_test
