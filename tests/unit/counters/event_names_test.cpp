// SPDX-License-Identifier: BSD-2-Clause
// Names of events, and parsing of event strings.
#include "core/counters/event_names.h"
#include "core/counters/perf_event.h"
#include "tests/support/test.h"

namespace memstat::counters {
namespace {

TEST(EventNames, AreEachOnlyOneEvent) {
  std::set<std::string> names;
  for (const NamedEvent& event : kernel_events()) {
    EXPECT_TRUE(names.insert(event.name).second) << event.name;
    EXPECT_FALSE(event.description.empty()) << event.name;
  }
  for (const GenericName& generic : generic_names()) EXPECT_TRUE(names.contains(std::string(generic.event))) << generic.name;
}

TEST(EventNames, OfRawCodesAreHexadecimal) {
  EXPECT_EQ(parse_raw_code("r1a8"), 0x1A8U);
  EXPECT_EQ(parse_raw_code("rffffffffffffffff"), ~0ULL);
  for (const char* text : {"r", "r1ffffffffffffffff", "r1g", "1a8", "", "r-1", "r0x1"})
    EXPECT_FALSE(parse_raw_code(text)) << text;
}

TEST(EventNames, OfTracepointsCannotLeaveTheirDirectory) {
  const auto parts = parse_tracepoint("sched:sched_switch");
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->group, "sched");
  EXPECT_EQ(parts->name, "sched_switch");
  for (const char* text : {"sched", ":", "a:", ":b", "..:x", "a:../../etc", "a/b:c", "a:b:c", "a b:c"}) {
    EXPECT_FALSE(parse_tracepoint(text)) << text;
  }
}

TEST(EventNames, OfPmusHaveTerms) {
  const auto event = parse_pmu_event("cpu/event=0xa8,umask=1,edge/");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->pmu, "cpu");
  ASSERT_EQ(event->terms.size(), 3U);
  EXPECT_EQ(event->terms[0].value, 0xA8U);
  EXPECT_EQ(event->terms[2].name, "edge");
  EXPECT_FALSE(event->terms[2].has_value);
  EXPECT_TRUE(parse_pmu_event("cpu//")->terms.empty());
  std::string many = "cpu/a";
  for (int i = 0; i < 64; ++i) many += ",a";
  for (const std::string& text : {std::string("cpu"), std::string("/"), std::string("cpu/"), std::string("cpu/a"),
                                  std::string("../x/a/"), std::string("cpu/=1/"), std::string("cpu/a=/"),
                                  std::string("cpu/a=99999999999999999999/"), std::string("cpu/a,,b/"), many + "/"}) {
    EXPECT_FALSE(parse_pmu_event(text)) << text;
  }
}

TEST(EventNames, BitsGoWhereTheFormatSays) {
  EventCode code;
  EXPECT_EQ(place_bits("config:0-7", 0xA8, code), Placement::kDone);
  EXPECT_EQ(place_bits("config:8-15,32", 0x1FF, code), Placement::kDone);
  EXPECT_EQ(code.config, 0x1'0000'FFA8U);
  EXPECT_EQ(place_bits("config1:0-63", ~0ULL, code), Placement::kDone);
  EXPECT_EQ(code.config1, ~0ULL);
  EXPECT_EQ(place_bits("config2:3", 1, code), Placement::kDone);
  EXPECT_EQ(code.config2, 8U);
  EXPECT_EQ(place_bits("config:0-7", 0x100, code), Placement::kTooLarge);
  for (const char* text : {"", "config", "config3:1", "config:64", "config:7-0", "config:a", "config:1-", "config:,"}) {
    EXPECT_EQ(place_bits(text, 1, code), Placement::kMalformed) << text;
  }
  EXPECT_EQ(code.config, 0x1'0000'FFA8U) << "a refused one changes nothing";
}

}  // namespace
}  // namespace memstat::counters
