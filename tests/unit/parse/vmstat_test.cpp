// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/vmstat.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

/// "zone=value" of all counters.
std::string words(const ZoneCounters& zones) {
  std::string words;
  for (const auto& counter : zones.counters()) {
    words += (words.empty() ? "" : " ") + std::string(counter.zone) + "=" + std::to_string(counter.value);
  }
  return words;
}

TEST(VmCounters, AreFoundByNameAndByZone) {
  std::array<KeyedNumber, 3> numbers{
      {{.key = "pgfree", .value = {}}, {.key = "pgalloc", .value = 5}, {.key = "a", .value = {}}}};
  ZoneCounters zones("pgalloc_");
  const std::string text =
      "nr_x 1\na 9\npgalloc_dma 1\npgalloc_dma32 2\npgalloc_normal 3\n\npgalloc_high 4\npgalloc_movable 5\n"
      "pgalloc_device 6\npgfree 18446744073709551615\nno number\na 10\n";
  EXPECT_EQ(read_vm_counters(text, numbers, zones), std::nullopt);
  EXPECT_EQ(words(zones), "DMA=1 DMA32=2 Normal=3 HighMem=4 Movable=5 Device=6");
  EXPECT_EQ(numbers[0].value, ~std::uint64_t{0});
  EXPECT_FALSE(numbers[1].value.has_value()) << "what starts so is not it";
  EXPECT_EQ(numbers[2].value, 9U) << "the first of two";
}

TEST(VmCounters, OfKindsThatAreYetToComeKeepTheirWord) {
  ZoneCounters zones("pgalloc_");
  std::array<KeyedNumber, 0> numbers;
  const std::string text =
      "pgalloc_cxl 1\npgalloc_ 2\npgalloc_normal 3\npgalloc_normal 4\npgalloc_Normal 5\npgalloc_a\"b 6\n"
      "pgalloc_\xFF 7\npgalloc_" +
      std::string(4096, 'x') + " 8\n";
  EXPECT_EQ(read_vm_counters(text, numbers, zones), std::nullopt);
  EXPECT_EQ(words(zones), "cxl=1 Normal=3");
  std::string many;
  for (int i = 0; i < 100; ++i) many += "pgalloc_z" + std::to_string(i) + " 1\n";
  ZoneCounters first("pgalloc_");
  EXPECT_EQ(read_vm_counters(many, numbers, first), std::nullopt);
  EXPECT_EQ(first.counters().size(), 8U);
}

TEST(VmCounters, ThatAreInvalidAreReportedByTheOffsetOfTheirLine) {
  std::array<KeyedNumber, 1> numbers{{{.key = "b", .value = {}}}};
  for (const char* bad : {"a 1\nb x\n", "a 1\nb\n", "a 1\nb -1\n", "a 1\nb 18446744073709551616\n", "a 1\nb 1 2\n",
                          "a 1\nb 1", "a 1\nc 1", "a 1\nz_dma x\n", "a 1\nz_dma\n", "a 1\nz_dma -5\n"}) {
    ZoneCounters zones("z_");
    EXPECT_EQ(read_vm_counters(bad, numbers, zones), 4U) << bad;
  }
}

}  // namespace
}  // namespace memstat
