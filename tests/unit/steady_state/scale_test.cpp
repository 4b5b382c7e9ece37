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
