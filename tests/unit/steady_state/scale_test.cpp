// SPDX-License-Identifier: BSD-2-Clause
// Machines of a thousand CPUs and more: every figure arrives, and only CPUs that use a type cost memory.
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "core/query.h"
#include "tests/support/staging_builder.h"
#include "tests/support/synthetic_machine.h"
#include "tests/unit/steady_state/counted_allocations.h"

namespace memstat {
namespace {

/// One source of a made-up machine, with its list.
struct Scaled {
  explicit Scaled(const char* source, const SyntheticOptions& options)
      : machine(find_source(source)->os, options), reader(*find_source(source)) {}
  Result<void> poll(std::uint64_t number) {
    machine.poll = number;
    return refresh(reader, machine, list, number);
  }
  SyntheticMachine machine;
  SourceReader reader;
  MemoryTypeList list;
};

/// How many figures of malloc(9) types differ from the formula, and the first that does.
std::size_t wrong_malloc_figures(const Scaled& scaled, std::string& first) {
  std::size_t wrong = 0;
  const auto compare = [&](const MemoryType& type, const std::string& what, std::uint64_t is, std::uint64_t wanted) {
    if (is != wanted && wrong++ == 0) {
      first = type.name() + ' ' + what + " is " + std::to_string(is) + ", wanted " + std::to_string(wanted);
    }
  };
  const SyntheticMachine& machine = scaled.machine;
  for (std::uint32_t number = 0; number < machine.options.types; ++number) {
    const MemoryType* type = scaled.list.find(Allocator::kMalloc, SyntheticMachine::type_name(number));
    if (type == nullptr) return ++wrong;
    SyntheticBlock total{};
    for (std::uint32_t cpu = 0; cpu < machine.options.cpus; ++cpu) {
      const SyntheticBlock block = machine.block(number, cpu);
      const auto on_cpu = [&](CpuField field, std::uint64_t wanted) {
        const std::uint64_t is = type->cpu_figure(field, cpu);
        if (is != wanted) compare(*type, std::string(to_string(field)) + " of CPU " + std::to_string(cpu), is, wanted);
      };
      on_cpu(CpuField::kMemAlloced, block.memalloced);
      on_cpu(CpuField::kMemFreed, block.memfreed);
      on_cpu(CpuField::kNumAllocs, block.numallocs);
      on_cpu(CpuField::kNumFrees, block.numfrees);
      on_cpu(CpuField::kSizeMask, block.size_mask);
      total.memalloced += block.memalloced;
      total.memfreed += block.memfreed;
      total.numallocs += block.numallocs;
      total.numfrees += block.numfrees;
      total.size_mask |= block.size_mask;
    }
    compare(*type, "CPUs", type->cpu_count(), machine.options.cpus);
    compare(*type, "memalloced", type->figure(Field::kMemAlloced), total.memalloced);
    compare(*type, "memfreed", type->figure(Field::kMemFreed), total.memfreed);
    compare(*type, "numallocs", type->figure(Field::kNumAllocs), total.numallocs);
    compare(*type, "numfrees", type->figure(Field::kNumFrees), total.numfrees);
    compare(*type, "sizemask", type->figure(Field::kSizeMask), total.size_mask);
    compare(*type, "bytes", type->figure(Field::kBytes), total.memalloced - total.memfreed);
    compare(*type, "count", type->figure(Field::kCount), total.numallocs - total.numfrees);
  }
  return wrong;
}

TEST(Scale, EveryFigureOf200MallocTypesOn1024CpusArrivesPollAfterPoll) {
  Scaled scaled("freebsd_malloc", {.types = 200, .cpus = 1024, .idle_one_in = 10});
  for (std::uint64_t poll = 1; poll <= 2; ++poll) {
    ASSERT_TRUE(scaled.poll(poll));
    ASSERT_EQ(scaled.list.size(), 200U);
    std::string first;
    EXPECT_EQ(wrong_malloc_figures(scaled, first), 0U) << "poll " << poll << ": " << first;
  }
}

TEST(Scale, EveryFigureArrivesWhereFewOf1000CpusUseATypeAndTheKernelHasMoreSlots) {
  Scaled scaled("freebsd_malloc", {.types = 100, .cpus = 1000, .slots = 1024, .cpus_in_use = 3, .idle_one_in = 4});
  for (std::uint64_t poll = 1; poll <= 2; ++poll) {
    ASSERT_TRUE(scaled.poll(poll));
    std::string first;
    EXPECT_EQ(wrong_malloc_figures(scaled, first), 0U) << "poll " << poll << ": " << first;
  }
}

TEST(Scale, EveryFigureOf100ZonesOn1024CpusArrives) {
  Scaled scaled("freebsd_uma", {.zones = 100, .cpus = 1024, .cpus_in_use = 200});
  ASSERT_TRUE(scaled.poll(1));
  std::size_t wrong = 0;
  for (std::uint32_t number = 0; number < 100; ++number) {
    const MemoryType* zone = scaled.list.find(Allocator::kUma, SyntheticMachine::zone_name(number));
    ASSERT_NE(zone, nullptr);
    std::uint64_t allocs = 1;  // the poll's number
    std::uint64_t cached = 5;
    for (std::uint32_t cpu = 0; cpu < 1024; ++cpu) {
      const SyntheticBlock block = scaled.machine.block(number, cpu);
      wrong += zone->cpu_figure(CpuField::kNumAllocs, cpu) != block.numallocs;
      wrong += zone->cpu_figure(CpuField::kNumFrees, cpu) != block.numfrees;
      wrong += zone->cpu_figure(CpuField::kFree, cpu) != block.size_mask;
      allocs += block.numallocs;
      cached += block.size_mask;
    }
    EXPECT_EQ(zone->figure(Field::kNumAllocs), allocs);
    EXPECT_EQ(zone->figure(Field::kFree), cached + 3);
  }
  EXPECT_EQ(wrong, 0U);
}

TEST(Scale, EveryFigureOf20000SlabCachesArrives) {
  Scaled scaled("linux_slabinfo", {.caches = 20'000, .duplicate_one_in = 50});
  for (std::uint64_t poll = 1; poll <= 2; ++poll) {
    ASSERT_TRUE(scaled.poll(poll));
    ASSERT_EQ(scaled.list.size(), 20'000U);
    std::size_t number = 20'000;  // each new type goes to the head, so the last line comes first
    std::size_t wrong = 0;
    for (const MemoryType* type = scaled.list.first(); type != nullptr; type = type->next()) {
      const auto cache = static_cast<std::uint32_t>(--number);
      const auto [active, objects, size, pages, slabs] = scaled.machine.cache(cache);
      const bool is_right = type->name() == scaled.machine.cache_name(cache) && type->figure(Field::kCount) == active &&
                            type->figure(Field::kBytes) == active * size && type->figure(Field::kRSize) == size &&
                            type->figure(Field::kFree) == objects - active &&
                            type->figure(Field::kHeldBytes) == slabs * pages * 4096;
      if (!is_right && wrong++ == 0) ADD_FAILURE() << "poll " << poll << ", cache " << cache << ", " << type->name();
    }
    EXPECT_EQ(wrong, 0U);
    EXPECT_EQ(find_ordinal(scaled.list, scaled.machine.cache_name(1), 1)->duplicates(), 2U);
  }
}

/// What `body` adds to the live heap, B.
std::int64_t growth_of(const std::function<void()>& body) {
  const std::int64_t before = live_bytes.load();
  body();
  return live_bytes.load() - before;
}

/// A list with the types of a machine's malloc(9) source, and its memory in B, without stream and staging.
struct Weighed {
  explicit Weighed(const SyntheticOptions& options) : scaled("freebsd_malloc", options) {
    scaled.machine.poll = 1;
    SourceReader& reader = scaled.reader;
    const bool is_parsed = read_source(reader, scaled.machine).has_value() && parse_source(reader).has_value();
    EXPECT_TRUE(is_parsed);
    const SourceDescriptor& source = *reader.descriptor;
    bytes = growth_of([&] {
      EXPECT_TRUE(scaled.list.commit({.source = source.name,
                                      .allocator = source.allocator,
                                      .is_roster = true,
                                      .fields = source.fields,
                                      .cpu_fields = source.cpu_fields},
                                     reader.staging, 1));
    });
    EXPECT_EQ(scaled.list.size(), options.types);
  }
  Scaled scaled;
  std::int64_t bytes = 0;
};

TEST(ScaleMemory, OfTypesThatNoCpuUsesIsTheSameFor1And4096Cpus) {
  MEMSTAT_SKIP_UNLESS_COUNTING();
  const std::int64_t of_one = Weighed({.types = 100, .cpus = 1, .idle_one_in = 1}).bytes;
  EXPECT_GT(of_one, 100 * static_cast<std::int64_t>(sizeof(MemoryType)));
  // Except for the allocator's rounding: not even a bit per CPU.
  EXPECT_LT(Weighed({.types = 100, .cpus = 4096, .idle_one_in = 1}).bytes, of_one + 100 * 16);
}

TEST(ScaleMemory, OfTypesThatFewCpusUseIsThatOfTheirGroups) {
  MEMSTAT_SKIP_UNLESS_COUNTING();
  const std::int64_t idle = Weighed({.types = 100, .cpus = 4096, .idle_one_in = 1}).bytes;
  const std::int64_t few = Weighed({.types = 100, .cpus = 4096, .cpus_in_use = 4, .idle_one_in = 2}).bytes;
  const std::int64_t all = Weighed({.types = 100, .cpus = 4096}).bytes;
  // 50 types, each with about 4 groups of 32 CPUs and 5 fields, and two bytes for each of the 128 groups.
  EXPECT_LT(few - idle, 50 * (6 * 32 * 5 * 8 + 2 * 128 + 64));
  EXPECT_GT(few - idle, 50 * 2 * 32 * 5 * 8) << "they must be somewhere";
  EXPECT_GE(all - idle, 100 * 4096 * 5 * 8);
  // The allocator rounds a block of this size to whole pages when it maps one of its own for it.
  EXPECT_LT(all - idle, 100 * (4096 * 5 * 8 * 102 / 100 + 4096)) << "each figure is held once";
}

TEST(ScaleMemory, OfAPollIsNotWhatTheStagingTakes) {
  MEMSTAT_SKIP_UNLESS_COUNTING();
  Scaled scaled("freebsd_malloc", {.types = 100, .cpus = 4096});
  ASSERT_TRUE(read_source(scaled.reader, scaled.machine));
  const std::int64_t staged = growth_of([&] { EXPECT_TRUE(parse_source(scaled.reader)); });
  EXPECT_LT(staged, 100 * 1000) << "figures of CPUs stay in the stream of " << scaled.reader.raw.parts[0].size() << " bytes";
}

TEST(ScaleMemory, OfCallerSlotsIsTakenForTheTypesWhoseSlotsAreSet) {
  MEMSTAT_SKIP_UNLESS_COUNTING();
  Weighed weighed({.types = 100, .cpus = 4096});
  MemoryType& type = *weighed.scaled.list.first();
  std::uint64_t sum = 0;
  const auto read_all = [&] {
    for (std::uint32_t cpu = 0; cpu < 4096; ++cpu) sum += type.cpu_caller_uint64(cpu, 3) + type.caller_uint64(3);
  };
  EXPECT_EQ(growth_of(read_all), 0);
  EXPECT_EQ(sum, 0U);
  const std::int64_t one = growth_of([&] { type.set_cpu_caller_uint64(4000, 3, 7); });
  EXPECT_GE(one, 8);
  EXPECT_LT(one, 4096 * 8 + 100 * 16 + 1000);
  EXPECT_EQ(growth_of([&] { type.set_cpu_caller_uint64(17, 3, 8); }), 0);
  EXPECT_EQ(growth_of(read_all), 0);
  EXPECT_EQ(sum, 15U);
}

TEST(ScaleMemory, DoesNotGrowFromPollToPoll) {
  MEMSTAT_SKIP_UNLESS_COUNTING();
  for (const std::uint32_t cpus_in_use : {0U, 5U}) {
    Scaled scaled("freebsd_malloc", {.types = 100, .cpus = 1024, .cpus_in_use = cpus_in_use, .idle_one_in = 3});
    ASSERT_TRUE(scaled.poll(1));
    for (std::uint64_t poll = 2; poll <= 4; ++poll) {
      scaled.machine.poll = poll;
      ASSERT_TRUE(read_source(scaled.reader, scaled.machine));
      const std::uint64_t before = allocation_count.load();
      ASSERT_TRUE(commit_source(scaled.reader, scaled.list, poll));
      EXPECT_EQ(allocation_count.load(), before) << "poll " << poll;
    }
  }
}

}  // namespace
}  // namespace memstat
