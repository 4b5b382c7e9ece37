// SPDX-License-Identifier: BSD-2-Clause
// The JSON layouts of libxo, byte by byte: "json,pretty", written by core/base's JsonWriter if it has a version, and
// plain "json".
#pragma once

#include <string>
#include <string_view>

#include "core/base/json_writer.h"

namespace memstat::ctl {

using memstat::JsonWriter;

/// Converts the result of finish() to one line, as in libxo's plain "json": no blank between key and value.
std::string compact_json(std::string_view pretty);

}  // namespace memstat::ctl
