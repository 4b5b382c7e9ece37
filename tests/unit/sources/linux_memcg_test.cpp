// SPDX-License-Identifier: BSD-2-Clause
// The parser of control groups on handwritten texts. Which groups are read is shown by
// tests/unit/collect/cgroup_walk_test.cpp; captured and live kernels: tests/guests/checker.py.
#include "core/collect/file_bundle.h"
#include "core/query.h"
#include "tests/support/fixtures.h"
#include "tests/support/result_checks.h"
#include "tests/support/source_reading.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/stream_builder.h"
#include "tests/support/test.h"

namespace memstat::linux_memcg_test {
namespace {

const SourceDescriptor& source() { return *find_source("linux_memcg"); }

using Files = std::vector<std::pair<std::string, std::string>>;

/// "group: bytes/limit/sleeps/failures" of all types, with "-" for a figure that is none.
std::string words_of(const Staging& staging) {
  return type_words(staging, {Field::kBytes, Field::kBytesLimit, Field::kSleeps, Field::kFailures});
}

/// "label,label=value" of one metric.
std::map<std::string, std::uint64_t> values_of(const Staging& staging, const SystemMetric& metric) {
  std::map<std::string, std::uint64_t> values;
  const StagedStatistics& statistics = staging.statistics();
  for (const StagedStatistics::Entry& entry : statistics.entries()) {
    if (entry.metric != &metric) continue;
    std::string labels;
    for (std::size_t i = 0; i < metric.label_names().size(); ++i) {
      labels += (i == 0 ? "" : ",") + std::string(statistics.label(entry, i));
    }
    EXPECT_TRUE(values.emplace(labels, entry.bits).second) << "twice: " << labels;
  }
  return values;
}

class LinuxMemcg : public testing::Test {
 protected:
  Result<void> parse(const Files& files, const std::string& version = "2\n") {
    Buffer scratch;
    raw_ = RawBytes{};
    raw_.page_size = 4096;
    FileBundleWriter bundle(raw_.parts[0], scratch);
    EXPECT_TRUE(bundle.add("/sys/fs/cgroup", version));
    for (const auto& [name, content] : files) EXPECT_TRUE(bundle.add(name, content));
    EXPECT_TRUE(bundle.add("", ""));
    return parse_bytes(source(), raw_, staging_);
  }
  std::string words(const Files& files, const std::string& version = "2\n") {
    if (const auto result = parse(files, version); !result) return to_string(result.error());
    return words_of(staging_);
  }
  void expect_refused(const Files& files, const std::string& path, std::uint64_t offset,
                      const std::string& version = "2\n") {
    EXPECT_TRUE(fails(parse(files, version), {.code = ErrorCode::kData, .path = path, .offset = offset}))
        << path << ": " << files.back().second;
  }
  /// "label,label=value ..." of one metric.
  std::string shown(const std::string& metric) {
    std::string words;
    for (const auto& [labels, value] : values_of(staging_, metric_named("memstat_memcg_" + metric))) {
      words += (words.empty() ? "" : " ") + labels + "=" + std::to_string(value);
    }
    return words;
  }
  std::uint64_t left_out() { return values_of(staging_, metric_named("memstat_memcg_groups_left_out")).at(""); }

