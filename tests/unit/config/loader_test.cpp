// SPDX-License-Identifier: BSD-2-Clause
#include "config/loader.h"

#include "tests/support/fixtures.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::string_view, 3> kSources = {"freebsd_malloc", "freebsd_uma", "linux_slabinfo"};
const std::string kShippedFile = source_path("config/memstatd.yaml");

constexpr SourceOption kKeyOfCounters[] = {
    {.name = "counters", .kind = SourceOption::Kind::kKey, .problem_with = [](std::string_view) { return std::string(); }}};
constexpr SourceOption kOptionsOfGroups[] = {
    {.name = "names", .kind = SourceOption::Kind::kPattern, .default_pattern = ".*", .section = "groups"},
    {.name = "depth", .kind = SourceOption::Kind::kNumber, .default_number = 32, .section = "groups"},
    {.name = "top", .kind = SourceOption::Kind::kNumber, .default_number = 256, .section = "groups"}};
constexpr std::array<std::span<const SourceOption>, 2> kOptionsWithKey = {std::span<const SourceOption>(kKeyOfCounters),
                                                                          std::span<const SourceOption>(kOptionsOfGroups)};
/// A setting of the source that has those of groups; nullptr: the default.
const SourceSetting* group_setting(const Config& config, std::string_view name) {
  const auto source = config.sources.find("freebsd_uma");
  if (source == config.sources.end()) return nullptr;
  const auto setting = source->second.settings.find(name);
  return setting == source->second.settings.end() ? nullptr : &setting->second;
}

ConfigResult load(std::string_view yaml) {
  return load_config_text(yaml, "f.yaml", ConfigContext{kSources, kOptionsWithKey});
}

/// The configuration of a text that must be valid.
Config good(std::string_view yaml) {
  ConfigResult result = load(yaml);
  for (const std::string& problem : result.problems()) ADD_FAILURE() << problem;
  return result ? *result : Config();
}

std::string shipped() { return read_text(kShippedFile); }

TEST(Loader, AnEmptyFileGivesTheDefaults) {
  for (const char* yaml : {"", "\n\n", "# nothing\n", "---\n", "---\n...\n", "{}\n", "\xEF\xBB\xBF", "\r\n# x\r\n"}) {
    EXPECT_EQ(good(yaml), Config()) << yaml;
  }
}

TEST(Loader, TheShippedFileHoldsTheDefaults) { EXPECT_EQ(good(shipped()), Config()); }

/// One key of the shipped file: its line, a replacement, and a check that it took effect.
struct ChangedKey {
  const char* line;
  const char* changed;
  bool (*arrived)(const Config& config);
};

