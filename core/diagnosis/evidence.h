// SPDX-License-Identifier: BSD-2-Clause
// The evidence that causes examine, as of one poll: types, machine metrics, growth, sources.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/field.h"
#include "core/model/inspection.h"
#include "core/model/partial_view.h"
#include "core/model/system_metric.h"

namespace memstat {

enum class EvidenceSystem : std::uint8_t { kLinux, kFreeBsd };

/// A counter and its increase; for an amount, its change, which may be negative.
struct Count {
  double total = 0;        ///< the kernel's value
  double since_start = 0;  ///< since the first poll with this counter
  double recent = 0;       ///< within the last Evidence::recent_seconds
  double last = 0;         ///< since the poll before, Evidence::poll_seconds ago; 0: there is none
  double still = 0;        ///< seconds since the poll at which it last changed; only for a recent change
  double highest = 0;      ///< an amount's highest value within the last Evidence::recent_seconds
};

/// A memory type. Amounts that the kernel does not provide are empty.
struct TypeEvidence {
  Allocator allocator = Allocator::kUnknown;
  std::string_view name;
  std::optional<double> bytes = {};
  std::optional<double> held_bytes = {};
  std::optional<double> objects = {};
  std::optional<double> free_objects = {};
  std::optional<double> object_bytes = {};  ///< size of one object
  std::optional<double> limit_objects = {};
  std::optional<double> limit_bytes = {};
  std::optional<double> limit_used = {};  ///< share of the nearer limit, 0 to 1
  double sleepers = 0;                    ///< threads waiting at the limit now
  bool is_limit_configured = false;       ///< in memstatd's configuration, not in the kernel
  Count failures = {};
  Count sleeps = {};
  Count bytes_change = {};
  Count objects_change = {};  ///< change of a table's entries
};

struct MetricEvidence {
  std::string_view metric;
  std::array<std::string_view, kMaxSystemMetricLabels> labels = {};
  double value = 0;
  Count change = {};
};

/// Where the samples of each metric are, found without a search.
class MetricIndex {
 public:
  /// Of samples sorted by metric. Throws std::bad_alloc.
  void make(std::span<const MetricEvidence> metrics);
  [[nodiscard]] bool is_empty() const { return runs_.empty(); }
  /// The samples of that metric, in the vector that make() has seen.
  [[nodiscard]] std::span<const MetricEvidence> find(std::span<const MetricEvidence> metrics, std::string_view metric) const;

 private:
  struct Run {
    std::string_view metric;
    std::uint32_t first = 0;
    std::uint32_t size = 0;  // 0: a free place of the table
  };
  [[nodiscard]] std::size_t place_of(std::string_view metric) const;

