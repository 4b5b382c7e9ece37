// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/source/api_answers.h"

#include "daemon/ctl/source/type_figures.h"
#include "tests/support/test.h"

namespace memstat::ctl {
namespace {

using testing::Optional;

constexpr std::string_view kTypes =
    R"({"generation":1,"time":1795186800.5,"types":[)"
    R"({"allocator":"uma","type":"a \u0007","bytes":98304,"objects":96,"free_objects":4,"limit_objects":1000,)"
    R"("limit_bytes":1024000,"limit_used":0.0960,"failures":3,"sleeps":0,"growth_bytes_per_second":-1.5,"also":["b",5],"new":[{}]},)"
    R"({"allocator":"table","type":"kmem","bytes":5,"container":true,"fails_routinely":true}],"unlisted":[]})";

TEST(ApiAnswers, TypesBecomeRows) {
  Sample sample;
  ASSERT_TRUE(parse_types_answer(kTypes, sample));
  EXPECT_EQ(sample.time_ns, 1795186800500000000);
  ASSERT_EQ(sample.types.size(), 2U);
  const TypeRow& a = sample.types[0];
  EXPECT_EQ(a.allocator_number, ALLOCATOR_UMA);
  EXPECT_EQ(a.name, "a \x07");
  EXPECT_EQ(a.figures, MEMSTAT_FIGURE_BYTES | MEMSTAT_FIGURE_COUNT | MEMSTAT_FIGURE_FREE | MEMSTAT_FIGURE_FAILURES |
                           MEMSTAT_FIGURE_COUNTLIMIT | MEMSTAT_FIGURE_BYTESLIMIT);
  EXPECT_EQ(a.bytes, 98304U);
  EXPECT_EQ(a.failures, 3U);
  EXPECT_THAT(a.growth, Optional(-1.5));
  EXPECT_THAT(a.also, ElementsAre("b"));
  EXPECT_TRUE(sample.types[1].is_container && sample.types[1].fails_routinely && !a.is_container);
  EXPECT_EQ(sample.types[1].figures, MEMSTAT_FIGURE_BYTES);
}

TEST(ApiAnswers, MemoryHistoryAndSplitsAreUnderstood) {
  Machine machine;
  std::optional<MachineMemory> memory;
  ASSERT_TRUE(parse_memory_answer(R"({"host":{"os":"freebsd","release":"15.0","replay":"x"},"parts":[],"total_bytes":100,)"
                                  R"("unaccounted_bytes":-3,"free_bytes":40})",
                                  machine, memory));
  EXPECT_EQ(machine.os + machine.release + machine.replay + machine.host, "freebsd15.0x");
  ASSERT_TRUE(memory.has_value());
  EXPECT_EQ(memory->unaccounted, -3);
  EXPECT_EQ(memory->free, 40U);
  EXPECT_FALSE(memory->available.has_value());

  Sample sample;
  ASSERT_TRUE(parse_types_answer(kTypes, sample));
  std::vector<AmountHistory> histories;
  ASSERT_TRUE(parse_history_answer(R"({"times":[1,2],"series":[{"allocator":"table","type":"kmem","values":[null,7]}]})",
                                   sample.types, histories));
  ASSERT_EQ(histories.size(), 2U);
  EXPECT_TRUE(histories[0].empty());
  EXPECT_THAT(histories[1], ElementsAre(std::nullopt, Optional(7U)));

  Splits splits;
  ASSERT_TRUE(parse_type_answer(
      R"({"cpus":[{"metric":"memstat_cpu_allocated_bytes_total","values":[1,null,3]}],"nodes":[]})", splits));
  ASSERT_EQ(splits.cpus.size(), 1U);
  EXPECT_EQ(splits.cpus[0].title, "allocated_bytes");
  EXPECT_TRUE(splits.cpus[0].is_bytes);
  EXPECT_THAT(splits.cpus[0].values, ElementsAre(Optional(1U), std::nullopt, Optional(3U)));
  EXPECT_EQ(parse_error_answer(R"({"error":"no poll"})"), "no poll");
  EXPECT_EQ(parse_error_answer("<html>"), "");
}

TEST(ApiAnswers, SourcesAreASelftestOfTheServiceAsItRuns) {
  SelfTest test;
  ASSERT_TRUE(parse_sources_answer(
      R"({"sources":[{"name":"a","origin":"/a","state":"up","types":3},)"
      R"({"name":"b","origin":"/b","state":"not permitted","types":0,"needs":"CAP_BPF,CAP_PERFMON","error":"b: no \u001b"},)"
      R"({"name":"c","origin":"/c","state":"down","needs":"CAP_DAC_READ_SEARCH","error":"x"},{"name":"d","state":"off"},5],)"
      R"("daemon":{"version":"1","kernel":"linux 6.1","opened_as":"user 5 (m) without capabilities","mounts":["m",7],)"
      R"("runs_as":"user 6"}})",
      test));
  EXPECT_EQ(test.account, "user 5 (m) without capabilities when it opened the kernel's files, now user 6");
  EXPECT_THAT(test.mounts, ElementsAre("m"));
  ASSERT_EQ(test.trials.size(), 4U);
  EXPECT_EQ(test.trials[0].health, SourceHealth::kWorks);
  EXPECT_EQ(test.trials[1].health, SourceHealth::kNotPermitted);
  EXPECT_THAT(test.trials[1].advice, testing::HasSubstr("events.conf"));
  EXPECT_THAT(test.trials[1].reason, testing::Not(testing::HasSubstr("\x1b")));
  EXPECT_EQ(test.trials[2].health, SourceHealth::kNoPermission);
  EXPECT_THAT(test.trials[2].advice, testing::HasSubstr("AmbientCapabilities=CAP_DAC_READ_SEARCH"));
  EXPECT_EQ(test.trials[3].health, SourceHealth::kOff);
  EXPECT_FALSE(test.is_healthy()) << "types are lost without c";
  EXPECT_THAT(service_advice("CAP_BPF", "root with all capabilities that memstatd uses"), testing::HasSubstr("container"));
}

TEST(ApiAnswers, TruncatedOrHostileAnswersAreRefused) {
  for (std::size_t size = 0; size < kTypes.size(); ++size) {
    Sample sample;
    EXPECT_FALSE(parse_types_answer(kTypes.substr(0, size), sample)) << size;
  }
  const std::string deep = std::string(100000, '[');
  std::string many = R"({"types":[)";
  for (int i = 0; i < 4'000'000; ++i) many += "0,";
  many += "0]}";
  for (const std::string& wrong :
       {std::string("[]"), std::string("{}"), std::string(R"({"types":5})"), std::string(R"({"types":[5]})"), many,
        std::string(R"({"types":[{"allocator":"slab"}]})"), "{\"types\":" + deep, deep, std::string("{\"types\":[]}\xff")}) {
    Sample sample;
    EXPECT_FALSE(parse_types_answer(wrong, sample)) << wrong.substr(0, 40);
  }
  Sample sample;
  ASSERT_TRUE(parse_types_answer(R"({"time":1e300,"types":[{"allocator":"x","type":"y","bytes":-1,"objects":1.5,)"
                                 R"("failures":18446744073709551615,"limit_used":-2}]})",
                                 sample));
  EXPECT_EQ(sample.time_ns, 0);
  EXPECT_EQ(sample.types.at(0).figures, 0U) << "no figure is one that can be";
  EXPECT_FALSE(sample.types.at(0).limit_used.has_value());
}

}  // namespace
}  // namespace memstat::ctl