  RawBytes raw_;
  Staging staging_;
};

TEST_F(LinuxMemcg, TakesPressureSwapAndWhatHappenedInTheGroupItself) {
  ASSERT_TRUE(
      parse({{"/a/memory.pressure", "some avg10=0.00 total=1500000\nfull avg10=0.00 total=500000\n"},
             {"/a/memory.swap.current", "4096\n"},
             {"/a/memory.swap.max", "8192\n"},
             {"/a/memory.swap.events", "high 1\nmax 2\nfail 3\n"},
             {"/a/memory.events.local", "low 1\nhigh 2\nmax 3\noom 4\noom_kill 5\noom_group_kill 6\nsock_throttled 7\n"},
             {"/a/cgroup.stat", "nr_descendants 8\nnr_subsys_memory 7\nnr_dying_descendants 9\n"},
             {"/b/memory.swap.max", "max\n"},
             {"/c/memory.peak", "12288\n"}}));
  EXPECT_EQ(shown("peak_bytes"), "/c=12288");
  const auto seconds = values_of(staging_, metric_named("memstat_memcg_pressure_stall_seconds_total"));
  EXPECT_EQ(std::bit_cast<double>(seconds.at("/a,some")), 1.5);
  EXPECT_EQ(std::bit_cast<double>(seconds.at("/a,full")), 0.5);
  EXPECT_EQ(shown("swap_bytes"), "/a=4096");
  EXPECT_EQ(shown("swap_limit_bytes"), "/a=8192");
  EXPECT_EQ(shown("swap_events_total"), "/a,fail=3 /a,high=1 /a,max=2");
  EXPECT_EQ(shown("local_events_total"), "/a,high=2 /a,low=1 /a,max=3 /a,oom=4 /a,oom_group_kill=6 /a,oom_kill=5");
  EXPECT_EQ(shown("dying_descendants"), "/a=9");
}

TEST_F(LinuxMemcg, OfVersion1HasWaitingTasksAndLimitsOfKernelMemoryAndSwap) {
  ASSERT_TRUE(parse({{"/a/memory.oom_control", "oom_kill_disable 1\nunder_oom 1\noom_kill 0\n"},
                     {"/a/memory.kmem.failcnt", "7\n"},
                     {"/a/memory.memsw.usage_in_bytes", "4096\n"},
                     {"/a/memory.memsw.limit_in_bytes", "8192\n"},
                     {"/a/memory.memsw.failcnt", "3\n"},
                     {"/a/memory.max_usage_in_bytes", "12288\n"},
                     {"/b/memory.memsw.limit_in_bytes", "9223372036854771712\n"}},
                    "1\n"));
  EXPECT_EQ(shown("peak_bytes"), "/a=12288");
  EXPECT_EQ(shown("oom_waiting"), "/a=1");
  EXPECT_EQ(shown("kernel_limit_hits_total"), "/a=7");
  EXPECT_EQ(shown("memory_and_swap_bytes"), "/a=4096");
  EXPECT_EQ(shown("memory_and_swap_limit_bytes"), "/a=8192");
  EXPECT_EQ(shown("swap_events_total"), "/a,max=3");
}

TEST_F(LinuxMemcg, AddsUpKernelMemoryWhereTheKernelDoesNot) {
  // Before 5.18 memory.stat has no sum, so each is computed.
  EXPECT_EQ(words({{"/a/memory.stat", "anon 10\nkernel_stack 1\npagetables 2\npercpu 4\nsock 8\nslab 32\n"},
                   {"/b/memory.current", "1\n"},
                   {"/c/memory.stat", "sock 5\nslab 64\n"}}),
            "/a: -/-/-/-; /b: 1/-/-/-; /c: -/-/-/-");
  EXPECT_EQ(shown("kernel_bytes"), "/a=47 /c=69");
  ASSERT_TRUE(parse({{"/a/memory.stat", "kernel 18446744073709551615\nsock 1\n"}}));
  EXPECT_EQ(shown("kernel_bytes"), "/a=18446744073709551615") << "does not wrap";
}

TEST_F(LinuxMemcg, ComputesHeadroomFromTheFilesOfBothVersions) {
  const std::string stat = "anon 1048576\ninactive_file 8388608\nactive_file 4194304\nslab_reclaimable 1048576\n";
  const auto parse_with_machine = [&](const Files& files, const std::string& version = "2\n") {
    ASSERT_TRUE(parse(files, version));
    raw_.parts[1].assign("MemFree: 400000 kB\nActive(file): 1 kB\nInactive(file): 1 kB\nSwapFree: 0 kB\n");
    raw_.parts[2].assign("Node 0, zone Normal\n min 10\n managed 200000\n protection: (0, 0)\n");
    ASSERT_TRUE(parse_bytes(source(), raw_, staging_));
  };
  const Files files = {{"/a/memory.current", "33554432\n"}, {"/a/memory.max", "33554432\n"},
                       {"/a/memory.high", "25165824\n"},    {"/a/memory.stat", stat},
                       {"/a/memory.min", "max\n"},          {"/b/memory.current", "1\n"}};
  parse_with_machine(files);
  EXPECT_EQ(shown("headroom_bytes"), "/a,high=4718592 /a,max=13107200") << "half of the slab memory";
  EXPECT_EQ(shown("headroom_set_by"), "");
  parse_with_machine({{"/memory.usage_in_bytes", "1\n"},
                      {"/a/memory.usage_in_bytes", "33554432\n"},
                      {"/a/memory.limit_in_bytes", "33554432\n"},
                      {"/a/memory.stat", "cache 1\ntotal_inactive_file 8388608\ntotal_active_file 4194304\n"},
                      {"/a/memory.kmem.usage_in_bytes", "2097152\n"}},
                     "1\n");
  EXPECT_EQ(shown("headroom_bytes"), "/a,max=13631488");
  ASSERT_TRUE(parse(files));
  EXPECT_EQ(shown("headroom_uncertain"), "/a,high,not_read=1 /a,max,not_read=1") << "without /proc/meminfo";
  parse_with_machine({{"/memory.current", "1\n"}, {"/memory.max", "2\n"}});
  EXPECT_EQ(shown("headroom_uncertain"), "/,max,hidden_groups=1") << "the group of a container";
}

TEST_F(LinuxMemcg, OmitsWhatAKernelDoesNotReport) {
  EXPECT_EQ(words({{"/a/memory.current", "1\n"}}), "/a: 1/-/-/-");
  EXPECT_EQ(words({{"/a/memory.current", "1\n"}, {"/a/memory.events", "low 1\n"}}), "/a: 1/-/-/-");
  EXPECT_EQ(words({{"/a/memory.current", "1\n"}, {"/a/memory.events", "max 2\n"}}), "/a: 1/-/2/-");
  EXPECT_EQ(words({{"/a/memory.current", "1\n"}, {"/a/memory.events", ""}, {"/a/memory.stat", "new 1 2\n\nnewer\n"}}),
            "/a: 1/-/-/-");
  EXPECT_EQ(shown("part_bytes"), "");
  // This file counts kills since Linux commit 8e675f7af507 ("mm/oom_kill: count global and memory cgroup oom kills")
  // (v4.13).
  EXPECT_EQ(
      words({{"/a/memory.usage_in_bytes", "1\n"}, {"/a/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\n"}}, "1\n"),
      "/a: 1/-/-/-");
  EXPECT_EQ(words({{"/a/memory.current", "1\n"}, {"/a/memory.new", "whatever"}, {"/a/memory.failcnt", "none of version 2"}}),
            "/a: 1/-/-/-");
}

TEST_F(LinuxMemcg, HasNoLimitIfTheKernelReportsNone) {
  const auto limit = [&](const std::string& text) { return words({{"/a/memory.max", text}}); };
  EXPECT_EQ(limit("max\n"), "/a: -/-/-/-");
  EXPECT_EQ(limit("0\n"), "/a: -/0/-/-") << "nothing is allowed, which is a limit";
  EXPECT_EQ(limit("9223372036853727231\n"), "/a: -/9223372036853727231/-/-");
  for (const char* none : {
           "9223372036854771712",  // pages of 4 KiB
           "9223372036854759424",  // 16 KiB
           "9223372036854710272",  // 64 KiB
           "9223372036854513664",  // 256 KiB
           "9223372036854775807",  // before v3.19
           "18446744073709551615"  // what no kernel prints
       }) {
    EXPECT_EQ(limit(std::string(none) + "\n"), "/a: -/-/-/-") << none;
    EXPECT_EQ(words({{"/a/memory.limit_in_bytes", std::string(none) + "\n"}}, "1\n"), "/a: -/-/-/-") << none;
    ASSERT_TRUE(parse({{"/a/memory.high", std::string(none) + "\n"}}));
    EXPECT_EQ(shown("high_bytes"), "");
  }
}

TEST_F(LinuxMemcg, ThreadsHaveNoLimitWhereNoneIsSet) {
  ASSERT_TRUE(parse({{"/a/pids.current", "3\n"}, {"/a/pids.max", "max\n"}, {"/b/pids.max", "0\n"}}));
  EXPECT_EQ(shown("tasks"), "/a=3");
  EXPECT_EQ(shown("tasks_limit"), "/b=0") << "none may be started";
  ASSERT_TRUE(parse({{"/a/pids.current", "3\n"}, {"/a/pids.max", "4\n"}}, "1\n"));
  EXPECT_EQ(shown("tasks"), "") << "version 1 has them elsewhere";
}

TEST_F(LinuxMemcg, SaysWhichFileIsWrongAndWhere) {
  for (const char* bad : {"", "-1\n", "1.5\n", "18446744073709551616\n", "1 2\n", "many\n"}) {
    for (const std::string file : {"memory.current", "memory.max", "memory.high", "pids.current", "pids.max",
                                   "memory.swap.current", "memory.swap.max"}) {
      expect_refused({{"/a/" + file, bad}}, "/sys/fs/cgroup/a/" + file, 0);
    }
    for (const std::string file :
         {"memory.kmem.failcnt", "memory.memsw.failcnt", "memory.failcnt", "memory.kmem.usage_in_bytes"}) {
      expect_refused({{"/" + file, bad}}, "/sys/fs/cgroup/" + file, 0, "1\n");
    }
  }
  expect_refused({{"/a/memory.current", "max\n"}}, "/sys/fs/cgroup/a/memory.current", 0);
  expect_refused({{"/a/memory.pressure", "some total=1"}}, "/sys/fs/cgroup/a/memory.pressure", 0);
  for (const std::string file :
       {"cgroup.stat nr_dying_descendants", "memory.events.local max", "memory.events max", "memory.stat slab"}) {
    const std::size_t blank = file.find(' ');
    expect_refused({{"/a/" + file.substr(0, blank), "low 0\n" + file.substr(blank + 1) + " -1\n"}},
                   "/sys/fs/cgroup/a/" + file.substr(0, blank), 6);
  }
  expect_refused({{"/a/memory.events", "high 18446744073709551615\nmax 1\n"}}, "/sys/fs/cgroup/a/memory.events", 0);
  expect_refused({{"/a\nb\x7F\xFF/memory.current", "x"}}, "/sys/fs/cgroup/a\\x0ab\\x7f\xEF\xBF\xBD/memory.current", 0);
}

TEST_F(LinuxMemcg, OmitsGroupsWhoseNamesAPageCannotDistinguish) {
  ASSERT_TRUE(parse({{"/a\xFF/memory.current", "1\n"},
                     {"/a\xFF/memory.events", "max 1\n"},
                     {"/a\xFE/memory.current", "2\n"},
                     {"/a\xFE/memory.events", "max 2\n"},
                     {"/b/memory.current", "3\n"}}));
  EXPECT_EQ(words_of(staging_), "/a\xEF\xBF\xBD: 1/-/1/-; /b: 3/-/-/-");
  EXPECT_EQ(values_of(staging_, metric_named("memstat_memcg_events_total")).size(), 1U);
  EXPECT_EQ(left_out(), 1U);
  // The longest possible path, of bytes that take three each after repair.
  ASSERT_TRUE(parse({{"/" + std::string(2000, '\xFF') + "/memory.current", "1\n"}}));
  EXPECT_EQ(staging_.types().size(), 0U);
  EXPECT_EQ(left_out(), 1U);
}

TEST_F(LinuxMemcg, IsNothingButUpWhereThereIsNoGroup) {
  ASSERT_TRUE(parse({}));
  EXPECT_EQ(staging_.types().size(), 0U);
  EXPECT_EQ(left_out(), 0U);
}

TEST_F(LinuxMemcg, ReadsNoFilesOfPartsWhereTheyAreOff) {
  const auto view = open_fixture("linux-6.18-cgroup-v1.tar.zst");
  SourceReader reader(source());
  ASSERT_EQ(reader.state->options.size(), 4U);
  MemoryTypeList list;
  ASSERT_TRUE(refresh(reader, *view, list, 1));
  EXPECT_FALSE(values_of(reader.staging, metric_named("memstat_memcg_part_bytes")).empty());
  const std::size_t count = list.size();
  reader.state->options[3].number = 0;
  ASSERT_TRUE(refresh(reader, *view, list, 2));
  EXPECT_TRUE(values_of(reader.staging, metric_named("memstat_memcg_part_bytes")).empty());
  EXPECT_EQ(reader.raw.parts[0].view().find("memory.stat"), std::string_view::npos);
  EXPECT_EQ(reader.raw.parts[0].view().find("memory.kmem"), std::string_view::npos);
  EXPECT_EQ(list.size(), count);
  reader.state->options[0].number = 1;
  reader.state->options[1].matches = [](std::string_view path) { return path.ends_with(".slice"); };
  reader.state->options[2].number = 3;
  ASSERT_TRUE(refresh(reader, *view, list, 3));
  EXPECT_EQ(reader.staging.types().size(), 3U);
  EXPECT_EQ(values_of(reader.staging, metric_named("memstat_memcg_groups_left_out")).at(""), 1U) << "of the four slices";
  EXPECT_EQ(words_of(reader.staging).find("/init"), std::string::npos) << "the smallest";
  EXPECT_GT(values_of(reader.staging, metric_named("memstat_memcg_left_out_bytes")).at(""), 0U);
}

}  // namespace
}  // namespace memstat::linux_memcg_test
