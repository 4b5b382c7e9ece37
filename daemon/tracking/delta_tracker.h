// SPDX-License-Identifier: BSD-2-Clause
// What changed from poll to poll, kept in the caller-owned slots of the memory types.
//
// Rules. A counter's accumulated total starts at the first raw value seen and adds positive differences. A drop of at most
// max(64 x CPUs, 0.1 % of the value) is counter skew (per-CPU counters are read without a lock): nothing is added, and the
// higher value stays the one to compare with. A larger drop is a reset: counted, and the new raw value is added. First sight
// gives no delta: of a type, and of a figure that a type gets later (from another source). A type that vanishes, and a
// figure that a type lacks for a while, keep their slots, so that what comes back within the retention loses nothing. When
// the number of types of one name changes, it is unknown which is which: their total stays, each is seen for the first
// time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "core/model/memory_type_list.h"
#include "daemon/tracking/type_slot.h"

namespace memstat {

/// The counters that are accumulated per type, in the order of their slots.
inline constexpr std::array kTrackedCounters{Field::kNumAllocs, Field::kNumFrees, Field::kMemAlloced, Field::kMemFreed,
                                             Field::kFailures,  Field::kSleeps,   Field::kXDomain};
/// The counters that are accumulated per type and CPU, in the order of their slots.
inline constexpr std::array kTrackedCpuCounters{CpuField::kNumAllocs, CpuField::kNumFrees, CpuField::kMemAlloced,
                                                CpuField::kMemFreed};

/// Caller uint64 slots of a type: 7 previous raw values, 7 accumulated totals, and two more.
inline constexpr std::size_t kPreviousSlot = 0;
inline constexpr std::size_t kAccumulatedSlot = kPreviousSlot + kTrackedCounters.size();
inline constexpr std::size_t kGenerationSlot = kAccumulatedSlot + kTrackedCounters.size();  ///< last tracked; 0: never
inline constexpr std::size_t kPeakSlot = kGenerationSlot + 1;                               ///< most bytes seen, B
static_assert(kPeakSlot < kCallerSlotCount);
/// Caller uint64 slots of a type on one CPU: 4 previous raw values, 4 accumulated totals.
inline constexpr std::size_t kCpuPreviousSlot = 0;
inline constexpr std::size_t kCpuAccumulatedSlot = kCpuPreviousSlot + kTrackedCpuCounters.size();
/// Caller pointer slots: what the tracker, and what the snapshot keeps with a type.
inline constexpr std::size_t kTrackerPointerSlot = 0;
inline constexpr std::size_t kLabelPointerSlot = 1;

/// A limit that the configuration sets where the kernel has none. 0: none.
struct ConfiguredLimit {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;  ///< B
};

/// What is kept with a type beyond the counters. Reached through the tracker's pointer slot.
struct TrackedType {
  static constexpr std::size_t kGrowthSamples = 16;

  std::uint64_t bytes = 0;         ///< B at the last poll, negative values taken as 0
  std::uint64_t objects = 0;       ///< at the last poll
  std::int64_t delta_bytes = 0;    ///< since the poll before
  std::int64_t delta_objects = 0;  ///< since the poll before
  bool has_delta_bytes = false;    ///< false at first sight
  bool has_delta_objects = false;  ///< false at first sight
  FieldMask seen;                  ///< figures followed since first sight, those that are away just now included
  bool is_over_limit = false;
  bool has_growth = false;
  double growth_bytes_per_second = 0;  ///< over the growth window, or since first sight when that is shorter
  std::uint64_t resets = 0;            ///< times that a counter fell by more than skew explains
  std::uint64_t limit_hits = 0;
  ConfiguredLimit limit;               ///< from the configuration, looked up once
  bool is_filtered = false;            ///< whether the configuration wants nothing of it on the page, looked up once
  bool had_failures_or_waits = false;  ///< whether failures or sleeps grew or the limit was hit since first sight
  bool wants_cpus = false;             ///< whether per-CPU counters are followed and shown, looked up once
  std::uint64_t epoch = 0;             ///< which configuration that was
  std::uint64_t first_sample = 0;      ///< number of the first growth sample of this type
  std::uint64_t last_sample = 0;       ///< number of its newest one
  std::array<std::uint64_t, kGrowthSamples> growth_samples{};  ///< B, by sample number modulo kGrowthSamples
};

/// The limits of a type now, 0 where it has none: the kernel's, else the configured one. Thread safety: a plain value.
struct TypeLimits {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
  bool is_objects_of_kernel = false;
  bool is_bytes_of_kernel = false;
};
/// Where one source reports 32 bits of the limit and another all 64, all 64 count, and bytes are objects times size.
TypeLimits limits_of(const MemoryType& type, const TrackedType& tracked, FieldMask fields);

/// Objects of a type that count against its limit of objects, now: those in use, and where caches count too (uma) those in
/// caches, but not what is free in the slabs of its keg. `fields`: the figures that are known now.
std::uint64_t objects_against_limit(const MemoryType& type, const TrackedType& tracked, FieldMask fields);

/// Updates the caller slots once a poll. Steady state: no allocation.
/// Thread safety: none; confined to the poller's thread, like the list.
class DeltaTracker {
  using States = TypeSlot<TrackedType, kTrackerPointerSlot>;

 public:
  struct Options {
    std::int64_t growth_window_ns = 3'600'000'000'000;
    /// The configured limit of a type; asked once per type and configuration. Empty: none.
    std::function<ConfiguredLimit(const MemoryType&)> limit_of;
    /// Whether per-CPU counters of a type are followed. Empty: never.
    std::function<bool(const MemoryType&)> wants_cpus;
    /// Whether the type is kept off all pages. Empty: none is.
    std::function<bool(const MemoryType&)> is_filtered = {};
  };
  explicit DeltaTracker(Options options) : options_(std::move(options)) {}
  ~DeltaTracker() = default;
  DeltaTracker(const DeltaTracker&) = delete;
  DeltaTracker& operator=(const DeltaTracker&) = delete;

  /// A new configuration: limits and choices are looked up again, what was counted stays.
  void reconfigure(Options options);

  /// Follows every present type. `live` says, by allocator, which figures came from sources that succeeded in this poll;
  /// others are left alone. `now_ns` is monotonic time of the poll.
  void track(MemoryTypeList& list, const std::array<FieldMask, kAllocatorCount>& live,
             const std::array<CpuFieldMask, kAllocatorCount>& live_cpu, std::uint64_t generation, std::int64_t now_ns);

  /// What is kept with a type; nullptr when it was never tracked.
  [[nodiscard]] static const TrackedType* tracked(const MemoryType& type) { return States::of(type); }
  /// Accumulated total of a counter that is in kTrackedCounters, in the field's unit; 0 for one that is not.
  [[nodiscard]] static std::uint64_t accumulated(const MemoryType& type, Field counter);
  /// The same on one CPU.
  [[nodiscard]] static std::uint64_t accumulated(const MemoryType& type, std::uint32_t cpu, CpuField counter);

  /// Gives back what is kept with a type that is about to be evicted.
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
  // Growth samples are taken at the same times for all types.
  std::array<std::int64_t, TrackedType::kGrowthSamples> sample_times_ns_{};
  std::uint64_t sample_count_ = 0;
  std::uint64_t oldest_sample_ = 0;  // number of the sample that the growth window begins with
  std::int64_t now_ns_ = 0;
  bool takes_sample_ = false;
};

}  // namespace memstat