const ChangedKey kChangedKeys[] = {
    {"listen: [\"127.0.0.1:8947\"]", "listen: [\"127.0.0.1:0\", \"127.0.0.2:80\"]",
     [](const Config& c) {
       return c.listen.size() == 2 && c.listen[0].port == 0 && format_ip(c.listen[1].address) == "127.0.0.2" &&
              c.listen[1].port == 80;
     }},
    {"allow: []", "allow: [10.0.0.0/8, \"192.0.2.7/32\"]",
     [](const Config& c) {
       return c.allow == std::vector<IpNetwork>{{IpAddress::v4(0x0A000000), 8}, {IpAddress::v4(0xC0000207), 32}};
     }},
    {"  mode: \"0660\"", "  mode: \"0600\"", [](const Config& c) { return c.unix_socket.mode == 0600; }},
    {"  group: \"\"", "  group: prometheus", [](const Config& c) { return c.unix_socket.group == "prometheus"; }},
    {"user: _memstatd", "user: _memstat", [](const Config& c) { return c.user == "_memstat"; }},
    {"enable_reload: false", "enable_reload: true", [](const Config& c) { return c.enable_reload; }},
    {"basic_auth: {}", "basic_auth: {me: $2b$04$ajqBJ3yPvgxzwk/Lv7zVAeIBKbBbgtFsN5WMnJ6dfVD3gqpk3Cpgu}",
     [](const Config& c) { return c.basic_auth.size() == 1 && c.basic_auth.at("me").starts_with("$2b$04$ajq"); }},
    {"  interval: 10s", "  interval: 1m30s", [](const Config& c) { return c.poll.interval == 90s; }},
    {"  timeout: 2s", "  timeout: 500ms", [](const Config& c) { return c.poll.timeout == 500ms; }},
    {"tier: default", "tier: full", [](const Config& c) { return c.tier == Tier::kFull; }},
    {"  allocators: []", "  allocators: [uma, \"sl.b\"]",
     [](const Config& c) { return c.per_cpu.allocators.size() == 2 && c.per_cpu.allocators[1].matches("slab"); }},
    {"  types: []", "  types: [\"mbuf.*\"]",
     [](const Config& c) { return c.per_cpu.types.size() == 1 && c.per_cpu.types[0].text() == "mbuf.*"; }},
    {"sources: {}", "sources: {linux_slabinfo: {enabled: on, interval: 60s}, freebsd_uma: {enabled: off}}",
     [](const Config& c) {
       return c.sources.size() == 2 && c.sources.at("linux_slabinfo") == SourceConfig{Switch::kOn, 60s} &&
              c.sources.at("freebsd_uma") == SourceConfig{Switch::kOff, std::nullopt};
     }},
    {"limits: []",
     "limits: [{allocator: slab, type: dentry, bytes: 2GiB}, {allocator: \".*\", type: nf_.*, objects: 7, bytes: 1}]",
     [](const Config& c) {
       return c.limits.size() == 2 && c.limits[0].allocator.text() == "slab" && c.limits[0].type.matches("dentry") &&
              c.limits[0].bytes == std::uint64_t{2} << 30 && !c.limits[0].objects && c.limits[1].objects == 7U &&
              c.limits[1].bytes == 1U && c.limits[1].type.matches("nf_conntrack");
     }},
    {"  include: []", "  include: [{allocator: uma}, {type: \"mbuf.*\", allocator: malloc}]",
     [](const Config& c) {
       return c.filters.include.size() == 2 && c.filters.admit("uma", "x") && c.filters.admit("malloc", "mbuf_tag") &&
              !c.filters.admit("malloc", "temp");
     }},
    {"  exclude: []", "  exclude: [{type: kmalloc-.*}]",
     [](const Config& c) { return c.filters.exclude.size() == 1 && !c.filters.admit("slab", "kmalloc-64"); }},
    {"created_series: false", "created_series: true", [](const Config& c) { return c.created_series; }},
    {"counters: []", "counters: [{set: few, events: [page-faults], cpus: 0-3}]",
     [](const Config& c) {
       return c.counters == std::vector<CounterSetConfig>{{.name = "few", .events = {"page-faults"}, .cpus = "0-3"}};
     }},
    {"min_bytes: 0", "min_bytes: 1MiB", [](const Config& c) { return c.min_bytes == 1U << 20U; }},
    {"  names: \".*\"", "  names: /a.*",
     [](const Config& c) {
       return group_setting(c, "names") != nullptr && group_setting(c, "names")->pattern.matches("/ab");
     }},
    {"  depth: 32", "  depth: 3",
     [](const Config& c) { return group_setting(c, "depth") != nullptr && group_setting(c, "depth")->number == 3; }},
    {"  top: 256", "  top: 9",
     [](const Config& c) { return group_setting(c, "top") != nullptr && group_setting(c, "top")->number == 9; }},
    {"series_limit: 20000", "series_limit: 10000000", [](const Config& c) { return c.series_limit == 10'000'000; }},
    {"  window: 1h", "  window: 24h", [](const Config& c) { return c.growth_window == 24h; }},
    {"  on_scrape: off", "  on_scrape: 1s", [](const Config& c) { return c.poll.on_scrape == 1s; }},
    {"textfile: \"\"", "textfile: /tmp/memstat.prom", [](const Config& c) { return c.textfile == "/tmp/memstat.prom"; }},
    {"history: 2MiB", "history: 0", [](const Config& c) { return c.history_bytes == 0; }},
    {"retention: 6", "retention: 100000", [](const Config& c) { return c.retention == 100000; }},
    {"  budget: 1%", "  budget: 0.25%", [](const Config& c) { return c.events_budget_ppm == 2500; }},
    {"  mode: failures", "  mode: full", [](const Config& c) { return c.events_mode == EventsMode::kFull; }},
    {"  record: \"\"", "  record: /var/db/memstatd/x.tar.zst",
     [](const Config& c) { return c.capture.record == "/var/db/memstatd/x.tar.zst"; }},
    {"  max_bytes: 1GiB", "  max_bytes: 10kB", [](const Config& c) { return c.capture.max_bytes == 10000; }},
    {"  directory: /var/lib/memstatd/incidents", "  directory: /srv",
     [](const Config& c) { return c.incidents.directory == "/srv"; }},
    {"  max_age: 24h", "  max_age: 7d", [](const Config& c) { return c.capture.max_age == 168h; }},
    {"  level: info", "  level: debug", [](const Config& c) { return c.log.level == LogLevel::kDebug; }},
    {"  format: text", "  format: json", [](const Config& c) { return c.log.format == LogFormat::kJson; }},
    {"sandbox: true", "sandbox: false", [](const Config& c) { return !c.sandbox; }},
    {"lock_memory: true", "lock_memory: false", [](const Config& c) { return !c.lock_memory; }},
};

/// `text` with that line, which must occur once, replaced.
std::string replace_line(std::string text, const std::string& line, const std::string& by) {
  const std::size_t at = text.find("\n" + line + "\n");
  EXPECT_NE(at, std::string::npos) << line;
  if (at == std::string::npos) return text;
  EXPECT_EQ(text.find("\n" + line + "\n", at + 1), std::string::npos) << line;
  return text.replace(at + 1, line.size(), by);
}

