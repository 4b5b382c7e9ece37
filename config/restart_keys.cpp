// SPDX-License-Identifier: BSD-2-Clause
#include "config/loader.h"
#include "core/base/text.h"

namespace memstat {

std::string changed_restart_keys(const Config& before, const Config& after) {
  std::vector<std::string_view> changed;
  for (const RestartKey& key : kRestartKeys) {
    if (key.differs(before, after)) changed.push_back(key.name);
  }
  return join_words(changed, " and ");
}

}  // namespace memstat
