// SPDX-License-Identifier: BSD-2-Clause
// Wrong configurations and their messages, from fixtures/configurations/bad.txt.
#include "config/loader.h"
#include "tests/support/fixtures.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr std::array<std::string_view, 3> kKnownSources = {"freebsd_malloc", "freebsd_uma", "linux_slabinfo"};

struct BadConfiguration {
  std::string yaml;
  std::vector<std::string> problems;
};

/// "listen, allow, ...", in the order of the messages.
std::string keys_of_the_shipped_file() {
  std::string keys;
  std::ifstream file(source_path("config/memstatd.yaml"));
  for (std::string line; std::getline(file, line);) {
    const bool is_key = !line.empty() && line.front() >= 'a' && line.front() <= 'z';
    if (is_key) keys += (keys.empty() ? "" : ", ") + line.substr(0, line.find(':'));
  }
  return keys;
}

std::vector<BadConfiguration> read_bad_configurations() {
  constexpr std::string_view kProblem = "=> ";
  constexpr std::string_view kKeys = "{KEYS}";
  const std::string keys = keys_of_the_shipped_file();
  std::vector<BadConfiguration> all;
  std::ifstream file(fixture_path("configurations/bad.txt"));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    if (const std::size_t at = line.find(kKeys); at != std::string::npos) line.replace(at, kKeys.size(), keys);
    const bool is_problem = line.starts_with(kProblem);
    if (!is_problem && (all.empty() || !all.back().problems.empty())) all.emplace_back();
    if (is_problem) {
      all.back().problems.push_back("f.yaml:" + line.substr(kProblem.size()));
    } else {
      all.back().yaml += line + "\n";
    }
  }
  return all;
}

TEST(BadConfiguration, IsRefusedWithTheMessage) {
  const auto all = read_bad_configurations();
  EXPECT_GE(all.size(), 150U);
  for (const BadConfiguration& bad : all) {
    const ConfigResult result = load_config_text(bad.yaml, "f.yaml", ConfigContext{kKnownSources});
    EXPECT_FALSE(result) << bad.yaml;
    EXPECT_EQ(result.problems(), bad.problems) << bad.yaml;
  }
}

}  // namespace
}  // namespace memstat
