// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/attach/event_settings.h"

#include "core/base/text.h"

namespace memstat::events {

EventSettings event_settings(std::string_view text) {
  EventSettings settings;
  for (std::string_view word; next_word(text, word);) {
    if (word == "full") settings.is_full = true;
    if (word == "counters" || word == "full") settings.counts_all = true;
    if (word == "gfp_classes") settings.has_gfp_classes = true;
    if (const auto number = parse_u64(word); number && *number != 0) settings.budget_ppm = *number;
  }
  return settings;
}

}  // namespace memstat::events
