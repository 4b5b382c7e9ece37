// SPDX-License-Identifier: BSD-2-Clause
// Memory of the per-CPU allocator from handwritten text. Captured and live kernels: tests/guests/checker.py.
#include "core/query.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/support/source_reading.h"
#include "tests/support/stream_builder.h"
#include "tests/support/test.h"

namespace memstat::linux_percpu_test {
namespace {

const SourceDescriptor& source() { return *find_source("linux_percpu"); }

constexpr const char* kStats =
    "Percpu Memory Statistics\nAllocation Info:\n----------------------------------------\n"
    "  unit_size           :      1048576\n  static_size         :       185560\n\nGlobal Stats:\n"
    "----------------------------------------\n  nr_alloc            :      1018902\n  nr_dealloc          :      1017515\n"
    "  nr_cur_alloc        :         1387\n  nr_max_alloc        :         1590\n  nr_chunks           :            2\n"
    "  empty_pop_pages     :           18\n\nPer Chunk Stats:\n----------------------------------------\n"
    "Chunk: <- First Chunk\n  nr_alloc            :          522\n";

class Percpu : public testing::Test {
 protected:
  /// "bytes/count/allocations/frees/slabs", "-" for a figure that is none.
  std::string words(std::string_view meminfo, std::string_view stats) {
    set_file(source(), source().plan[0].path, meminfo, raw_);
    set_file(source(), source().plan[1].path, stats, raw_);
    if (const auto result = parse_bytes(source(), raw_, staging_); !result) return to_string(result.error());
    EXPECT_EQ(staging_.types().size(), 1U);
    const StagedType& type = staging_.types()[0];
    EXPECT_EQ(type.name, "percpu");
    return figure_words(type, {Field::kBytes, Field::kCount, Field::kNumAllocs, Field::kNumFrees, Field::kSlabs});
  }
  RawBytes raw_ = make_raw("");
  Staging staging_;
  MemoryTypeList list_;
};

TEST_F(Percpu, IsOneTypeWithTheStatisticsOfKernelsThatHaveThem) {
  EXPECT_EQ(words("MemTotal: 1 kB\nPercpu:   1040 kB\n", ""), "1064960/-/-/-/-");
  EXPECT_EQ(words("Percpu:   1040 kB\n", kStats), "1064960/1387/1018902/1017515/2");
}

TEST_F(Percpu, TakesTheGlobalStatisticsAndNotThoseOfAChunk) {
  const std::string stats = kStats;
  EXPECT_EQ(words("Percpu: 1 kB\n", stats.substr(stats.find("Per Chunk"))), "1024/-/-/-/-");
  EXPECT_EQ(words("Percpu: 1 kB\n", stats.substr(0, stats.find("Per Chunk"))), "1024/-/-/-/-") << "cut short";
  EXPECT_EQ(words("Percpu: 1 kB\n",
                  "  nr_alloc : x\n nr_dealloc: 4\n nr_chunks\n nr_cur_alloc : 18446744073709551616\n"
                  "Per Chunk Stats:\n nr_alloc : 4\n"),
            "1024/-/-/-/-");
  EXPECT_EQ(words("Percpu: 1 kB\n", " nr_alloc : 7\n nr_alloc : 9\n new : 4\nPer Chunk Stats:\n"), "1024/-/7/-/-");
}

TEST_F(Percpu, IsNotPresentOnKernelsBefore420) {
  PreparedKernelView view(OperatingSystem::kLinux);
  view.contents["/proc/meminfo"] = {"MemTotal: 1 kB\nVmallocUsed: 3 kB\n"};
  SourceReader reader(source());
  EXPECT_EQ(open_source(reader, view).error().code, ErrorCode::kNotPresent);
  EXPECT_EQ(refresh(reader, view, list_, 1).error().code, ErrorCode::kNotPresent) << "nor is it a failure later";
  view.contents["/proc/meminfo"] = {"MemTotal: 1 kB\nPercpu: 3 kB\n"};
  view.failures["/sys/kernel/debug/percpu_stats"] = EACCES;
  EXPECT_TRUE(open_source(reader, view));
}

}  // namespace
}  // namespace memstat::linux_percpu_test
