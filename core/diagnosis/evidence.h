// SPDX-License-Identifier: BSD-2-Clause
// What is known of a machine at one poll, for causes to look at: types, machine metrics, growth, sources.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/field.h"
#include "core/model/inspection.h"
#include "core/model/system_metric.h"

namespace memstat {

enum class EvidenceSystem : std::uint8_t { kLinux, kFreeBsd };

/// A counter, and how far it has moved. Of an amount: how much it changed, which may be below 0.
struct Count {
  double total = 0;        ///< as the kernel has it
  double since_start = 0;  ///< since the first poll that had it
  double recent = 0;       ///< within the last Evidence::recent_seconds
};

/// A memory type. An amount that the kernel does not have is empty.
struct TypeEvidence {
  Allocator allocator = Allocator::kUnknown;
  std::string_view name;
  std::optional<double> bytes = {};
  std::optional<double> held_bytes = {};
  std::optional<double> objects = {};
  std::optional<double> free_objects = {};
  std::optional<double> object_bytes = {};  ///< What one object takes.
  std::optional<double> limit_objects = {};
  std::optional<double> limit_bytes = {};
  std::optional<double> limit_used = {};  ///< Share of the nearer limit, 1 is all.
  double sleepers = 0;                    ///< Threads that wait at the limit now.
  bool is_limit_configured = false;       ///< By memstatd's configuration, not by the kernel.
  Count failures = {};
  Count sleeps = {};
  Count bytes_change = {};
};

/// One sample of a machine metric.
struct MetricEvidence {
  std::string_view metric;
  std::array<std::string_view, kMaxSystemMetricLabels> labels = {};
  double value = 0;
  Count change = {};
};

/// An amount that grows by the test of core/diagnosis/growth.h, or that is larger than before for another reason.
struct GrowthEvidence {
  std::string allocator;  ///< kAccountAllocator for a part of the account of all memory.
  std::string name;
  bool is_bytes = true;
  bool is_cache = false;
  double now = 0;
  double gain = 0;                            ///< Of this and `together`, within the window.
  double per_second = 0;                      ///< The same.
  double seconds = 0;                         ///< For how long it has grown.
  std::optional<double> limit_seconds = {};   ///< Until its limit at this pace.
  std::optional<double> memory_seconds = {};  ///< Until available memory is gone at this pace.
  std::vector<std::string> together = {};     ///< "allocator/type" of what grows by as many objects.
};

/// A source of memstatd that does not give what it could.
struct SourceEvidence {
  std::string name;
  std::string error;     ///< Why, for people.
  std::string needs;     ///< The privilege that it lacks; "" for none.
  bool is_down = false;  ///< It failed; false: it is not permitted.
};

/// A process that the kernel killed, as its log has it.
struct KillEvidence {
  std::string command;
  std::string constraint;  ///< "none", "memcg", "cpuset", "memory_policy"; "" where the log does not say.
  std::string group;       ///< The victim's.
  std::uint64_t pid = 0;
  double program_bytes = 0;
  bool is_of_group = false;  ///< At a control group's limit.
};

/// All of it. Texts live as long as the evidence. Thread safety: immutable once built.
struct Evidence {
  EvidenceSystem system = EvidenceSystem::kLinux;
  std::size_t polls = 0;
  double watched_seconds = 0;  ///< From the first poll to this one.
  double recent_seconds = 0;   ///< What `recent` means: at most ten minutes.
  double uptime_seconds = 0;   ///< Of the kernel; 0: not known.
  double total_bytes = 0;      ///< Of memory; 0: not known.
  std::optional<double> available_bytes = {};
  double slab_held_bytes = 0;  ///< Of all slab caches; 0: not known.

  /// Types that have a limit, that failed, or that are large; tables and control groups all.
  std::vector<TypeEvidence> types;
  /// Samples of the metrics that any cause names, sorted by metric.
  std::vector<MetricEvidence> metrics;
  std::vector<GrowthEvidence> growing;
  std::size_t growth_polls = 0;  ///< That the growth test looked at; 0: it has not been asked.
  double growth_seconds = 0;
  std::vector<SourceEvidence> sources;
  std::vector<InspectionAnswer> inspections;  ///< What was asked of the machine at that moment; mostly none.
  std::vector<KillEvidence> kills;            ///< Within the last recent_seconds, oldest first.

  /// nullptr: it was not asked, or has no answer.
  [[nodiscard]] const InspectionAnswer* inspection(std::string_view question) const;
  [[nodiscard]] const TypeEvidence* type(Allocator allocator, std::string_view name) const;
  /// All samples of a metric; none: the kernel or this memstatd does not have it.
  [[nodiscard]] std::span<const MetricEvidence> samples(std::string_view metric) const;
  /// The sample whose first label has that value; without label the first sample.
  [[nodiscard]] const MetricEvidence* sample(std::string_view metric, std::string_view label = {}) const;
  [[nodiscard]] std::optional<double> value(std::string_view metric, std::string_view label = {}) const;
  /// How much the samples of a counter moved lately, all together.
  [[nodiscard]] double moved(std::string_view metric) const;
  /// Bytes of a part of the account.
  [[nodiscard]] std::optional<double> part(std::string_view name) const;
  [[nodiscard]] const GrowthEvidence* growth(std::string_view allocator, std::string_view name) const;
  /// Share of all memory; 0 where its size is not known.
  [[nodiscard]] double share(double bytes) const { return total_bytes > 0 ? bytes / total_bytes : 0; }
  /// Per second, of a change within the last recent_seconds.
  [[nodiscard]] double rate(double recent) const { return recent_seconds > 0 ? recent / recent_seconds : 0; }
  /// Whether there is evidence of what a cause names: "memstat_x_total", "account/shared", "slab/dentry", "uma/*",
  /// "who/watches".
  [[nodiscard]] bool has(std::string_view need) const;
};

}  // namespace memstat
