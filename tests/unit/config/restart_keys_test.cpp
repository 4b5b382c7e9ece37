// SPDX-License-Identifier: BSD-2-Clause
#include "config/config.h"

#include <algorithm>

#include "config/loader.h"
#include "tests/support/fixtures.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

TEST(RestartKeys, AreNamedWhenTheirValueChanges) {
  const Config before;
  Config after;
  EXPECT_EQ(changed_restart_keys(before, after), "");
  after.min_bytes = 4096;
  after.poll.interval = std::chrono::seconds(1);
  after.log.level = LogLevel::kDebug;
  EXPECT_EQ(changed_restart_keys(before, after), "") << "these take effect at once";
  after.user = "somebody";
  EXPECT_EQ(changed_restart_keys(before, after), "user");
  after.listen[0].port = 1234;
  EXPECT_EQ(changed_restart_keys(before, after), "listen and user");
  after.capture.max_bytes = 1;
  EXPECT_EQ(changed_restart_keys(before, after), "listen, user and capture");
  EXPECT_EQ(changed_restart_keys(after, after), "");
}

/// The keys that the manual page marks with "Needs a restart." in their paragraph.
std::set<std::string> keys_marked_in_manual() {
  const std::string page = read_text(fixture_path("../../config/man/memstatd.yaml.5"));
  std::set<std::string> marked;
  std::string key;
  std::size_t at = 0;
  while (at < page.size()) {
    const std::size_t end = std::min(page.find('\n', at), page.size());
    const std::string line = page.substr(at, end - at);
    at = end + 1;
    constexpr std::string_view kItem = ".It Ic ";
    if (line.starts_with(kItem)) {
      key = line.substr(kItem.size(), line.find(' ', kItem.size()) - kItem.size());
      const auto is_key = [&](const RestartKey& one) { return one.name == key; };
      if (std::none_of(kRestartKeys.begin(), kRestartKeys.end(), is_key)) key.resize(std::min(key.find('.'), key.size()));
    }
    if (line == "Needs a restart.") marked.insert(key);
  }
  return marked;
}

TEST(RestartKeys, AreThoseThatTheManualPageMarks) {
  std::set<std::string> known;
  for (const RestartKey& key : kRestartKeys) EXPECT_TRUE(known.insert(std::string(key.name)).second) << key.name;
  EXPECT_EQ(known, keys_marked_in_manual());
}

}  // namespace
}  // namespace memstat
