// SPDX-License-Identifier: BSD-2-Clause
// The commands' reports, separate from their options, so that tests can supply any figures.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/name_pattern.h"
#include "core/diagnosis/diagnose.h"
#include "core/events/memuse/memuse.h"
#include "core/events/memuse/memuse_groups.h"
#include "core/events/slab/slab_origins.h"
#include "daemon/ctl/commands/options.h"
#include "daemon/ctl/commands/poll_walk.h"
#include "daemon/ctl/output/report_table.h"
#include "daemon/ctl/source/fleet_leaks.h"
#include "daemon/ctl/source/report_source.h"
#include "daemon/incidents/incident.h"

namespace memstat::ctl {

/// A row for each type, largest first: allocator, name, amounts in use, held and free, failures, and the nearest limit.
ReportTable types_table(std::span<const TypeRow> types);

/// Sets the operating system of the types if the sample lacks it.
void note_system(Sample& sample, ReportSource& source);

/// An empty report with what the sample lacks.
inline Report report_on(const Sample& sample) { return {.notes = sample.notes, .missing = sample.missing}; }

/// The column of the host, behind allocator and name, in reports of several memstatds.
inline constexpr std::ptrdiff_t kHostPlace = 2;
/// The columns with that of the host.
template <std::size_t N>
constexpr std::array<ReportColumn, N + 1> with_host(const std::array<ReportColumn, N>& columns) {
  std::array<ReportColumn, N + 1> all{};
  std::copy(columns.begin(), columns.begin() + kHostPlace, all.begin());
  all[kHostPlace] = {.key = "host", .title = "HOST", .least = 12};
  std::copy(columns.begin() + kHostPlace, columns.end(), all.begin() + kHostPlace + 1);
  return all;
}
/// Whether the types are of several memstatds.
bool is_of_hosts(std::span<const TypeRow> types);
/// Adds the row of a type, with its host where the table has one. `cells`: without the host.
void add_row(ReportTable& table, const TypeRow& type, bool has_hosts, std::vector<Cell> cells);

/// Reads --from, or each of several, once and reports `make(types)`; or the reason if there are no types.
Report report_of_types(const CommandLine& options, ReportTable (*make)(std::span<const TypeRow>), const char* why_empty);

/// A row for each host of --from, or of each value of --group-by: the worst first.
Report hosts_report(const CommandLine& options);

/// Where a full screen was expected.
inline constexpr const char* kNoScreen =
    "memstatctl: built without ncursesw, which the full screen needs; this is plain output\n";
/// The full screen of `top --hosts`; hosts_report() without one.
Report top_of_hosts(const CommandLine& options);

/// A row for each type that has a limit or has failed: nearest to the limit first, then by failures. Bucket zones,
/// which fail routinely, are included only if they have a limit.
ReportTable limits_table(std::span<const TypeRow> types);

/// A row for each type whose bytes, objects or failures differ: largest growth first, largest decrease last. A type
/// that is missing from one list counts as 0 there.
ReportTable diff_table(std::span<const TypeRow> before, std::span<const TypeRow> after);

/// Everything about one type. `word`: as for find_named_type. CSV has the values by CPU, or by node if there are none
/// by CPU.
Report show(ReportSource& source, const std::string& word, const ReportView& view);

/// The finding that an incident was kept for, if it is still the same; nullptr: none of these.
const Finding* finding_of(const Incident& incident, std::span<const Finding> findings);

/// What an incident is about, poll by poll, in text. Leaves to the findings, which follow it, what they say.
std::string incident_story(const Incident& incident, ReportSource& source, std::size_t width);

/// The events of the kernel's log. `since_ns`: only events within this time before the figures were read.
Report events_report(ReportSource& source, const ReportView& view, std::optional<std::int64_t> since_ns);

/// A row for each growing amount, fastest first; JSON starts with the window.
ReportTable leaks_table(const GrowthAnswer& answer);
/// How many polls growth still needs, as words after a number of polls: "8 are needed, 5 more, which take 50 s".
std::string polls_to_go(const GrowthAnswer& answer);

struct LeakOptions {
  WalkOptions walk;
  std::int64_t remembered_seconds = 7200;  ///< Length of the history to query from a memstatd.
  ReportView view;
};
Report leaks_report(ReportSource& source, const LeakOptions& options);

/// A row for each type that grows on some hosts only.
ReportTable fleet_leaks_table(const FleetLeaks& found);
Report fleet_leaks_report(const CommandLine& options, double seconds);

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

// ---- why ----

/// Keeps the findings with a subject, culprit or cause that matches a pattern; all if there is no pattern.
void select_findings(std::span<const NamePattern> patterns, Findings& findings);

/// The findings in lines of up to `width` columns (0: 100); or that nothing is wrong, and what was examined.
std::string why_text(const Diagnosis& diagnosis, bool is_verbose, std::size_t width);
/// Of an incident it begins with that. `log`: of a boot of which only that is left.
struct ToldIncident {
  const Incident& incident;
  std::optional<EventsAnswer> log;
};
std::string why_json(const Diagnosis& diagnosis, const ReportView& view,
                     const std::optional<ToldIncident>& told = std::nullopt);

/// The growth test's verdict on matching types: "slab/dentry is not a leak: ...", one line each.
std::string growth_words(const GrowthAnswer& answer, std::span<const NamePattern> patterns);

/// kExitUrgent, kExitNotable or kExitDone.
int exit_status_of(const Findings& findings);

// ---- stacks ----

/// The input of the reports.
struct MemuseFindings {
  events::MemuseTable table;
  MemuseOptions options;
  events::NameOfCaller name_of;
};

/// A paragraph for each group, with `options.frames` frames, and a summary. `is_human`: bytes as 2.3M.
std::string memuse_text(const MemuseFindings& findings, bool is_human);
/// Same, as JSON with every group.
std::string memuse_json(const MemuseFindings& findings, bool is_compact = false);
/// A line for each stack in the format for flame graphs: outermost call first, then the bytes in use.
std::string memuse_folded(const MemuseFindings& findings);

/// Watches this machine's kernel for the requested time, or until a signal, and reports.
Report memuse_report(const CommandLine& options);

// ---- mbufs: the arithmetic of netstat -m ----

/// Figures of one zone; `limit` is 0 if there is none.
struct ZoneFigures {
  std::uint64_t count = 0;  ///< Items in use.
  std::uint64_t free = 0;   ///< Cached items.
  std::uint64_t bytes = 0;  ///< In use.
  std::uint64_t size = 0;   ///< Bytes per item.
  std::uint64_t limit = 0;  ///< In items.
  std::uint64_t failures = 0;
  std::uint64_t sleeps = 0;
};

/// The zones of the network's memory. A packet is an mbuf with a cluster. The packet zone takes its mbufs from `mbuf`,
/// and its clusters count as in use in `cluster` even while the packet is cached.
struct MbufZones {
  ZoneFigures mbuf, packet, cluster, jumbo_page, jumbo_9k, jumbo_16k;
  std::uint64_t tag_bytes = 0;  ///< Bytes in use of the malloc type mbuf_tag.
};

/// In use, cached, and both together.
struct Amount {
  std::uint64_t current = 0, cache = 0, total = 0;
};

/// Modulo 2^64, as in netstat: zones are read one after another, so differences may be just below 0.
Amount mbufs_of(const MbufZones& zones);
Amount clusters_of(const MbufZones& zones);
Amount jumbos_of(const ZoneFigures& zone);
/// Bytes of everything, including tags.
Amount bytes_of(const MbufZones& zones);

}  // namespace memstat::ctl
