// SPDX-License-Identifier: BSD-2-Clause
#include "core/kernel/sysctl_mib_cache.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

/// A kernel that numbers its sysctls upwards, and its calls.
class NumberedKernel : public testing::Test {
 protected:
  void create(const std::string& name) { numbers_[name] = ++last_; }
  /// The number that was read; minus an errno when that failed.
  int read(const std::string& name) {
    int value = 0;
    const int failure = kept_.read(
        name,
        [&](SysctlNumbers& path) {
          ++look_ups_;
          const auto found = numbers_.find(name);
          if (found == numbers_.end()) return ENOENT;
          path.numbers[0] = found->second;
          path.length = 1;
          return 0;
        },
        [&](const SysctlNumbers& path) {
          ++reads_;
          if (failure_ != 0) return failure_;
          value = path.numbers[0];
          for (const auto& [other, number] : numbers_) {
            if (number == value) return 0;
          }
          return ENOENT;
        });
    return failure == 0 ? value : -failure;
  }

  KeptSysctlNumbers kept_;
  std::map<std::string, int> numbers_;
  int last_ = 0;
  int look_ups_ = 0;
  int reads_ = 0;
  int failure_ = 0;
};

TEST_F(NumberedKernel, RequestsANameOnce) {
  create("vm.uma.mbuf.size");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(read("vm.uma.mbuf.size"), 1);
  EXPECT_EQ(look_ups_, 1);
  EXPECT_EQ(reads_, 5);
}

TEST_F(NumberedKernel, RequestsAVanishedSysctlAgain) {
  create("a");
  EXPECT_EQ(read("a"), 1);
  numbers_.clear();
  EXPECT_EQ(read("a"), -ENOENT);
  EXPECT_EQ(kept_.size(), 0U);
  create("a");
  EXPECT_EQ(read("a"), 2) << "another one of the same name";
  EXPECT_EQ(read("a"), 2);
  EXPECT_EQ(look_ups_, 3);
}

TEST_F(NumberedKernel, KeepsThePathWhenAReadFailsForAnotherReason) {
  create("a");
  failure_ = ENOMEM;
  EXPECT_EQ(read("a"), -ENOMEM);
  failure_ = 0;
  EXPECT_EQ(read("a"), 1);
  EXPECT_EQ(look_ups_, 1);
}

}  // namespace
}  // namespace memstat
