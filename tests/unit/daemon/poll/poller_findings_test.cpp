// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/polled_daemon.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

TEST(PollerFindings, OfThePageHaveWhatGrowsOnceItWasLookedFor) {
  PolledDaemon daemon(OperatingSystem::kLinux);
  daemon.view->set("/proc/meminfo", "MemTotal: 100000 kB\nMemFree: 50000 kB\n");
  daemon.poller->open_sources();
  const auto poll = [&](std::uint64_t number) {
    daemon.view->set(kSlabinfo, slabinfo({{"leaking", 100'000 + 20'000 * number}, {"dentry", 100}}));
    daemon.poll();
  };
  for (std::uint64_t number = 0; number < 20; ++number) poll(number);
  constexpr std::string_view kActive = "memstat_finding_active{cause=\"slab_leak\",severity=\"notable\"}";
  EXPECT_FALSE(daemon.own(kActive).has_value());
  daemon.poller->look_for_growth(0);
  poll(20);
  EXPECT_EQ(daemon.own(kActive), "1");
}

}  // namespace
}  // namespace memstat
