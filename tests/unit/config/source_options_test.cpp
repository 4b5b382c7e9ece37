// SPDX-License-Identifier: BSD-2-Clause
// A source's own settings, below its name in key `sources`.
#include "config/loader.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

using Kind = SourceOption::Kind;

constexpr SourceOption kOptions[] = {
    {.name = "deep", .kind = Kind::kSwitch, .help = "A switch."},
    {.name = "depth", .kind = Kind::kNumber, .default_number = 2, .least = 0, .most = 16, .help = "A number."},
    {.name = "min_bytes", .kind = Kind::kBytes, .default_number = 65536, .help = "A size."},
    {.name = "budget",
     .kind = Kind::kDuration,
     .default_number = 10'000'000,
     .least = 1000,
     .most = 1'000'000'000,
     .help = "Time."},
    {.name = "groups", .kind = Kind::kPattern, .help = "A pattern."},
};
constexpr std::array<std::string_view, 2> kSourcesWithOptions = {"plain", "rich"};
const std::array<std::span<const SourceOption>, 2> kOptionsBySource = {std::span<const SourceOption>(),
                                                                       std::span<const SourceOption>(kOptions)};

ConfigResult load_options(std::string_view yaml) {
  return load_config_text(yaml, "f.yaml", ConfigContext{.sources = kSourcesWithOptions, .options = kOptionsBySource});
}

std::string problem_of(std::string_view yaml) {
  const ConfigResult result = load_options(yaml);
  return result || result.problems().size() != 1 ? "not exactly one problem" : result.problems()[0];
}

TEST(SourceOptions, AreReadByTheirKind) {
  const ConfigResult result = load_options(
      "sources: {rich: {enabled: on, deep: on, depth: 0, min_bytes: 2MiB, budget: 5ms, groups: \"/web.*\"}, plain: {}}");
  ASSERT_TRUE(result) << result.problems()[0];
  const auto& settings = result->sources.at("rich").settings;
  EXPECT_EQ(settings.at("deep").number, 1U);
  EXPECT_EQ(settings.at("depth").number, 0U);
  EXPECT_EQ(settings.at("min_bytes").number, 2U << 20U);
  EXPECT_EQ(settings.at("budget").number, 5'000'000U);
  EXPECT_TRUE(settings.at("groups").pattern.matches("/web-1"));
  EXPECT_FALSE(settings.at("groups").pattern.matches("/db"));
  EXPECT_TRUE(result->sources.at("plain").settings.empty());
}

TEST(SourceOptions, ThatAreWrongAreReportedWithPlaceAndAdvice) {
  EXPECT_EQ(problem_of("sources: {rich: {dept: 3}}"),
            "f.yaml:1:18: sources.rich.dept: is not a known key; did you mean depth?");
  EXPECT_EQ(problem_of("sources: {rich: {depth: 17}}"),
            "f.yaml:1:25: sources.rich.depth: \"17\" is out of range; write 0 to 16");
  EXPECT_THAT(problem_of("sources: {rich: {depth: -1}}"), HasSubstr("is not a whole number; write one such as 2"));
  EXPECT_THAT(problem_of("sources: {rich: {depth: \"3\"}}"), HasSubstr("is not a whole number"));
  EXPECT_THAT(problem_of("sources: {rich: {depth: 18446744073709551616}}"), HasSubstr("is not a whole number"));
  EXPECT_THAT(problem_of("sources: {rich: {deep: yes}}"), HasSubstr("\"yes\" is not a switch; write on"));
  EXPECT_THAT(problem_of("sources: {rich: {min_bytes: 3 stones}}"), HasSubstr("sources.rich.min_bytes"));
  EXPECT_THAT(problem_of("sources: {rich: {budget: 2s}}"), HasSubstr("out of range; write 1us to 1s"));
  EXPECT_THAT(problem_of("sources: {rich: {budget: 10}}"), HasSubstr("sources.rich.budget"));
  EXPECT_THAT(problem_of("sources: {rich: {groups: \"(\"}}"), HasSubstr("sources.rich.groups"));
  EXPECT_THAT(problem_of("sources: {rich: {groups: [a]}}"), HasSubstr("must be a regular expression"));
  EXPECT_THAT(problem_of("sources: {plain: {depth: 3}}"), HasSubstr("is not a known key"));
}

