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
  EXPECT_EQ(read_zone_amounts("cpu: 0\n count: 100\ncpu: 1\n count: 25\n").cpu_pages, 125U);
  EXPECT_EQ(read_zone_amounts("cpu: 0\n count: x\n").cpu_pages, std::nullopt);
  EXPECT_EQ(count_socket_pages("TCP: inuse 4 mem 3\nUDP: inuse 1 mem 2\n"), 5U);
  EXPECT_EQ(count_socket_pages("TCP: inuse 4 mem 3"), std::nullopt) << "cut short";
}

constexpr std::string_view kZones =
    "Node 0, zone DMA\n pages free 3840\n boost 0\n min 8\n managed 3840\n protection: (0, 2900, 7900, 7900)\n count: 0\n"
    "Node 0, zone Normal\n pages free 90000\n min 16000\n managed 1200000\n protection: (0, 0, 0, 0)\n count: 100\n";
constexpr std::string_view kLines =
    "MemFree: 400000 kB\nActive(file): 30000 kB\nInactive(file): 20000 kB\nSwapFree: 5 kB\nKReclaimable: 7000 kB\n"
    "SReclaimable: 6000 kB\n";

TEST(MemoryAmounts, OfAMachineLeaveOutWhatProgramsCannotHave) {
  const ZoneAmounts zones = read_zone_amounts(kZones);
  EXPECT_EQ(zones.reserve, 3840U + 16000U) << "at most all of a zone";
  const auto amounts = read_machine_amounts(kLines, zones, 4096);
  ASSERT_TRUE(amounts);
  EXPECT_EQ(amounts->sure, (400000U + 30000 + 20000 + 4 * 100 - 4 * 19840) * 1024);
  EXPECT_EQ(amounts->kernel, 7000U * 1024);
  EXPECT_EQ(amounts->swap_free, 5U * 1024);
  EXPECT_FALSE(amounts->has_zswap);
  EXPECT_FALSE(read_machine_amounts(kLines, {}, 4096)) << "the reserve is unknown";
  for (std::size_t size = 0; size < kLines.find("SwapFree"); ++size)
    EXPECT_FALSE(read_machine_amounts(kLines.substr(0, size), zones, 4096));
}

TEST(MemoryAmounts, OfDamagedZonesAreNone) {
  for (std::size_t size = 0; size < kZones.rfind("protection"); ++size) {
    const ZoneAmounts cut = read_zone_amounts(kZones.substr(0, size));
    EXPECT_LE(cut.reserve.value_or(0), 3840U) << size;
  }
  for (const char* bad : {"min x\n", "min 1\nmanaged -\n", "min 1\nmanaged 2\nprotection: (0, x)\n", "protection:\n"}) {
    EXPECT_EQ(read_zone_amounts(std::string(kZones) + bad).reserve, std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace memstat
