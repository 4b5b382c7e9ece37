// SPDX-License-Identifier: BSD-2-Clause
// Changes between polls, kept in the caller-owned slots of the memory types.
//
// Rules:
// - A counter's total starts at the first raw value seen, and positive differences are added.
// - A drop of at most max(64 x CPUs, 0.1 % of the value) is skew, because per-CPU counters are read without a lock. Nothing
//   is added, and the higher value remains the reference.
// - A larger drop is a reset: it is counted, and the new raw value is added.
// - First sight gives no delta, either of a type or of a figure that a type gets later (from another source).
// - A vanished type, and a figure that is temporarily missing, keep their slots, so that nothing is lost if they return
//   within the retention time.
// - When the number of types of one name changes, they cannot be told apart: their total is kept, and each is seen for
//   the first time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "core/model/memory_type_list.h"
#include "daemon/tracking/type_slot.h"

namespace memstat {

/// Counters accumulated per type, in slot order.
inline constexpr std::array kTrackedCounters{Field::kNumAllocs, Field::kNumFrees, Field::kMemAlloced, Field::kMemFreed,
                                             Field::kFailures,  Field::kSleeps,   Field::kXDomain};
/// Counters accumulated per type and CPU, in slot order.
inline constexpr std::array kTrackedCpuCounters{CpuField::kNumAllocs, CpuField::kNumFrees, CpuField::kMemAlloced,
                                                CpuField::kMemFreed};

/// Caller uint64 slots of a type: 7 previous raw values, 7 totals, and two more.
inline constexpr std::size_t kPreviousSlot = 0;
inline constexpr std::size_t kAccumulatedSlot = kPreviousSlot + kTrackedCounters.size();
inline constexpr std::size_t kGenerationSlot =
    kAccumulatedSlot + kTrackedCounters.size();                ///< generation of the last tracking; 0: never
inline constexpr std::size_t kPeakSlot = kGenerationSlot + 1;  ///< peak bytes
static_assert(kPeakSlot < kCallerSlotCount);
/// Caller uint64 slots of a type on one CPU: 4 previous raw values, 4 totals.
inline constexpr std::size_t kCpuPreviousSlot = 0;
inline constexpr std::size_t kCpuAccumulatedSlot = kCpuPreviousSlot + kTrackedCpuCounters.size();
/// Caller pointer slots of the tracker and the snapshot builder.
inline constexpr std::size_t kTrackerPointerSlot = 0;
inline constexpr std::size_t kLabelPointerSlot = 1;

/// A configured limit for a type without a limit in the kernel. 0: none.
struct ConfiguredLimit {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;  ///< B
};

/// A type's tracking state besides the counters, in the tracker's pointer slot.
struct TrackedType {
  static constexpr std::size_t kGrowthSamples = 16;

  // Members that each poll touches come first, to share cache lines.
  std::uint64_t epoch = 0;         ///< configuration version of the cached values
  std::uint64_t bytes = 0;         ///< B at the last poll; negative values are taken as 0
  std::uint64_t objects = 0;       ///< at the last poll
  std::int64_t delta_bytes = 0;    ///< since the previous poll
  std::int64_t delta_objects = 0;  ///< since the previous poll
  bool has_delta_bytes = false;    ///< false at first sight
  bool has_delta_objects = false;  ///< false at first sight
  bool has_growth = false;
  bool is_over_limit = false;
  bool is_filtered = false;            ///< whether the configuration excludes it from the page, cached
  bool had_failures_or_waits = false;  ///< whether failures or sleeps grew, or the limit was hit, since first sight
  bool wants_cpus = false;             ///< whether per-CPU counters are tracked and exported, cached
  FieldMask seen;                      ///< figures tracked since first sight, including temporarily missing ones
  double growth_bytes_per_second = 0;  ///< over the growth window, or since first sight if shorter
  std::uint64_t first_sample = 0;      ///< number of the type's first growth sample
  std::uint64_t last_sample = 0;       ///< number of its newest one
  ConfiguredLimit limit;               ///< from the configuration, cached
  std::uint64_t resets = 0;            ///< drops of a counter larger than skew
  std::uint64_t limit_hits = 0;
  std::array<std::uint64_t, kGrowthSamples> growth_samples{};  ///< B, by sample number modulo kGrowthSamples
};

/// A type's current limits, the kernel's or else the configured ones; 0: none.
struct TypeLimits {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
  bool is_objects_of_kernel = false;
  bool is_bytes_of_kernel = false;
};
/// If one source has 32 bits of the limit and another all 64, the 64 bits count, and the byte limit is objects times size.
TypeLimits limits_of(const MemoryType& type, const TrackedType& tracked, FieldMask fields);

/// Objects that currently count against a type's object limit: those in use and, if caches count too (uma), cached ones, but
/// not free ones in the keg's slabs. `fields` are the figures known now.
std::uint64_t objects_against_limit(const MemoryType& type, const TrackedType& tracked, FieldMask fields);

/// Updates the caller slots at each poll. Allocates nothing in the steady state. Thread safety: none; confined to the
/// poller's thread, like the list.
class DeltaTracker {
  using States = TypeSlot<TrackedType, kTrackerPointerSlot>;

