// SPDX-License-Identifier: BSD-2-Clause
// A substitute for events that this build does not support.
#pragma once

#include <memory>
#include <string_view>

#include "core/kernel/kernel_view.h"

namespace memstat::events {

/// A table whose open() fails with kNotPresent because a library was missing at build time. `source` and `library` must
/// be literals. Never null.
std::unique_ptr<TextTableSource> make_missing_events(std::string_view source, std::string_view library);

}  // namespace memstat::events