  std::vector<Run> runs_;  // a hash table with open addressing, at most half full
};

/// An amount that grows according to the test of core/diagnosis/growth.h, or that has increased for another reason.
struct GrowthEvidence {
  std::string allocator;  ///< kAccountAllocator for a part of the account
  std::string name;
  bool is_bytes = true;
  bool is_cache = false;
  double now = 0;                             ///< of this type
  double all_now = 0;                         ///< of this type and those in `together`, as `gain`
  double gain = 0;                            ///< growth of this type and those in `together`, within the window
  double per_second = 0;                      ///< the same, per second
  double seconds = 0;                         ///< duration of the growth
  std::optional<double> limit_seconds = {};   ///< until its limit at this rate
  std::optional<double> memory_seconds = {};  ///< until available memory is used up at this rate
  std::vector<std::string> together = {};     ///< "allocator/type" of types that grow by the same number of objects
};

/// A source that does not provide its data.
struct SourceEvidence {
  std::string name;
  std::string error;                           ///< the reason, for people
  std::string needs;                           ///< the missing privilege; "": none
  bool is_down = false;                        ///< it failed; false: it is not permitted
  Allocator allocator = Allocator::kUnknown;   ///< of its types
  std::vector<std::string_view> metrics = {};  ///< of the machine, that it provides
};

/// A process in the table that the kernel logs before a kill.
struct TaskEvidence {
  std::string command;
  std::uint64_t pid = 0;
  double resident_bytes = 0;
  double swap_bytes = 0;
  double oom_score_adj = 0;  ///< -1000: it may not be killed
};

/// A process that the kernel killed, from its log.
struct KillEvidence {
  std::string command;
  std::string constraint;        ///< "none", "memcg", "cpuset", "memory_policy"; on FreeBSD the reason; "": not in the log
  std::string group;             ///< the victim's control group
  std::string limit_group = {};  ///< the control group at its limit; "": all memory was used up, or not in the log
  std::uint64_t pid = 0;
  double program_bytes = 0;
  double shared_bytes = 0;                 ///< mapped files of tmpfs, shared memory, and guests' memory that has such a file
  bool is_of_group = false;                ///< killed at a control group's limit
  bool is_requested = false;               ///< by a person or a program (SysRq f), not for lack of memory
  std::string requested_by = {};           ///< the program whose allocation led to the kill; "": not in the log
  std::string gfp = {};                    ///< the flags of that allocation
  double piece_bytes = 0;                  ///< its size, if it is more than a page, which must be in one piece; 0: a page
  double limit_bytes = 0;                  ///< of the group at its limit; 0: not in the log
  std::optional<double> seconds_ago = {};  ///< nothing: unknown, because the time of boot is unknown
  bool is_of_fault = false;                ///< for a page fault that got no memory, of which the kernel knows no more
  bool had_asked = false;                  ///< chosen because it asked for memory (vm.oom_kill_allocating_task)
  std::string cpuset = {};                 ///< of the program that needed memory; "": not in the log
  std::string nodes = {};                  ///< of memory that it may use: "0-1"; "": not in the log
  std::optional<double> score = {};        ///< in thousandths of the memory in question; only before 5.1
  std::optional<double> oom_score_adj = {};
  std::optional<TaskEvidence> other = {};  ///< the largest process that was not killed; nothing: not in the log
};

/// A kill by a program that frees memory, from the journal.
struct ProgramKillEvidence {
  std::string program;                     ///< "systemd-oomd", "earlyoom"
  std::string command;                     ///< of the process; "": not logged
  std::string group;                       ///< the control group whose processes were killed; "": not logged
  std::string pod = {};                    ///< "NAMESPACE/NAME"; "": no pod
  std::string reason = {};                 ///< as the program logs it; "": not logged
  std::uint64_t pid = 0;                   ///< 0: not logged
  double processes = 0;                    ///< killed at once; 0: not logged
  double bytes = 0;                        ///< of the process or group; 0: not logged
  std::optional<double> seconds_ago = {};  ///< nothing: unknown, because the time of boot is unknown
};

/// The last line of the kernel's log about an event.
struct LoggedEvidence {
  std::string_view event;  ///< "files_full", a label of memstat_kernel_log_events_total
  double seconds_ago = 0;
  std::string subject = {};  ///< the control group, cache or device that the line names; "": none
  std::string line = {};
  bool has_time = true;      ///< false: the log has no time for it, and seconds_ago is 0
  bool is_of_group = false;  ///< about a control group at its limit, which the line itself need not say
};

/// Older lines of the kernel's log do not show that something is wrong now.
inline constexpr double kLogSeconds = 600;

/// Texts live as long as the evidence. Thread safety: immutable once built.
struct Evidence {
  EvidenceSystem system = EvidenceSystem::kLinux;
  PartialView view = {};  ///< what cannot be seen of the machine
  std::size_t polls = 0;
  double watched_seconds = 0;  ///< from the first poll to this one
  double recent_seconds = 0;   ///< the period of `recent`, at most ten minutes
  double poll_seconds = 0;     ///< since the poll before; 0: there is none
  double uptime_seconds = 0;   ///< time since the kernel booted; 0: unknown
  double total_bytes = 0;      ///< size of memory; 0: unknown
  double page_bytes = 4096;    ///< size of a page; 4096 if it is unknown
  std::optional<double> available_bytes = {};
  double slab_held_bytes = 0;  ///< sum over all slab caches; 0: unknown, or not all are listed