/// Simulates the events of a machine.
std::string problem_with(std::string_view word) { return word == "slip" ? "is not an event; is it slap?" : ""; }

constexpr SourceOption kCounters[] = {
    {.name = "counters", .kind = Kind::kKey, .default_pattern = "one two", .problem_with = problem_with, .help = "Sets."}};
const std::array<std::span<const SourceOption>, 2> kOptionsWithCounters = {std::span<const SourceOption>(),
                                                                           std::span<const SourceOption>(kCounters)};

ConfigResult load_counters(std::string_view yaml) {
  return load_config_text(yaml, "f.yaml", ConfigContext{.sources = kSourcesWithOptions, .options = kOptionsWithCounters});
}

std::string counters_problem(std::string_view yaml) {
  const ConfigResult result = load_counters(yaml);
  return result || result.problems().size() != 1 ? "not exactly one problem" : result.problems()[0];
}

TEST(CountersKey, NamesSetsOfEventsAndCpus) {
  const ConfigResult result = load_counters("counters: [{set: memory}, {set: a, events: [x, cpu/y=1/], cpus: \"0-3,6\"}]");
  ASSERT_TRUE(result) << result.problems()[0];
  ASSERT_EQ(result->counters.size(), 2U);
  EXPECT_THAT(result->counters[0].events, ElementsAre("one", "two")) << "the source's own";
  EXPECT_EQ(result->counters[0].cpus, "all");
  EXPECT_EQ(result->counters[1].name, "a");
  EXPECT_THAT(result->counters[1].events, ElementsAre("x", "cpu/y=1/"));
  EXPECT_EQ(result->counters[1].cpus, "0-3,6");
  EXPECT_TRUE(load_counters("")->counters.empty());
}

TEST(CountersKey, RefusesWhatCannotBeCounted) {
  EXPECT_EQ(counters_problem("counters:\n  - {set: memory, events: [one, slip]}"),
            "f.yaml:2:33: counters[0].events[1]: \"slip\" is not an event; is it slap?");
  EXPECT_EQ(counters_problem("counters: [{set: a}]"),
            "f.yaml:1:12: counters[0]: has no events; only set: memory has default events");
  EXPECT_EQ(counters_problem("counters: [{events: [x]}]"), "f.yaml:1:12: counters[0]: has no name; write set: memory");
  EXPECT_THAT(counters_problem("counters: [{set: a b, events: [x]}]"), HasSubstr("\"a b\" is not the name of a set"));
  for (const char* cpus : {"0-", "x", "\"3-1\"", "65536", "\"\"", "-1", "\"0, 1\""}) {
    EXPECT_THAT(counters_problem("counters: [{set: memory, cpus: " + std::string(cpus) + "}]"),
                HasSubstr("counters[0].cpus: "))
        << cpus;
  }
  EXPECT_THAT(counters_problem("counters: [{set: a, events: [x, x]}]"), HasSubstr("counts \"x\" twice on one CPU; keep"));
  EXPECT_THAT(counters_problem("counters: [{set: a, events: [x], cpus: 0-3}, {set: b, events: [x], cpus: 3}]"),
              HasSubstr("counters[1]: counts \"x\" twice on one CPU, also in set a; keep"));
  EXPECT_TRUE(load_counters("counters: [{set: a, events: [x], cpus: 0-3}, {set: b, events: [x], cpus: 4}]"));
  std::string many;
  for (int i = 0; i < 65; ++i) many += (i == 0 ? "e" : ", e") + std::to_string(i);
  EXPECT_THAT(counters_problem("counters: [{set: a, events: [" + many + "]}]"),
              HasSubstr("makes 65 events; write at most 64"));
  std::string sets;
  for (int i = 0; i < 17; ++i) sets += "{set: s, events: [e" + std::to_string(i) + "]}, ";
  EXPECT_THAT(counters_problem("counters: [" + sets + "]"), HasSubstr("counters[16]: is one set too many"));
  EXPECT_THAT(counters_problem("counters: {set: memory}"), HasSubstr("a list of sets of events"));
  EXPECT_THAT(counters_problem("sources: {rich: {counters: x}}"), HasSubstr("is not a known key"));
}

}  // namespace
}  // namespace memstat