TEST(Loader, EachKeyOfTheShippedFileCanBeChanged) {
  const std::string text = shipped();
  for (const ChangedKey& key : kChangedKeys) {
    const Config config = good(replace_line(text, key.line, key.changed));
    EXPECT_TRUE(key.arrived(config)) << key.changed;
    EXPECT_FALSE(key.arrived(Config())) << key.changed;
    EXPECT_NE(config, Config()) << key.changed;
  }
}

/// A line with another value, if its default is a switch or begins with a number; others need a row in kChangedKeys.
std::string with_another_value(const std::string& line) {
  const std::size_t at = line.find(": ") + 2;
  const std::string value = line.substr(at);
  if (value == "true" || value == "false") return line.substr(0, at) + (value == "true" ? "false" : "true");
  const std::size_t end = std::min(value.find_first_not_of("0123456789"), value.size());
  if (end == 0) return {};
  return line.substr(0, at) + std::to_string(std::stoull(value.substr(0, end)) + 1) + value.substr(end);
}

TEST(Loader, EveryActiveLineOfTheShippedFileIsTested) {
  std::string text = shipped();
  std::vector<Config> known{Config()};
  for (const ChangedKey& key : kChangedKeys) text = replace_line(text, key.line, "#");
  for (const ChangedKey& key : kChangedKeys) known.push_back(good(replace_line(shipped(), key.line, key.changed)));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find_first_not_of(' ');
    const bool is_key_with_value = begin != std::string::npos && line[begin] != '#' && line.back() != ':';
    if (!is_key_with_value) continue;
    const std::string changed = with_another_value(line);
    ASSERT_NE(changed, "") << line << ": belongs into kChangedKeys";
    known.push_back(good(replace_line(shipped(), line, changed)));
    EXPECT_EQ(std::count(known.begin(), known.end(), known.back()), 1)
        << line << ": changes nothing, or the value of another key";
  }
}

TEST(Loader, HashesOfPasswordsMayNotBeInAFileThatEveryAccountCanRead) {
  const std::string text = "basic_auth: {me: $2b$04$ajqBJ3yPvgxzwk/Lv7zVAeIBKbBbgtFsN5WMnJ6dfVD3gqpk3Cpgu}\n";
  const ConfigResult readable = load_config_text(text, "a.yaml", {.sources = {}, .is_readable_by_all = true});
  ASSERT_EQ(readable.problems().size(), 1U);
  EXPECT_TRUE(readable.problems()[0].starts_with("a.yaml:1:13: basic_auth: is in a file that every account can read; "));
  EXPECT_TRUE(load_config_text(text, "a.yaml", {.sources = {}}));
  EXPECT_TRUE(load_config_text("basic_auth: {}\n", "a.yaml", {.sources = {}, .is_readable_by_all = true}));
}

TEST(Loader, FiltersShowIncludedTypesThatAreNotExcluded) {
  EXPECT_TRUE(Config().filters.admit("slab", "dentry"));
  const FiltersConfig filters =
      good("filters: {include: [{allocator: slab}, {type: temp}], exclude: [{allocator: slab, type: kmalloc-.*}]}\n")
          .filters;
  EXPECT_TRUE(filters.admit("slab", "dentry"));
  EXPECT_TRUE(filters.admit("malloc", "temp"));
  EXPECT_TRUE(filters.admit("uma", "temp"));
  EXPECT_FALSE(filters.admit("malloc", "devbuf")) << "not included";
  EXPECT_FALSE(filters.admit("slab", "kmalloc-64")) << "exclude wins";
  const FiltersConfig only_exclude = good("filters:\n  exclude: [{type: temp}]\n").filters;
  EXPECT_FALSE(only_exclude.admit("malloc", "temp"));
  EXPECT_TRUE(only_exclude.admit("malloc", "temporary")) << "the whole name must match";
}

TEST(Loader, QuotedTextsAndBlockStylesMeanTheSame) {
  const Config flow =
      good("poll: {interval: \"30s\", timeout: '1s'}\nlimits: [{allocator: slab, type: a, bytes: \"2GiB\"}]\n");
  const Config block = good(
      "poll:\r\n  interval: 30s\r\n  timeout: 1s\r\nlimits:\r\n- allocator: slab\r\n  type: \"a\"\r\n  bytes: 2GiB\r\n");
  EXPECT_EQ(flow, block);
  EXPECT_EQ(flow.poll.interval, 30s);
}

TEST(Loader, QuotesInsideOfQuotesCloseNothing) {
  EXPECT_EQ(good("capture: {record: 'it''s'}").capture.record, "it's");
  EXPECT_EQ(good("capture: {record: \"a\\\"b\\\\\"}").capture.record, "a\"b\\");
  EXPECT_EQ(good("capture:\n  record: |-\n    \"a\n").capture.record, "\"a");
  EXPECT_FALSE(load("user: 'it''"));
  EXPECT_FALSE(load("user: \"it\\\""));
}

}  // namespace
}  // namespace memstat
