// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/poll/source_settings.h"

#include "tests/support/source_cases.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

using Kind = SourceOption::Kind;

constexpr SourceOption kOptions[] = {
    {.name = "depth", .kind = Kind::kNumber, .default_number = 2, .help = "A number."},
    {.name = "groups", .kind = Kind::kPattern, .help = "A pattern."},
    {.name = "words", .kind = Kind::kPattern, .default_pattern = "a.*", .help = "A pattern with a default."},
};
constexpr std::string_view kDirectories[] = {"/sys/fs/cgroup", "/proc"};

SourceDescriptor source(std::string_view name, bool is_on) {
  return {.name = name,
          .origin = "",
          .os = OperatingSystem::kLinux,
          .allocator = Allocator::kMemcg,
          .is_roster = true,
          .fields = {},
          .cpu_fields = {},
          .options = kOptions,
          .is_on_by_default = is_on,
          .reopened_directories = kDirectories,
          .notes = "",
          .steps = {}};
}

TEST(SourceSettings, AreTheDescriptorsIfTheConfigurationSetsNone) {
  const auto values = option_values(source("s", true), SourceConfig{}, Config{});
  ASSERT_EQ(values.size(), 3U);
  EXPECT_EQ(values[0].number, 2U);
  EXPECT_FALSE(values[1].matches);
  EXPECT_TRUE(values[2].matches("abc"));
  EXPECT_FALSE(values[2].matches("xabc"));
}

TEST(SourceSettings, AreTheConfigurationsIfItSetsThem) {
  SourceConfig config;
  config.settings["depth"].number = 7;
  config.settings["words"].pattern = *NamePattern::compile("b");
  const auto values = option_values(source("s", true), config, Config{});
  EXPECT_EQ(values[0].number, 7U);
  EXPECT_TRUE(values[2].matches("b"));
  EXPECT_FALSE(values[2].matches("abc"));
  EXPECT_EQ(option_number(source("s", true), config, "depth", 1), 7U);
  EXPECT_EQ(option_number(source("s", true), config, "no such option", 1), 1U);
}

TEST(SourceSettings, OfAProgramThatListsEverythingHaveTheLargestTop) {
  static constexpr SourceOption kTop[] = {
      {.name = "top", .kind = Kind::kNumber, .default_number = 2, .most = 9, .help = "A number."}};
  SourceDescriptor bounded = source("bounded", true);
  bounded.options = kTop;
  const SourceDescriptor other = source("other", true);
  const SourceDescriptor* const all[] = {&bounded, &other};
  Config config;
  lift_top(all, config);
  EXPECT_EQ(option_number(bounded, config_of(bounded, config), "top", 0), 9U);
  EXPECT_TRUE(config_of(other, config).settings.empty());
}

TEST(SourceSettings, SwitchASourceOfEventsOnFromItsModeOn) {
  constexpr auto events_from = [](std::string_view mode) {
    return SourceOption{.name = "events", .kind = Kind::kKey, .default_pattern = mode, .help = "The mode."};
  };
  static constexpr SourceOption kFailures[] = {events_from("failures")};
  static constexpr SourceOption kFull[] = {events_from("full")};
  SourceDescriptor failures = source("failures", false);
  failures.is_traced = true;
  SourceDescriptor counters = failures;
  SourceDescriptor full = failures;
  failures.options = kFailures;
  full.options = kFull;
  const SourceDescriptor rare = source("rare", false);
  const std::pair<EventsMode, std::string> modes[] = {{EventsMode::kOff, "off"},
                                                      {EventsMode::kFailures, "failures"},
                                                      {EventsMode::kCounters, "counters"},
                                                      {EventsMode::kFull, "full"}};
  for (const auto& [mode, word] : modes) {
    Config config;
    config.events_mode = mode;
    const auto is_on = [&](const SourceDescriptor& each) { return !is_off(each, config_of(each, config)); };
    EXPECT_EQ(is_on(failures), mode != EventsMode::kOff) << word;
    EXPECT_EQ(is_on(counters), mode == EventsMode::kCounters || mode == EventsMode::kFull) << word;
    EXPECT_EQ(is_on(full), mode == EventsMode::kFull) << word;
    EXPECT_FALSE(is_on(rare));
    EXPECT_EQ(option_values(failures, SourceConfig{}, config)[0].text, word + " 10000");
    config.sources["failures"].enabled = mode == EventsMode::kOff ? Switch::kOn : Switch::kOff;
    EXPECT_EQ(is_on(failures), mode == EventsMode::kOff) << "the source's own entry takes precedence";
  }
}

TEST(SourceSettings, HandTheKeyCountersToItsSourceALineASet) {
  static constexpr SourceOption kKeys[] = {
      {.name = "counters", .kind = Kind::kKey, .default_pattern = "x", .help = "Sets."}};
  SourceDescriptor counting = source("s", true);
  counting.options = kKeys;
  Config config;
  EXPECT_EQ(option_values(counting, SourceConfig{}, config)[0].text, "");
  config.counters = {{.name = "memory", .events = {"a", "b"}}, {.name = "few", .events = {"c"}, .cpus = "0-3"}};
  EXPECT_EQ(option_values(counting, SourceConfig{}, config)[0].text, "memory all a b\nfew 0-3 c\n");
}

TEST(SourceSettings, LeaveOnlyTheDirectoriesOfSourcesThatAreReadOpen) {
  const SourceDescriptor usual = source("usual", true);
  const SourceDescriptor rare = source("rare", false);
  const SourceDescriptor* both[] = {&rare, &usual};
  Config config;
  EXPECT_THAT(reopened_directories(both, OperatingSystem::kLinux, config), ElementsAre("/sys/fs/cgroup", "/proc"))
      << "each once";
  config.sources["usual"].enabled = Switch::kOff;
  EXPECT_TRUE(reopened_directories(both, OperatingSystem::kLinux, config).empty());
  config.sources["rare"].enabled = Switch::kOn;
  EXPECT_FALSE(reopened_directories(both, OperatingSystem::kLinux, config).empty());
  EXPECT_TRUE(reopened_directories(both, OperatingSystem::kFreeBsd, config).empty());
}

TEST(SourceSettings, UniteWhatAHelperProcessNeedsForSourcesThatAreOn) {
  static constexpr std::string_view kTwo[] = {"CAP_BPF", "CAP_PERFMON"};
  static constexpr std::string_view kOne[] = {"CAP_PERFMON"};
  SourceDescriptor first = source("first", true);
  SourceDescriptor second = source("second", true);
  first.helper_capabilities = kOne;
  second.helper_capabilities = kTwo;
  const SourceDescriptor* both[] = {&first, &second};
  Config config;
  EXPECT_THAT(helper_capabilities(both, OperatingSystem::kLinux, config), ElementsAre("CAP_PERFMON", "CAP_BPF"));
  config.sources["second"].enabled = Switch::kOff;
  EXPECT_THAT(helper_capabilities(both, OperatingSystem::kLinux, config), ElementsAre("CAP_PERFMON"));
  config.sources["first"].enabled = Switch::kOff;
  EXPECT_TRUE(helper_capabilities(both, OperatingSystem::kLinux, config).empty());
}

}  // namespace
}  // namespace memstat
