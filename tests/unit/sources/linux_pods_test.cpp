// SPDX-License-Identifier: BSD-2-Clause
#include "core/kernel/forwarding_view.h"
#include "core/query.h"
#include "tests/support/fixtures.h"
#include "tests/support/rooted_kernel_view.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

class LinuxPods : public testing::Test {
 protected:
  void SetUp() override {
    if (!RootedKernelView::has_live_view()) GTEST_SKIP() << "this system has no live view";
    view_ = std::make_unique<RootedKernelView>(directory_.path());
  }
  void make(const std::string& name) { std::filesystem::create_directories(directory_.file("var/log/pods/" + name)); }

  TemporaryDirectory directory_;
  std::unique_ptr<RootedKernelView> view_;
  SourceReader reader_{*find_source("linux_pods")};
  MemoryTypeList list_;
};

TEST_F(LinuxPods, HaveTheNamesOfTheDirectoriesOfTheirLogs) {
  const std::string uid = "0a1b2c3d-1111-2222-3333-444455556666";
  make("shop_web-7d9f_" + uid);
  make("lost+found");
  ASSERT_TRUE(refresh(reader_, *view_, list_, 1));
  const StagedStatistics& statistics = reader_.staging.statistics();
  ASSERT_EQ(statistics.entries().size(), 1U);
  EXPECT_EQ(statistics.label(statistics.entries()[0], 0), uid);
  EXPECT_EQ(statistics.label(statistics.entries()[0], 1), "shop");
  EXPECT_EQ(statistics.label(statistics.entries()[0], 2), "web-7d9f");
}

/// As on this machine: reads of rarely changing files may be left out.
class LiveView final : public ForwardingKernelView {
 public:
  using ForwardingKernelView::ForwardingKernelView;
  [[nodiscard]] bool reads_this_machine() const override { return true; }
};

TEST_F(LinuxPods, AreAbsentWithoutAKubelet) {
  LiveView live(*view_);
  for (int read = 0; read < 3; ++read)
    EXPECT_EQ(refresh(reader_, live, list_, 1).error().code, ErrorCode::kNotPresent) << read;
  make("shop_web_0a1b2c3d-1111-2222-3333-444455556666");
  EXPECT_TRUE(refresh(reader_, live, list_, 1)) << "it was installed";
  std::filesystem::remove_all(directory_.file("var/log/pods"));
  while (refresh(reader_, live, list_, 1)) continue;  // for three reads, the list is repeated
  EXPECT_EQ(refresh(reader_, live, list_, 1).error().code, ErrorCode::kNotPresent);
}

}  // namespace
}  // namespace memstat
