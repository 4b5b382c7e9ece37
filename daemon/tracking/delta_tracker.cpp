// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/tracking/delta_tracker.h"

#include <algorithm>
#include <utility>

#include "core/base/arithmetic.h"

namespace memstat {
namespace {

constexpr FieldMask kCounterFields = [] {
  FieldMask fields;
  for (const Field counter : kTrackedCounters) fields.add(counter);
  return fields;
}();

/// The fields that determine whether a type is at its limit.
constexpr FieldMask kLimitFields(Field::kBytes, Field::kCount, Field::kFree, Field::kCountLimit, Field::kBytesLimit);

enum class Step { kForward, kSkew, kReset };

/// The movement of a counter: what to add to the total, and the next value to compare with.
struct CounterStep {
  Step step;
  std::uint64_t added;
  std::uint64_t compare_with;
};

CounterStep step_of(std::uint64_t previous, std::uint64_t raw, std::uint64_t cpus) {
  if (raw >= previous) return {Step::kForward, raw - previous, raw};
  const std::uint64_t skew = std::max<std::uint64_t>(64 * cpus, previous / 1000);
  if (previous - raw <= skew) return {Step::kSkew, 0, previous};
  return {Step::kReset, raw, raw};
}

/// A gauge computed from unlocked counters may be slightly negative, just below 2^64.
std::uint64_t clamp_negative(std::uint64_t value) { return static_cast<std::int64_t>(value) < 0 ? 0 : value; }

std::uint64_t cpus_of(const MemoryType& type) { return std::max(type.cpu_count(), 1U); }

/// Sets the per-CPU totals of `type` to the kernel's figures and adds the excess to `first_of_name`. For first_of_name
/// itself, which comes last, the sum left there by others is kept if it is larger. Differences are modulo 2^64.
void hand_over_cpu_totals(MemoryType& type, MemoryType& first_of_name) {
  for (std::size_t i = 0; i < kTrackedCpuCounters.size(); ++i) {
    // A present type without the counter lacks it temporarily and keeps its total.
    if (type.is_present() && !type.cpu_fields().has(kTrackedCpuCounters[i])) continue;
    const std::size_t total_slot = kCpuAccumulatedSlot + i;
    for (std::uint32_t cpu = 0; cpu < type.cpu_count(); ++cpu) {
      if (!type.is_present() && type.cpu_caller_uint64(cpu, total_slot) == 0) continue;
      const std::uint64_t raw = type.is_present() ? type.cpu_figure(kTrackedCpuCounters[i], cpu) : 0;
      const std::uint64_t surplus = type.cpu_caller_uint64(cpu, total_slot) - raw;
      type.set_cpu_caller_uint64(cpu, kCpuPreviousSlot + i, raw);
      type.set_cpu_caller_uint64(cpu, total_slot, raw);
      const bool is_gain = &type != &first_of_name || static_cast<std::int64_t>(surplus) > 0;
      if (is_gain)
        first_of_name.set_cpu_caller_uint64(cpu, total_slot, first_of_name.cpu_caller_uint64(cpu, total_slot) + surplus);
    }
  }
}

}  // namespace

TypeLimits limits_of(const MemoryType& type, const TrackedType& tracked, FieldMask fields) {
  const bool has_wide_limit = fields.has(Field::kCountLimit64);
  const std::uint64_t narrow = fields.has(Field::kCountLimit) ? type.figure(Field::kCountLimit) : 0;
  TypeLimits limits{.objects = has_wide_limit ? type.figure(Field::kCountLimit64) : narrow,
                    .bytes = fields.has(Field::kBytesLimit) ? type.figure(Field::kBytesLimit) : 0,
                    .is_objects_of_kernel = has_wide_limit || fields.has(Field::kCountLimit),
                    .is_bytes_of_kernel = fields.has(Field::kBytesLimit)};
  if (has_wide_limit && limits.objects != narrow && fields.has(Field::kSize)) {
    limits.bytes = saturating_product(limits.objects, type.figure(Field::kSize));
    limits.is_bytes_of_kernel = true;
  }
  if (!limits.is_objects_of_kernel) limits.objects = tracked.limit.objects;
  if (!limits.is_bytes_of_kernel) limits.bytes = tracked.limit.bytes;
  return limits;
}

std::uint64_t objects_against_limit(const MemoryType& type, const TrackedType& tracked, FieldMask fields) {
  if (!counts_free_against_limit(type.allocator()) || !fields.has(Field::kFree)) return tracked.objects;
  const std::uint64_t free = clamp_negative(type.figure(Field::kFree));
  const std::uint64_t in_slabs = fields.has(Field::kKegFree) ? clamp_negative(type.figure(Field::kKegFree)) : 0;
  return tracked.objects + (free - std::min(free, in_slabs));
}

void DeltaTracker::reconfigure(Options options) {
  options_ = std::move(options);
  ++epoch_;
}

std::uint64_t DeltaTracker::accumulated(const MemoryType& type, Field counter) {
  const auto at = std::find(kTrackedCounters.begin(), kTrackedCounters.end(), counter);
  if (at == kTrackedCounters.end()) return 0;
  return type.caller_uint64(kAccumulatedSlot + static_cast<std::size_t>(at - kTrackedCounters.begin()));
}

std::uint64_t DeltaTracker::accumulated(const MemoryType& type, std::uint32_t cpu, CpuField counter) {
  const auto at = std::find(kTrackedCpuCounters.begin(), kTrackedCpuCounters.end(), counter);
  if (at == kTrackedCpuCounters.end()) return 0;
  return type.cpu_caller_uint64(cpu, kCpuAccumulatedSlot + static_cast<std::size_t>(at - kTrackedCpuCounters.begin()));
}

void DeltaTracker::keep_totals_of_changed_names(MemoryTypeList& list, std::uint64_t generation) {
  for (MemoryType* first_of_name = list.first(); first_of_name != nullptr; first_of_name = first_of_name->next()) {
    if (first_of_name->first_seen_generation() != generation || first_of_name->ordinal() != 0) continue;
    if (first_of_name->caller_uint64(kGenerationSlot) == 0) continue;  // a new name
    std::array<std::uint64_t, kTrackedCounters.size()> surplus{};
    TrackedType* state = States::of(*first_of_name);
    for (MemoryType* type = list.first(); type != nullptr; type = type->next()) {
      if (&type->first_of_name() != first_of_name) continue;
      if (type != first_of_name && state->wants_cpus) hand_over_cpu_totals(*type, *first_of_name);
      if (TrackedType* gone = States::of(*type); gone != nullptr && !type->is_present()) {
        state->resets += std::exchange(gone->resets, 0);
        state->limit_hits += std::exchange(gone->limit_hits, 0);
      }
      for (std::size_t i = 0; i < kTrackedCounters.size(); ++i) {
        // A present type without the counter lacks it temporarily and keeps its total.
        if (type->is_present() && !type->fields().has(kTrackedCounters[i])) continue;
        const std::uint64_t total = type->caller_uint64(kAccumulatedSlot + i);
        if (!type->is_present() && total == 0) continue;
        const std::uint64_t raw = type->is_present() ? type->figure(kTrackedCounters[i]) : 0;
        surplus[i] += total - raw;  // modulo 2^64, since only the sum matters
        type->set_caller_uint64(kPreviousSlot + i, raw);
        type->set_caller_uint64(kAccumulatedSlot + i, raw);
      }
    }
    if (state->wants_cpus) hand_over_cpu_totals(*first_of_name, *first_of_name);
    for (std::size_t i = 0; i < kTrackedCounters.size(); ++i) {
      if (static_cast<std::int64_t>(surplus[i]) <= 0) continue;
      first_of_name->set_caller_uint64(kAccumulatedSlot + i,
                                       first_of_name->caller_uint64(kAccumulatedSlot + i) + surplus[i]);
    }
  }
}

void DeltaTracker::track_counters(MemoryType& type, TrackedType& state, FieldMask fields, FieldMask fresh) {
  std::uint64_t waits_and_failures = 0;
  bool was_reset = false;
  for (std::size_t i = (fields & kCounterFields).empty() ? kTrackedCounters.size() : 0; i < kTrackedCounters.size(); ++i) {
    const Field counter = kTrackedCounters[i];
    if (!fields.has(counter)) continue;
    const std::uint64_t raw = type.figure(counter);
    if (fresh.has(counter)) {
      // It is larger if the name was known before; see keep_totals_of_changed_names.
      if (type.caller_uint64(kAccumulatedSlot + i) < raw) type.set_caller_uint64(kAccumulatedSlot + i, raw);
      type.set_caller_uint64(kPreviousSlot + i, raw);
      continue;
    }
    const CounterStep step = step_of(type.caller_uint64(kPreviousSlot + i), raw, cpus_of(type));
    if (step.added != 0) type.set_caller_uint64(kAccumulatedSlot + i, type.caller_uint64(kAccumulatedSlot + i) + step.added);
    type.set_caller_uint64(kPreviousSlot + i, step.compare_with);
    was_reset = was_reset || step.step == Step::kReset;
    if (counter == Field::kFailures || counter == Field::kSleeps) waits_and_failures += step.added;
  }
  if (was_reset) ++state.resets;
  if (waits_and_failures != 0) state.had_failures_or_waits = true;
  track_limits(type, state, fields, fresh, waits_and_failures);
}

void DeltaTracker::track_limits(const MemoryType& type, TrackedType& state, FieldMask fields, FieldMask fresh,
                                std::uint64_t waits_and_failures) {
  const auto [objects, bytes, is_objects_of_kernel, is_bytes_of_kernel] = limits_of(type, state, fields);
  if (objects == 0 && bytes == 0) return;
  if (state.seen.has(Field::kFailures) || state.seen.has(Field::kSleeps)) {
    state.limit_hits += waits_and_failures;
    return;
  }
  // If the kernel counts no hits, count each upward crossing. A type that is over its limit at first sight has not crossed
  // it, and neither has one that lacks usage or limit temporarily.
  if (!((state.seen - fields) & kLimitFields).empty()) return;
  const std::uint64_t held_objects = objects_against_limit(type, state, fields);
  const bool is_over = (objects != 0 && held_objects >= objects) || (bytes != 0 && state.bytes >= bytes);
  if (is_over && !state.is_over_limit && (fresh & kLimitFields).empty()) {
    ++state.limit_hits;
    state.had_failures_or_waits = true;
  }
  state.is_over_limit = is_over;
}

void DeltaTracker::track_growth(TrackedType& state, bool first_sight) {
  constexpr std::size_t kSamples = TrackedType::kGrowthSamples;
  // Samples are numbered from 1; the newest is sample_count_. A type that missed one (vanished, source down) starts over.
  const std::uint64_t newest = takes_sample_ ? sample_count_ - 1 : sample_count_;
  if (first_sight || (state.first_sample <= newest && state.last_sample != newest)) {
    state.has_growth = false;
    state.first_sample = takes_sample_ ? sample_count_ : sample_count_ + 1;
  }
  if (state.first_sample <= sample_count_) {
    const std::uint64_t oldest = std::max(state.first_sample, oldest_sample_);
    if (oldest < sample_count_ || !takes_sample_) {
      const double seconds = static_cast<double>(now_ns_ - sample_times_ns_[oldest % kSamples]) / 1e9;
      if (seconds > 0) {
        const auto grown = static_cast<std::int64_t>(state.bytes - state.growth_samples[oldest % kSamples]);
        state.growth_bytes_per_second = static_cast<double>(grown) / seconds;
        state.has_growth = true;
      }
    }
  }
  if (takes_sample_) {
    state.growth_samples[sample_count_ % kSamples] = state.bytes;
    state.last_sample = sample_count_;
  }
}

void DeltaTracker::look_up(const MemoryType& type, TrackedType& state) const {
  if (state.epoch == epoch_) return;
  state.epoch = epoch_;
  state.limit = options_.limit_of ? options_.limit_of(type) : ConfiguredLimit{};
  state.is_filtered = options_.is_filtered && options_.is_filtered(type);
  state.wants_cpus = options_.wants_cpus && options_.wants_cpus(type);
}

void DeltaTracker::track_type(MemoryType& type, TrackedType& state, FieldMask fields, std::uint64_t generation) {
  const bool first_sight = type.caller_uint64(kGenerationSlot) == 0 || type.first_seen_generation() == generation;
  const FieldMask fresh = first_sight ? fields : fields - state.seen;
  state.seen = first_sight ? fields : state.seen | fields;
  if (fields.has(Field::kBytes)) {
    const std::uint64_t bytes = clamp_negative(type.figure(Field::kBytes));
    state.delta_bytes = static_cast<std::int64_t>(bytes - state.bytes);
    state.has_delta_bytes = !fresh.has(Field::kBytes);
    state.bytes = bytes;
    if (bytes > type.caller_uint64(kPeakSlot)) type.set_caller_uint64(kPeakSlot, bytes);
    track_growth(state, fresh.has(Field::kBytes));
  }
  if (fields.has(Field::kCount)) {
    const std::uint64_t objects = clamp_negative(type.figure(Field::kCount));
    state.delta_objects = static_cast<std::int64_t>(objects - state.objects);
    state.has_delta_objects = !fresh.has(Field::kCount);
    state.objects = objects;
  }
  track_counters(type, state, fields, fresh);
  type.set_caller_uint64(kGenerationSlot, generation);
}

void DeltaTracker::track_cpus(MemoryType& type, CpuFieldMask fields) {
  for (std::uint32_t cpu = type.next_used_cpu(0); cpu < type.cpu_count(); cpu = type.next_used_cpu(cpu + 1)) {
    for (std::size_t i = 0; i < kTrackedCpuCounters.size(); ++i) {
      if (!fields.has(kTrackedCpuCounters[i])) continue;
      const std::uint64_t raw = type.cpu_figure(kTrackedCpuCounters[i], cpu);
      // A new CPU has slots of 0, so its first raw value becomes its total, as for a new type.
      const CounterStep step = step_of(type.cpu_caller_uint64(cpu, kCpuPreviousSlot + i), raw, 1);
      if (step.added == 0 && step.step != Step::kReset) continue;
      type.set_cpu_caller_uint64(cpu, kCpuAccumulatedSlot + i,
                                 type.cpu_caller_uint64(cpu, kCpuAccumulatedSlot + i) + step.added);
      type.set_cpu_caller_uint64(cpu, kCpuPreviousSlot + i, step.compare_with);
    }
  }
}

void DeltaTracker::track(MemoryTypeList& list, const std::array<FieldMask, kAllocatorCount>& live,
                         const std::array<CpuFieldMask, kAllocatorCount>& live_cpu, std::uint64_t generation,
                         std::int64_t now_ns) {
  now_ns_ = now_ns;
  const std::int64_t spacing_ns = options_.growth_window_ns / static_cast<std::int64_t>(TrackedType::kGrowthSamples - 1);
  takes_sample_ = sample_count_ == 0 || now_ns - sample_times_ns_[sample_count_ % TrackedType::kGrowthSamples] >= spacing_ns;
  if (takes_sample_) sample_times_ns_[++sample_count_ % TrackedType::kGrowthSamples] = now_ns;
  // Polls may be further apart than samples should be; the samples then reach back beyond the window.
  constexpr std::uint64_t kKept = TrackedType::kGrowthSamples - 1;
  oldest_sample_ = sample_count_ > kKept ? sample_count_ - kKept : 1;
  const std::int64_t window_ns = options_.growth_window_ns - spacing_ns / 2;
  while (oldest_sample_ < sample_count_ &&
         now_ns - sample_times_ns_[(oldest_sample_ + 1) % TrackedType::kGrowthSamples] >= window_ns) {
    ++oldest_sample_;
  }
  if (list.last_sighting() == generation) keep_totals_of_changed_names(list, generation);
  for (MemoryType* type = list.first(); type != nullptr; type = type->next()) {
    if (!type->is_present()) continue;
    const auto allocator = static_cast<std::size_t>(type->allocator());
    const FieldMask fields = type->fields() & live[allocator];
    if (fields.empty()) continue;
    TrackedType& state = states_.get_or_create(*type, [](TrackedType&) {});
    look_up(*type, state);
    track_type(*type, state, fields, generation);
    if (state.wants_cpus) track_cpus(*type, type->cpu_fields() & live_cpu[allocator]);
  }
}

}  // namespace memstat
