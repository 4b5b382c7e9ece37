// SPDX-License-Identifier: BSD-2-Clause
// What stands for events that this build cannot have.
#pragma once

#include <memory>
#include <string_view>

#include "core/kernel/kernel_view.h"

namespace memstat::events {

/// A table that is kNotPresent, with the reason. `source`: a constant. Never null. Thread safety: as LiveTable.
std::unique_ptr<LiveTable> make_missing_events(std::string_view source);

}  // namespace memstat::events
