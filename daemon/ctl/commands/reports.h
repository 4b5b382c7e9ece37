// SPDX-License-Identifier: BSD-2-Clause
// What commands make of figures that were read: apart from their options, so that tests can give them any figures.
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

/// A row a type, the largest first: allocator, name, what it has in use, holds and has free, failures, and the limit that is
/// met first.
ReportTable types_table(std::span<const TypeRow> types);

/// Fills in which system the types are of, where the sample does not have it.
void note_system(Sample& sample, ReportSource& source);

/// Reads --from once and reports `make(types)` of it; with nothing to report, why.
Report report_of_types(const CommandLine& options, ReportTable (*make)(std::span<const TypeRow>), const char* why_empty);

/// A row a type that has a limit or has failed: nearest first, then what failed most. Of bucket zones, which fail routinely,
/// those with a limit only.
ReportTable limits_table(std::span<const TypeRow> types);

/// A row a type whose bytes, objects or failures differ: what grew most first, what shrank most last. A type that one of the
/// lists does not have counts as 0 there.
ReportTable diff_table(std::span<const TypeRow> before, std::span<const TypeRow> after);

/// All that is known of one type. `word`: as find_named_type takes it. Comma-separated values are those by CPU, or by node
/// where there are none by CPU.
Report show(ReportSource& source, const std::string& word, const ReportView& view);

/// What the kernel's log says. `since_ns`: only events of the last that many nanoseconds before the figures were read.
Report events_report(ReportSource& source, const ReportView& view, std::optional<std::int64_t> since_ns);

/// A row for each that grows, fastest first; JSON has the window before them.
ReportTable leaks_table(const GrowthAnswer& answer);

struct LeakOptions {
  WalkOptions walk;
  std::int64_t remembered_seconds = 7200;  ///< How far back a memstatd is asked.
  ReportView view;
};
Report leaks_report(ReportSource& source, const LeakOptions& options);

struct WatchOptions {
  WalkOptions walk;
  std::string type;  ///< As find_named_type takes it.
  ReportView view;
};

/// What one state has of the type. Thread safety: a plain value.
struct WatchedState {
  double seconds = 0;
  std::int64_t time_ns = 0;  ///< Since 1970.
  std::optional<std::uint64_t> bytes;
  std::optional<std::uint64_t> objects;
  std::optional<std::uint64_t> failures;
};

/// The table of a type, empty. `is_bytes`: changes are of bytes; of objects where the kernel counts no bytes.
ReportTable watch_table(bool is_bytes);

/// Adds what there is, how much more it is than in the state before, and how much more a second.
void add_state(ReportTable& table, const std::string& type, const WatchedState& state,
               const std::optional<WatchedState>& before, bool is_bytes);

/// Prints a line a state until there are no more or ^C.
Report watch(ReportSource& source, const WatchOptions& options);

/// The path of the part of a memstatd's page that has who takes from slab caches.
inline constexpr std::string_view kOriginsPath =
    "/metrics?name[]=memstat_slab_origin_allocations_total&name[]=memstat_slab_origin_allocated_bytes_total";

/// The origins of a page in the text format, in its order; lines that are none are passed over. Where key tier leaves out
/// the number of allocations, it is not known. Pure; the bytes may come from anybody. Throws std::bad_alloc.
std::vector<events::SlabOrigin> parse_origins_page(std::string_view page);

/// What grew between the two, each with what it grew by.
std::vector<events::SlabOrigin> grown_origins(const std::vector<events::SlabOrigin>& before,
                                              std::vector<events::SlabOrigin> after);

/// A row an origin, most bytes first, with its share of what its cache was given.
ReportTable origins_table(std::vector<events::SlabOrigin> origins);

}  // namespace memstat::ctl
