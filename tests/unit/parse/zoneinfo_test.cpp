// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/zoneinfo.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

/// "node zone free/present/managed low hit cpu=pages ..." of all zones, or the place of the error.
std::string words(std::string_view text) {
  ZoneInfoReader reader(text);
  std::string words;
  ZoneInfo zone;
  while (reader.next_zone(zone)) {
    std::string sets;
    for (PageSet set; reader.next_page_set(zone, set);) {
      sets += " " + std::to_string(set.cpu) + "=" + std::to_string(set.pages);
    }
    const auto number = [](const auto& value) { return value ? std::to_string(*value) : std::string("-"); };
    words += (words.empty() ? "" : "; ") + std::to_string(zone.key.node) + " " + std::string(zone.key.name) + " " +
             std::to_string(zone.free) + "/" + std::to_string(zone.present) + "/" + std::to_string(zone.managed) + " " +
             number(zone.watermarks[1]) + " " + number(zone.numa_events[0]) + sets;
  }
  if (reader.problem()) return std::to_string(reader.problem()->offset) + ": " + std::string(reader.problem()->detail);
  return words;
}

const std::string kHead =
    "  pages free     9\n        low      3\n        present  12\n        managed  11\n        protection: (0)\n";
const std::string kTail =
    "      numa_hit     7\n  pagesets\n    cpu: 0\n              count: 5\n              high:  6\n"
    "    cpu: 3\n              count:    8\n  start_pfn:           1\n";
const std::string kEmpty =
    "  pages free     0\n        low      32\n        present  0\n        managed  0\n        protection: (0)\n";

TEST(ZoneInfo, HasZonesWithTheirPagesAndPageSets) {
  EXPECT_EQ(words("Node 0, zone      DMA\n" + kHead + kTail + "Node 0, zone   Normal\n" + kEmpty +
                  "Node 12, zone Movable\n" + kHead + kTail + "  reserved_highatomic: 0\n"),
            "0 DMA 9/12/11 3 7 0=5 3=8; 0 Normal 0/0/0 32 -; 12 Movable 9/12/11 3 7 0=5 3=8");
  EXPECT_EQ(words(""), "");
  EXPECT_EQ(words("\n\n"), "");
}

TEST(ZoneInfo, TakesOnlyTheFirstOfTwoFiguresAndNoOthersOfTheName) {
  EXPECT_EQ(
      words("Node 0, zone DMA\n  per-node stats\n      nr_free 5\n  pages scanned 77\n  pages free 9\n  pages free 10\n low "
            "3\n"
            " low 4\n present 12\n managed 11\n protection: (0)\n numa_hit 7\n numa_hit 8\n numa_new 9\n low 5\n count: 9\n"
            " cpu: 1\n count: -3\n count: 4\n start_pfn: 1\n"),
      "0 DMA 9/12/11 3 7 1=0");
}

TEST(ZoneInfo, SaysWhatIsWrongWhere) {
  const std::string good = "Node 1, zone DMA\n" + kHead + kTail;
  const std::string at_end = std::to_string(good.size()) + ": ";
  EXPECT_EQ(words("pages free 3\n"), "0: expected a node and a zone: \"Node 0, zone Normal\"");
  EXPECT_EQ(words(good + "Node 0, zone DMA\n" + kHead + kTail), at_end + "nodes are out of order");
  for (const char* line :
       {"Node\n", "Node 0\n", "Node 0,\n", "Node 0 zone DMA\n", "Node -1, zone DMA\n", "Node x, zone DMA\n",
        "Node 2147483648, zone DMA\n", "Node 99999999999999999999, zone DMA\n", "Node 1, zone\n", "Node 1, z DMA\n"}) {
    EXPECT_EQ(words(good + line + kHead + kTail), at_end + "expected a node and a zone: \"Node 0, zone Normal\"") << line;
  }
  for (const char* number : {"", "x", "-1", "+1", "18446744073709551616", "1 2", "1.5"}) {
    const std::string begin = "Node 0, zone DMA\n";
    for (const char* name : {"pages free", "present", "managed", "min", "low", "high", "promo"}) {
      EXPECT_EQ(words(begin + name + " " + number + "\n" + kHead + kTail), "17: expected a number of pages")
          << name << number;
    }
    const std::string whole_head = begin + kHead;
    const std::string there = std::to_string(whole_head.size()) + ": ";
    EXPECT_EQ(words(whole_head + "numa_hit " + number + "\n" + kTail), there + "expected a number") << number;
    EXPECT_EQ(words(whole_head + "cpu: " + number + "\n" + kTail), there + "expected a CPU number") << number;
  }
  EXPECT_EQ(words("Node 0, zone DMA\n" + kHead + "cpu: 1\ncount: x\n" + kTail),
            std::to_string(17 + kHead.size() + 7) + ": expected a number of pages");
  EXPECT_EQ(words("Node 0, zone DMA\n" + kHead + "cpu: 1\ncount: 1\ncpu: 1\n" + kTail),
            std::to_string(17 + kHead.size() + 16) + ": CPUs are out of order");
}

TEST(ZoneInfo, IsRefusedWhereverAZoneIsCutShort) {
  const std::string good = "Node 0, zone DMA\n" + kHead + kTail;
  const std::string last = "Node 1, zone Normal\n" + kHead + kTail;
  for (std::size_t size = 1; size < last.size(); ++size) {
    const std::string text = words(good + last.substr(0, size));
    EXPECT_TRUE(text.ends_with("cut short") || text.ends_with("within a line") ||
                text.find("expected a node") != std::string::npos || text.ends_with("incomplete zone"))
        << text;
  }
  EXPECT_TRUE(words(good + "Node 0, zone Normal\nNode 0, zone DMA\n" + kHead + kTail).ends_with("incomplete zone"));
  EXPECT_TRUE(words("Node 0, zone DMA\n pages free 1\n managed 2\n protection: (0)\n").ends_with("free or present pages"));
}

TEST(ZoneInfo, IsReadFromKernelsThatPrintLessAndInAnotherOrder) {
  const std::string before_4_8 =
      "Node 0, zone DMA\n  pages free 9\n low 3\n present 12\n managed 11\n    nr_free_pages 9\n    numa_hit     7\n"
      "    nr_free_cma  4\n        protection: (0, 0)\n  pagesets\n    cpu: 0\n              count: 5\n"
      "  all_unreclaimable: 1\n  start_pfn:         1\n";
  EXPECT_EQ(words(before_4_8), "0 DMA 9/12/11 3 7 0=5");
  ZoneInfoReader reader(before_4_8);
  ZoneInfo zone;
  ASSERT_TRUE(reader.next_zone(zone));
  for (PageSet set; reader.next_page_set(zone, set);) {
  }
  EXPECT_EQ(zone.free_cma, 4U);
  EXPECT_EQ(zone.unreclaimable, 1U);
  EXPECT_EQ(words("Node 0, zone DMA\n pages free 9\n low 3\n present 12\n protection: (0)\n start_pfn: 1\n"),
            "0 DMA 9/12/12 3 -")
      << "before 3.9 there is no line managed";
  EXPECT_EQ(words("Node 0, zone DMA\n pages free 9\n numa_hit x\n present 12\n protection: (0)\n"), "31: expected a number");
}

}  // namespace
}  // namespace memstat