  /// Types that have a limit, have failed, or are large; all tables and control groups.
  std::vector<TypeEvidence> types;
  /// Samples of all metrics that causes examine, sorted by metric.
  std::vector<MetricEvidence> metrics;
  MetricIndex index;  ///< of `metrics`; empty: there is none, and they are searched
  std::vector<GrowthEvidence> growing;
  std::size_t growth_polls = 0;  ///< polls examined for growth; 0: none yet
  double growth_seconds = 0;
  std::vector<SourceEvidence> sources;
  std::vector<InspectionAnswer> inspections;  ///< inspections made at the poll; usually none
  /// Inspections made when a finding began. They name its holders, and show nothing about the machine now.
  std::vector<InspectionAnswer> holders;
  /// Answers to the questions that memstatd asks in turn, minutes old. They show limits that no file of the kernel counts.
  std::shared_ptr<const std::vector<InspectionAnswer>> limits = nullptr;
  std::string why_unasked = {};     ///< why nobody asks for holders; "": they are asked, or inspections are made
  std::vector<KillEvidence> kills;  ///< as far as the log goes back, oldest first; also before the first poll
  std::vector<ProgramKillEvidence> program_kills;  ///< as far as the journal's file goes back, oldest first
  std::vector<LoggedEvidence> logged;              ///< the last line of each event

  /// nullptr: the inspection was not made, or has no answer.
  [[nodiscard]] const InspectionAnswer* inspection(std::string_view question) const;
  /// The same, or the answer in `limits`, which must not be compared with other evidence.
  [[nodiscard]] const InspectionAnswer* recent_inspection(std::string_view question) const;
  /// Whether it is not in `inspections`, but older than the poll.
  [[nodiscard]] bool is_earlier(const InspectionAnswer& answer) const;
  /// The answer in `inspections`, or else in `holders`, or else in `limits`.
  [[nodiscard]] const InspectionAnswer* answer_about_holders(std::string_view question) const;
  /// The count in the answer's row of this name, 0 without such a row; nothing: not inspected, or only in part.
  [[nodiscard]] std::optional<double> inspected_count(std::string_view question, std::string_view name) const;
  [[nodiscard]] const TypeEvidence* type(Allocator allocator, std::string_view name) const;
  /// All samples of a metric; empty if the kernel or this memstatd does not have it.
  [[nodiscard]] std::span<const MetricEvidence> samples(std::string_view metric) const;
  /// The sample with this first label; without a label, the first sample.
  [[nodiscard]] const MetricEvidence* sample(std::string_view metric, std::string_view label = {}) const;
  [[nodiscard]] std::optional<double> value(std::string_view metric, std::string_view label = {}) const;
  /// Sum of the recent changes of all samples of a counter.
  [[nodiscard]] double moved(std::string_view metric) const;
  /// Bytes of a part of the account.
  [[nodiscard]] std::optional<double> part(std::string_view name) const;
  [[nodiscard]] const GrowthEvidence* growth(std::string_view allocator, std::string_view name) const;
  /// Share of all memory; 0 if its size is unknown.
  [[nodiscard]] double share(double bytes) const { return total_bytes > 0 ? bytes / total_bytes : 0; }
  /// Rate per second of a change within the last recent_seconds.
  [[nodiscard]] double rate(double recent) const { return recent_seconds > 0 ? recent / recent_seconds : 0; }
  /// These seconds as a share of recent_seconds; 0 for less than half a second, which may be chance.
  [[nodiscard]] double time_share(double seconds) const { return seconds >= 0.5 ? rate(seconds) : 0; }
  /// The last line about that event; nullptr: none within kLogSeconds.
  [[nodiscard]] const LoggedEvidence* last_line(std::string_view event) const;
  /// The same, however old, and if the log has no time for it.
  [[nodiscard]] const LoggedEvidence* any_line(std::string_view event) const;
  /// Whether there is evidence of this kind: "memstat_x_total", "account/shared", "slab/dentry", "uma/*", "who/watches".
  [[nodiscard]] bool has(std::string_view need) const;
};

}  // namespace memstat
