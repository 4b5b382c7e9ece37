// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/memory_amounts.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

TEST(MemoryAmounts, OfHyperVsBalloon) {
  EXPECT_EQ(hyperv_bytes("host_version : 2.0\npage_size             : 4096\npages_ballooned       : 3276800\n"),
            std::uint64_t{3276800} << 12U);
  EXPECT_EQ(hyperv_bytes("page_size : 4096\n"), std::nullopt);
  EXPECT_EQ(hyperv_bytes("pages_ballooned : 3\n"), std::nullopt) << "pages of an unknown size";
  EXPECT_EQ(hyperv_bytes("page_size : 4096\npages_ballooned : x\n"), std::nullopt);
}

TEST(MemoryAmounts, OfPagesOnListsAndInSockets) {
  EXPECT_EQ(count_cpu_pages("cpu: 0\n count: 100\ncpu: 1\n count: 25\n"), 125U);
  EXPECT_EQ(count_cpu_pages("cpu: 0\n count: x\n"), std::nullopt);
  EXPECT_EQ(count_socket_pages("TCP: inuse 4 mem 3\nUDP: inuse 1 mem 2\n"), 5U);
  EXPECT_EQ(count_socket_pages("TCP: inuse 4 mem 3"), std::nullopt) << "cut short";
}

}  // namespace
}  // namespace memstat
