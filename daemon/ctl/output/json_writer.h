// SPDX-License-Identifier: BSD-2-Clause
// Reports as libxo lays them out, byte by byte: "json,pretty", which JsonWriter of core/base writes when it is given a
// version, and plain "json".
#pragma once

#include <string>
#include <string_view>

#include "core/base/json_writer.h"

namespace memstat::ctl {

using memstat::JsonWriter;

/// What finish() gave, as libxo's plain "json" has it: on one line, without a blank between a key and a figure.
std::string compact_json(std::string_view pretty);

}  // namespace memstat::ctl
