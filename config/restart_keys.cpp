// SPDX-License-Identifier: BSD-2-Clause
#include "config/restart_keys.h"
#include "core/base/text.h"

#include <array>
#include <vector>

namespace memstat {
namespace {

template <auto kMember>
bool differs(const Config& before, const Config& after) {
  return before.*kMember != after.*kMember;
}

bool differs_in_events(const Config& before, const Config& after) {
  return differs<&Config::events_mode>(before, after) || differs<&Config::events_budget_ppm>(before, after);
}

constexpr std::array kRestartKeys{
    RestartKey{"listen", differs<&Config::listen>},
    RestartKey{"allow", differs<&Config::allow>},
    RestartKey{"unix_socket", differs<&Config::unix_socket>},
    RestartKey{"user", differs<&Config::user>},
    RestartKey{"enable_reload", differs<&Config::enable_reload>},
    RestartKey{"capture", differs<&Config::capture>},
    RestartKey{"textfile", differs<&Config::textfile>},
    RestartKey{"events", differs_in_events},
    RestartKey{"counters", differs<&Config::counters>},
    RestartKey{"sandbox", differs<&Config::sandbox>},
    RestartKey{"lock_memory", differs<&Config::lock_memory>},
};

}  // namespace

std::span<const RestartKey> restart_keys() { return kRestartKeys; }

std::string changed_restart_keys(const Config& before, const Config& after) {
  std::vector<std::string_view> changed;
  for (const RestartKey& key : kRestartKeys) {
    if (key.differs(before, after)) changed.push_back(key.name);
  }
  return join_words(changed, " and ");
}

}  // namespace memstat
