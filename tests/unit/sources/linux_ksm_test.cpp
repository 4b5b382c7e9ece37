// SPDX-License-Identifier: BSD-2-Clause
// Merged pages from handwritten files. Captured and live kernels: tests/guests/checker.py.
#include "core/query.h"
#include "tests/support/bundled_files.h"
#include "tests/support/test.h"

namespace memstat::linux_ksm_test {
namespace {

const std::string kShared = "/sys/kernel/mm/ksm/pages_shared";
const std::string kSharing = "/sys/kernel/mm/ksm/pages_sharing";

using Statistics = std::map<std::string, std::uint64_t>;

TEST(Ksm, CountsTheSharedPagesAndThoseThatSharingSaves) {
  BundledFiles files(*find_source("linux_ksm"));
  files.contents = {{kShared, "3\n"}, {kSharing, "40\n"}};
  EXPECT_EQ(files.statistics(), (Statistics{{"ksm_shared_bytes", 3 * 4096}, {"ksm_saved_bytes", 40 * 4096}}));
  files.contents[kSharing] = "18446744073709551615\n";
  EXPECT_EQ(files.statistics()["ksm_saved_bytes"], ~std::uint64_t{0});
}

TEST(Ksm, RefusesWhatIsNoNumber) {
  BundledFiles files(*find_source("linux_ksm"));
  files.contents = {{kShared, "3\n"}, {kSharing, "40\n"}};
  for (const char* wrong : {"", "x\n", "18446744073709551616\n"}) files.expect_refused_with(kShared, wrong);
}

}  // namespace
}  // namespace memstat::linux_ksm_test
