// SPDX-License-Identifier: BSD-2-Clause
// Series of an offline CPU, from the kernel's text to the page.
#include "tests/support/polled_daemon.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

/// One zone, and these CPUs' pages of it.
std::string zoneinfo(std::initializer_list<std::pair<int, int>> cpus) {
  std::string text =
      "Node 0, zone   Normal\n  pages free     100\n        min      1\n        low      2\n        high     3\n"
      "        spanned  1000\n        present  1000\n        managed  900\n        protection: (0)\n  pagesets\n";
  for (const auto& [cpu, pages] : cpus) {
    text += "    cpu: " + std::to_string(cpu) + "\n              count: " + std::to_string(pages) +
            "\n              high:  378\n              batch: 63\n  vm stats threshold: 10\n";
  }
  return text + "  node_unreclaimable:  0\n  start_pfn:           1\n";
}

/// The CPUs with free objects on the page, and how many: "0=100 1=25 ".
std::string cpus_of(const std::string& page) {
  std::string words;
  for (const char* cpu : {"0", "1"}) {
    const std::string label = ",cpu=\"" + std::string(cpu) + "\"} ";
    std::size_t at = page.find("\nmemstat_cpu_free_objects{allocator=\"page\"");
    for (; at != std::string::npos; at = page.find("\nmemstat_cpu_free_objects{allocator=\"page\"", at + 1)) {
      const std::size_t end = page.find('\n', at + 1);
      const std::size_t found = page.find(label, at);
      if (found < end) words += std::string(cpu) + "=" + page.substr(found + label.size(), end - found - label.size()) + " ";
    }
  }
  return words;
}

TEST(OfflineCpu, HasNoSeriesUntilItIsBack) {
  PolledDaemon daemon(OperatingSystem::kLinux, {}, true);
  daemon.view->set("/proc/zoneinfo", zoneinfo({{0, 100}, {1, 25}}));
  ASSERT_TRUE(daemon.poll());
  ASSERT_EQ(cpus_of(daemon.page()), "0=100 1=25 ") << daemon.page();
  daemon.view->set("/proc/zoneinfo", zoneinfo({{0, 120}}));
  ASSERT_TRUE(daemon.poll());
  EXPECT_EQ(cpus_of(daemon.page()), "0=120 ");
  daemon.view->set("/proc/zoneinfo", zoneinfo({{1, 7}}));
  ASSERT_TRUE(daemon.poll());
  EXPECT_EQ(cpus_of(daemon.page()), "1=7 ") << "as well where it is not the last one";
  daemon.view->set("/proc/zoneinfo", zoneinfo({{0, 120}, {1, 0}}));
  ASSERT_TRUE(daemon.poll());
  EXPECT_EQ(cpus_of(daemon.page()), "0=120 1=0 ") << "that has no pages, and is there";
}

}  // namespace
}  // namespace memstat
