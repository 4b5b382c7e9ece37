// SPDX-License-Identifier: BSD-2-Clause
// The keys of the configuration that take effect at start only; a reload says which of them have changed.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "config/config.h"

namespace memstat {

/// A key that needs a restart.
struct RestartKey {
  std::string_view name;  ///< As in the file; of a group of keys, the group's.
  bool (*differs)(const Config& before, const Config& after);
};

/// All of them, in the order of the manual page, which marks each. Static.
std::span<const RestartKey> restart_keys();

/// "listen and user": those whose value differs; "": none does.
std::string changed_restart_keys(const Config& before, const Config& after);

}  // namespace memstat
