// SPDX-License-Identifier: BSD-2-Clause
// The configuration's key events, in the form for event sources.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/base/text.h"
#include "core/source.h"

namespace memstat::events {

/// Capabilities for attaching to events again: SourceDescriptor::helper_capabilities.
inline constexpr std::array<std::string_view, 2> kAttachCapabilities{"CAP_BPF", "CAP_PERFMON"};
/// The same as text, for SourceDescriptor::needs.
inline constexpr std::string_view kAttachNeeds = "CAP_BPF,CAP_PERFMON";

/// Settings of an event source.
struct EventSettings {
  bool counts_all = false;            ///< Frequent events, too: modes counters and full.
  bool is_full = false;               ///< Expensive details, too: mode full.
  bool has_gfp_classes = false;       ///< Allocations by GFP class, if allocations are counted.
  std::uint64_t budget_ppm = 10'000;  ///< CPU time for all event sources together, in millionths of a CPU; never 0.
};

/// Parses the option `events`, "MODE BUDGET_PPM [gfp_classes]". Unknown words are ignored.
inline EventSettings event_settings(std::string_view text) {
  EventSettings settings;
  for (std::string_view word; next_word(text, word);) {
    if (word == "full") settings.is_full = true;
    if (word == "counters" || word == "full") settings.counts_all = true;
    if (word == "gfp_classes") settings.has_gfp_classes = true;
    if (const auto number = parse_u64(word); number && *number != 0) settings.budget_ppm = *number;
  }
  return settings;
}

/// The option `events` of a source that is enabled in `mode` and above.
constexpr SourceOption events_option(std::string_view mode, std::string_view help) {
  return {.name = "events", .kind = SourceOption::Kind::kKey, .default_pattern = mode, .help = help};
}

/// The option of sources that also count by GFP class. If it is on, kGfpWord is appended to the text of `events`.
inline constexpr SourceOption kGfpOption{
    .name = "gfp_classes",
    .kind = SourceOption::Kind::kSwitch,
    .most = 1,
    .help =
        "also counts by the callers' GFP flags, which limit what the kernel may do: memstat_gfp_allocations_total and "
        "memstat_gfp_failures_total, in modes counters and full, after a restart"};
inline constexpr std::string_view kGfpWord = " gfp_classes";

}  // namespace memstat::events
