// SPDX-License-Identifier: BSD-2-Clause
// A table of events as the text of a recording.
#pragma once

#include <string>

#include "core/events/table/table.h"

namespace memstat {

inline std::string text_of(const events::TableFormat& format, const Buffer& table) {
  Buffer text;
  events::write_table_text(format, table.view(), text);
  return std::string(text.view());
}

}  // namespace memstat
