// SPDX-License-Identifier: BSD-2-Clause
// A memory type list with tracker and snapshot builder, polled by a test from tables: a Poller without sources and threads.
#pragma once

#include <array>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/exposition/exposition.h"
#include "daemon/snapshot/snapshot.h"
#include "daemon/tracking/delta_tracker.h"
#include "tests/support/staging_builder.h"

namespace memstat {

/// Types of one allocator, by default uma. Thread safety: none.
class TrackedList {
 public:
  explicit TrackedList(DeltaTracker::Options options = {}, Allocator of = Allocator::kUma)
      : tracker(std::move(options)), allocator(of) {
    live[static_cast<std::size_t>(of)] = kEveryField;
    live_cpu[static_cast<std::size_t>(of)] = kEveryCpuField;
    live_node[static_cast<std::size_t>(of)] = kEveryNodeField;
    has_details[static_cast<std::size_t>(of)] = true;
  }

  /// One poll of `staging`, `after` the previous one; the first is at time 0.
  void poll(const StagingBuilder& staging, std::chrono::nanoseconds after = std::chrono::seconds(10)) {
    commit(staging);
    finish_poll(after);
  }
  void commit(const StagingBuilder& staging) {
    ++generation;
    if (!list.commit(roster_of(allocator, to_string(allocator)), staging.staging(), generation)) std::abort();
    statistics = {&staging.staging().statistics()};
  }
  /// A poll in which the source failed.
  void failed_poll(std::chrono::nanoseconds after = std::chrono::seconds(10)) {
    ++generation;
    const FieldMask fields = std::exchange(live[static_cast<std::size_t>(allocator)], FieldMask());
    const CpuFieldMask cpu_fields = std::exchange(live_cpu[static_cast<std::size_t>(allocator)], CpuFieldMask());
    statistics.clear();
    finish_poll(after);
    live[static_cast<std::size_t>(allocator)] = fields;
    live_cpu[static_cast<std::size_t>(allocator)] = cpu_fields;
  }
  void evict_before(std::uint64_t limit) {
    list.evict_vanished_before(limit, [this](MemoryType& type) {
      tracker.forget(type);
      builder.forget(type);
    });
  }
  /// The text page of every metric as of the last poll.
  std::string_view page(const RenderOptions& options = {.tier = Tier::kFull, .per_cpu = true, .size_classes = true}) {
    prepare_pages(options, snapshot);
    return page_of(snapshot, kFallbackFormat);
  }
  [[nodiscard]] MemoryType& type(std::string_view name, std::uint32_t ordinal = 0) const {
    MemoryType* found = find_ordinal(list, name, ordinal);
    if (found == nullptr) std::abort();
    return *found;
  }
  [[nodiscard]] const TrackedType& tracked(std::string_view name, std::uint32_t ordinal = 0) const {
    return *DeltaTracker::tracked(type(name, ordinal));
  }
  [[nodiscard]] std::uint64_t total(std::string_view name, Field counter, std::uint32_t ordinal = 0) const {
    return DeltaTracker::accumulated(type(name, ordinal), counter);
  }

  MemoryTypeList list;
  DeltaTracker tracker;
  SnapshotBuilder builder;
  RenderedSnapshot snapshot;
  Allocator allocator;
  std::array<FieldMask, kAllocatorCount> live{};
  std::array<CpuFieldMask, kAllocatorCount> live_cpu{};
  std::array<NodeFieldMask, kAllocatorCount> live_node{};
  std::array<bool, kAllocatorCount> has_details{};
  std::vector<const StagedStatistics*> statistics;  // of what was committed last: as long as that StagingBuilder lives
  std::vector<std::uint64_t> size_classes;
  SnapshotTimes times;
  std::uint64_t generation = 0;
  std::int64_t now_ns = 0;

 private:
  void finish_poll(std::chrono::nanoseconds after) {
    now_ns += generation == 1 ? 0 : after.count();
    tracker.track(list, live, live_cpu, generation, now_ns);
    builder.build(list, live, live_cpu, generation, size_classes, snapshot, times,
                  {.live_node = live_node, .has_details = has_details, .statistics = statistics});
  }
};

}  // namespace memstat