 public:
  struct Options {
    std::int64_t growth_window_ns = 3'600'000'000'000;
    /// The configured limit of a type; called once per type and configuration. Empty: none.
    std::function<ConfiguredLimit(const MemoryType&)> limit_of;
    /// Whether to track a type's per-CPU counters. Empty: never.
    std::function<bool(const MemoryType&)> wants_cpus;
    /// Whether to exclude the type from all pages. Empty: never.
    std::function<bool(const MemoryType&)> is_filtered = {};
  };
  explicit DeltaTracker(Options options) : options_(std::move(options)) {}
  ~DeltaTracker() = default;
  DeltaTracker(const DeltaTracker&) = delete;
  DeltaTracker& operator=(const DeltaTracker&) = delete;

  /// Applies a new configuration. Cached limits and choices are looked up again; totals are kept.
  void reconfigure(Options options);

  /// Tracks every present type. `live` contains, by allocator, the figures of sources that succeeded in this poll; others
  /// are left unchanged. `now_ns` is the monotonic time of the poll.
  void track(MemoryTypeList& list, const std::array<FieldMask, kAllocatorCount>& live,
             const std::array<CpuFieldMask, kAllocatorCount>& live_cpu, std::uint64_t generation, std::int64_t now_ns);

  /// The state of a type; nullptr if it was never tracked.
  [[nodiscard]] static const TrackedType* tracked(const MemoryType& type) { return States::of(type); }
  /// Total of a counter in kTrackedCounters, in the field's unit; 0 for other fields.
  [[nodiscard]] static std::uint64_t accumulated(const MemoryType& type, Field counter);
  /// The same on one CPU.
  [[nodiscard]] static std::uint64_t accumulated(const MemoryType& type, std::uint32_t cpu, CpuField counter);

  void forget(MemoryType& type) { states_.release(type); }

 private:
  static void keep_totals_of_changed_names(MemoryTypeList& list, std::uint64_t generation);
  void look_up(const MemoryType& type, TrackedType& state) const;
  void track_type(MemoryType& type, TrackedType& state, FieldMask fields, std::uint64_t generation);
  void track_counters(MemoryType& type, TrackedType& state, FieldMask fields, FieldMask fresh);
  void track_growth(TrackedType& state, bool first_sight);
  static void track_limits(const MemoryType& type, TrackedType& state, FieldMask fields, FieldMask fresh,
                           std::uint64_t waits_and_failures);
  static void track_cpus(MemoryType& type, CpuFieldMask fields);

  Options options_;
  std::uint64_t epoch_ = 1;
  States states_;
  // All types share the sample times.
  std::array<std::int64_t, TrackedType::kGrowthSamples> sample_times_ns_{};
  std::uint64_t sample_count_ = 0;
  std::uint64_t oldest_sample_ = 0;  // number of the first sample in the growth window
  std::int64_t now_ns_ = 0;
  bool takes_sample_ = false;
};

}  // namespace memstat
