// SPDX-License-Identifier: BSD-2-Clause
// Names of a CPU's own events, by libpfm4. Built without it, there are none.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/counters/counter_system.h"

namespace memstat::counters {

/// The events of this machine's CPU; empty when libpfm4 does not know the CPU, or is not built in. Loads the tables at the
/// first call. Thread safety: of all functions here, any thread at any time.
std::vector<EventInfo> libpfm_events();

/// The names of attributes that those events take, each once.
std::vector<std::string> libpfm_attributes();

/// The code of "EVENT[:UMASK[:...]]" with attributes; nothing when no event of this CPU has that name.
std::optional<Answer<EventCode>> libpfm_resolve(std::string_view event, std::span<const Attribute> attributes);

/// Whether libpfm4 is built in.
bool has_libpfm();

}  // namespace memstat::counters
