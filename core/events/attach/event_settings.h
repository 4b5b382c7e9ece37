// SPDX-License-Identifier: BSD-2-Clause
// What key events of the configuration says, as a source of events gets it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/source.h"

namespace memstat::events {

/// What attaching to events again takes: SourceDescriptor::helper_capabilities.
inline constexpr std::array<std::string_view, 2> kAttachCapabilities{"CAP_BPF", "CAP_PERFMON"};
/// The same, as SourceDescriptor::needs.
inline constexpr std::string_view kAttachNeeds = "CAP_BPF,CAP_PERFMON";

/// Thread safety: a plain value.
struct EventSettings {
  bool counts_all = false;            ///< What is not rare, too: modes counters and full.
  bool is_full = false;               ///< And what costs more.
  bool has_gfp_classes = false;       ///< Allocations by class of their GFP flags, where they are counted.
  std::uint64_t budget_ppm = 10'000;  ///< Millionths of a CPU that all sources of events may take together; never 0.
};

/// Of the text that option `events` gets, "MODE BUDGET_PPM [gfp_classes]"; words that are neither are passed over.
EventSettings event_settings(std::string_view text);

/// That option, of a source that is on from `mode` on.
constexpr SourceOption events_option(std::string_view mode, std::string_view help) {
  return {.name = "events", .kind = SourceOption::Kind::kKey, .default_pattern = mode, .help = help};
}

/// The option of a source that also counts by class of GFP flags; where it is on, kGfpWord stands behind that text.
inline constexpr SourceOption kGfpOption{
    .name = "gfp_classes",
    .kind = SourceOption::Kind::kSwitch,
    .most = 1,
    .help =
        "also counts by what callers let the kernel do, their GFP flags: memstat_gfp_allocations_total and "
        "memstat_gfp_failures_total, in modes counters and full, once it is restarted"};
inline constexpr std::string_view kGfpWord = " gfp_classes";

}  // namespace memstat::events
