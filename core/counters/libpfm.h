// SPDX-License-Identifier: BSD-2-Clause
// CPU-specific event names from libpfm4; none without it.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/counters/counter_system.h"

namespace memstat::counters {

/// The events of this machine's CPU; empty if libpfm4 is not built in or does not support the CPU. Loads the tables on the
/// first call.
std::vector<EventInfo> libpfm_events();

/// The names of the attributes of these events, without duplicates.
std::vector<std::string> libpfm_attributes();

/// Encodes "EVENT[:UMASK[:...]]" with attributes; empty if this CPU has no event of that name.
std::optional<Answer<EventCode>> libpfm_resolve(std::string_view event, std::span<const Attribute> attributes);

/// Whether libpfm4 is built in.
bool has_libpfm();

}  // namespace memstat::counters
