// SPDX-License-Identifier: BSD-2-Clause
// The commands' reports, separate from their options, so that tests can supply any figures.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/events/slab/slab_origins.h"
#include "daemon/ctl/commands/options.h"
#include "daemon/ctl/commands/poll_walk.h"
#include "daemon/ctl/output/report_table.h"
#include "daemon/ctl/source/report_source.h"

namespace memstat::ctl {

/// A row for each type, largest first: allocator, name, amounts in use, held and free, failures, and the nearest limit.
ReportTable types_table(std::span<const TypeRow> types);

/// Sets the operating system of the types if the sample lacks it.
void note_system(Sample& sample, ReportSource& source);

/// Reads --from once and reports `make(types)`; or the reason if there are no types.
Report report_of_types(const CommandLine& options, ReportTable (*make)(std::span<const TypeRow>), const char* why_empty);

/// A row for each type that has a limit or has failed: nearest to the limit first, then by failures. Bucket zones,
/// which fail routinely, are included only if they have a limit.
ReportTable limits_table(std::span<const TypeRow> types);

/// A row for each type whose bytes, objects or failures differ: largest growth first, largest decrease last. A type
/// that is missing from one list counts as 0 there.
ReportTable diff_table(std::span<const TypeRow> before, std::span<const TypeRow> after);

/// Everything about one type. `word`: as for find_named_type. CSV has the values by CPU, or by node if there are none
/// by CPU.
Report show(ReportSource& source, const std::string& word, const ReportView& view);

/// The events of the kernel's log. `since_ns`: only events within this time before the figures were read.
Report events_report(ReportSource& source, const ReportView& view, std::optional<std::int64_t> since_ns);

/// A row for each growing amount, fastest first; JSON starts with the window.
ReportTable leaks_table(const GrowthAnswer& answer);

struct LeakOptions {
  WalkOptions walk;
  std::int64_t remembered_seconds = 7200;  ///< How far back to query a memstatd.
  ReportView view;
};
Report leaks_report(ReportSource& source, const LeakOptions& options);

struct WatchOptions {
  WalkOptions walk;
  std::string type;  ///< As for find_named_type.
  ReportView view;
};

/// The figures of the type in one state.
struct WatchedState {
  double seconds = 0;
  std::int64_t time_ns = 0;  ///< Since 1970.
  std::optional<std::uint64_t> bytes;
  std::optional<std::uint64_t> objects;
  std::optional<std::uint64_t> failures;
};

/// An empty table for a type. `is_bytes`: changes are in bytes; otherwise in objects, because the kernel does not count
/// bytes.
ReportTable watch_table(bool is_bytes);

/// Adds the figures of a state, the change since the previous one, and the change per second.
void add_state(ReportTable& table, const std::string& type, const WatchedState& state,
               const std::optional<WatchedState>& before, bool is_bytes);

/// Prints a line for each state until there are no more, or until ^C.
Report watch(ReportSource& source, const WatchOptions& options);

/// The path of a memstatd's page with only the origins of slab allocations.
inline constexpr std::string_view kOriginsPath =
    "/metrics?name[]=memstat_slab_origin_allocations_total&name[]=memstat_slab_origin_allocated_bytes_total";

/// Parses the origins on a page in text format, in order; ignores other lines. If the key tier omits the number of
/// allocations, it is unknown. The bytes are untrusted. Throws std::bad_alloc.
std::vector<events::SlabOrigin> parse_origins_page(std::string_view page);

/// The origins that grew between the two, with the growth.
std::vector<events::SlabOrigin> grown_origins(const std::vector<events::SlabOrigin>& before,
                                              std::vector<events::SlabOrigin> after);

/// A row for each origin, most bytes first, with its share of its cache's bytes.
ReportTable origins_table(std::vector<events::SlabOrigin> origins);

}  // namespace memstat::ctl
