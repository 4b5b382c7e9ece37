// SPDX-License-Identifier: BSD-2-Clause
// Control groups: the parser on handwritten texts, and on a group of this machine's kernel
// that the test makes, fills, and takes away. Which groups are read is shown by tests/unit/collect/cgroup_walk_test.cpp;
// captured kernels: tests/guests/checker.py.
#include <signal.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/collect/file_bundle.h"
#include "core/kernel/forwarding_view.h"
#include "core/query.h"
#include "tests/support/fixtures.h"
#include "tests/support/live_group.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/support/result_checks.h"
#include "tests/support/source_cases.h"
#include "tests/support/source_reading.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/stream_builder.h"
#include "tests/support/test.h"
#include "tests/support/whole_polls_view.h"

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
  Result<void> parse(const Files& files, const std::string& version = "2\n", const std::string& left_out = "0\n") {
    Buffer scratch;
    raw_ = RawBytes{};
    raw_.page_size = 4096;
    FileBundleWriter bundle(raw_.parts[0], scratch);
    EXPECT_TRUE(bundle.add("/sys/fs/cgroup", version));
    for (const auto& [name, content] : files) EXPECT_TRUE(bundle.add(name, content));
    EXPECT_TRUE(bundle.add("", left_out));
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

TEST_F(LinuxMemcg, TakesAllFiguresOfVersion2) {
  EXPECT_EQ(
      words({{"/a/memory.current", "4096\n"},
             {"/a/memory.max", "8192\n"},
             {"/a/memory.high", "6144\n"},
             {"/a/memory.events", "low 1\nhigh 2\nmax 3\noom 4\noom_kill 5\noom_group_kill 6\nsock_throttled 7\n"},
             {"/a/memory.stat",
              "anon 10\nfile 11\nkernel 12\nkernel_stack 13\npagetables 14\nsec_pagetables 15\n"
              "percpu 16\nsock 17\nvmalloc 18\nshmem 19\nzswap 99\nfile_dirty 24\ninactive_file 25\nslab_reclaimable 20\n"
              "slab_unreclaimable 21\nslab 41\nworkingset_refault_anon 26\nworkingset_refault_file 27\npgfault 99\n"},
             {"/a/pids.current", "22\n"},
             {"/a/pids.max", "23\n"}}),
      "/a: 4096/8192/5/4");
  EXPECT_EQ(shown("part_bytes"),
            "/a,anon=10 /a,file=11 /a,file_dirty=24 /a,inactive_file=25 /a,kernel=12 /a,kernel_stack=13 /a,pagetables=14 "
            "/a,percpu=16 /a,sec_pagetables=15 /a,shmem=19 /a,slab=41 /a,slab_reclaimable=20 /a,slab_unreclaimable=21 "
            "/a,sock=17 /a,vmalloc=18");
  EXPECT_EQ(shown("refaulted_pages_total"), "/a,anon=26 /a,file=27");
  EXPECT_EQ(shown("events_total"),
            "/a,high=2 /a,low=1 /a,max=3 /a,oom=4 /a,oom_group_kill=6 /a,oom_kill=5 /a,sock_throttled=7");
  EXPECT_EQ(shown("high_bytes"), "/a=6144");
  EXPECT_EQ(shown("tasks"), "/a=22");
  EXPECT_EQ(shown("tasks_limit"), "/a=23");
  EXPECT_EQ(shown("kernel_bytes"), "/a=29");
  EXPECT_EQ(shown("reclaimable_kernel_bytes"), "/a=20");
  EXPECT_EQ(shown("anonymous_bytes"), "/a=10");
  EXPECT_EQ(left_out(), 0U);
}

TEST_F(LinuxMemcg, TakesPressureSwapAndWhatHappenedInTheGroupItself) {
  ASSERT_TRUE(
      parse({{"/a/memory.pressure", "some avg10=0.00 total=1500000\nfull avg10=0.00 total=500000\n"},
             {"/a/memory.swap.current", "4096\n"},
             {"/a/memory.swap.max", "8192\n"},
             {"/a/memory.swap.events", "high 1\nmax 2\nfail 3\n"},
             {"/a/memory.events.local", "low 1\nhigh 2\nmax 3\noom 4\noom_kill 5\noom_group_kill 6\nsock_throttled 7\n"},
             {"/a/cgroup.stat", "nr_descendants 8\nnr_subsys_memory 7\nnr_dying_descendants 9\n"},
             {"/b/memory.swap.max", "max\n"}}));
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
                     {"/b/memory.memsw.limit_in_bytes", "9223372036854771712\n"}},
                    "1\n"));
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

TEST_F(LinuxMemcg, TakesAllFiguresOfVersion1) {
  EXPECT_EQ(words({{"/a/memory.usage_in_bytes", "4096\n"},
                   {"/a/memory.limit_in_bytes", "8192\n"},
                   {"/a/memory.failcnt", "3\n"},
                   {"/a/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n"},
                   {"/a/memory.stat",
                    "cache 1\nrss 2\nshmem 3\ntotal_cache 10\ntotal_rss 20\ntotal_shmem 30\n"
                    "total_dirty 60\ntotal_workingset_refault_file 70\ntotal_inactive_file 80\n"},
                   {"/a/memory.kmem.usage_in_bytes", "40\n"},
                   {"/a/memory.kmem.tcp.usage_in_bytes", "50\n"}},
                  "1\n"),
            "/a: 4096/8192/3/5");
  EXPECT_EQ(shown("part_bytes"),
            "/a,anon=20 /a,file=10 /a,file_dirty=60 /a,inactive_file=80 /a,kernel=40 /a,shmem=30 /a,sock=50");
  EXPECT_EQ(shown("refaulted_pages_total"), "/a,file=70");
  EXPECT_EQ(shown("events_total"), "/a,max=3 /a,oom_kill=5");
  EXPECT_EQ(shown("kernel_bytes"), "/a=90");
  EXPECT_EQ(shown("anonymous_bytes"), "/a=20");
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
  for (const char* bad : {"", "\n", "-1\n", "-9223372036854775808\n", "+1\n", "1.5\n", "0x10\n", "18446744073709551616\n",
                          "99999999999999999999999\n", "1 2\n", "many\n", "MAX\n"}) {
    expect_refused({{"/a/memory.current", bad}}, "/sys/fs/cgroup/a/memory.current", 0);
    expect_refused({{"/a/memory.max", bad}}, "/sys/fs/cgroup/a/memory.max", 0);
    expect_refused({{"/a/memory.high", bad}}, "/sys/fs/cgroup/a/memory.high", 0);
    expect_refused({{"/a/pids.current", bad}}, "/sys/fs/cgroup/a/pids.current", 0);
    expect_refused({{"/a/pids.max", bad}}, "/sys/fs/cgroup/a/pids.max", 0);
    expect_refused({{"/a/memory.swap.current", bad}}, "/sys/fs/cgroup/a/memory.swap.current", 0);
    expect_refused({{"/a/memory.swap.max", bad}}, "/sys/fs/cgroup/a/memory.swap.max", 0);
    expect_refused({{"/memory.kmem.failcnt", bad}}, "/sys/fs/cgroup/memory.kmem.failcnt", 0, "1\n");
    expect_refused({{"/memory.memsw.failcnt", bad}}, "/sys/fs/cgroup/memory.memsw.failcnt", 0, "1\n");
    expect_refused({{"/memory.failcnt", bad}}, "/sys/fs/cgroup/memory.failcnt", 0, "1\n");
    expect_refused({{"/memory.kmem.usage_in_bytes", bad}}, "/sys/fs/cgroup/memory.kmem.usage_in_bytes", 0, "1\n");
  }
  expect_refused({{"/a/memory.current", "max\n"}}, "/sys/fs/cgroup/a/memory.current", 0);
  expect_refused({{"/a/memory.pressure", "some total=1"}}, "/sys/fs/cgroup/a/memory.pressure", 0);
  for (const char* bad : {"", " ", " -1", " 18446744073709551616", " max"}) {
    expect_refused({{"/a/cgroup.stat", std::string("nr_descendants 0\nnr_dying_descendants") + bad + "\n"}},
                   "/sys/fs/cgroup/a/cgroup.stat", 17);
    expect_refused({{"/a/memory.events.local", std::string("low 0\nmax") + bad + "\n"}},
                   "/sys/fs/cgroup/a/memory.events.local", 6);
    expect_refused({{"/a/memory.events", std::string("low 0\nmax") + bad + "\n"}}, "/sys/fs/cgroup/a/memory.events", 6);
    expect_refused({{"/a/memory.stat", std::string("anon 0\nslab") + bad + "\n"}}, "/sys/fs/cgroup/a/memory.stat", 7);
    expect_refused({{"/a/memory.oom_control", std::string("oom_kill") + bad + "\n"}}, "/sys/fs/cgroup/a/memory.oom_control",
                   0, "1\n");
  }
  expect_refused({{"/a/memory.events", "high 18446744073709551615\nmax 1\n"}}, "/sys/fs/cgroup/a/memory.events", 0);
  expect_refused({{"/a\nb\x7F\xFF/memory.current", "x"}}, "/sys/fs/cgroup/a\\x0ab\\x7f\xEF\xBF\xBD/memory.current", 0);
}

TEST_F(LinuxMemcg, TakesNumbersOfUpTo64Bits) {
  EXPECT_EQ(words({{"/a/memory.current", "18446744073709551615\n"},
                   {"/a/memory.events", "high 18446744073709551615\nmax 0\noom 18446744073709551615\n"}}),
            "/a: 18446744073709551615/-/18446744073709551615/18446744073709551615");
}

TEST_F(LinuxMemcg, TakesAnyNameThatAGroupMayHave) {
  const std::string longest(255, 'n');
  EXPECT_EQ(words({{"/memory.current", "1\n"},
                   {"/a b/memory.current", "2\n"},
                   {"/\"q\\uote\"{}/memory.current", "3\n"},
                   {"/line\nbreak/memory.current", "4\n"},
                   {"/bad\xFF/memory.current", "5\n"},
                   {"/max/memory.current", "6\n"},
                   {"/memory.current/memory.current", "7\n"},
                   {"/" + longest + "/" + longest + "/memory.current", "8\n"}}),
            "/: 1/-/-/-; /a b: 2/-/-/-; /\"q\\uote\"{}: 3/-/-/-; /line\\x0abreak: 4/-/-/-; /bad\xEF\xBF\xBD: 5/-/-/-; "
            "/max: 6/-/-/-; /memory.current: 7/-/-/-; /" +
                longest + "/" + longest + ": 8/-/-/-");
  EXPECT_EQ(left_out(), 0U);
}

TEST_F(LinuxMemcg, OmitsGroupsWhoseNamesAPageCannotDistinguish) {
  ASSERT_TRUE(parse({{"/a\xFF/memory.current", "1\n"},
                     {"/a\xFF/memory.events", "max 1\n"},
                     {"/a\xFE/memory.current", "2\n"},
                     {"/a\xFE/memory.events", "max 2\n"},
                     {"/b/memory.current", "3\n"}},
                    "2\n", "5\n"));
  EXPECT_EQ(words_of(staging_), "/a\xEF\xBF\xBD: 1/-/1/-; /b: 3/-/-/-");
  EXPECT_EQ(values_of(staging_, metric_named("memstat_memcg_events_total")).size(), 1U);
  EXPECT_EQ(left_out(), 6U);
  // The longest possible path, of bytes that take three each after repair.
  ASSERT_TRUE(parse({{"/" + std::string(2000, '\xFF') + "/memory.current", "1\n"}}));
  EXPECT_EQ(staging_.types().size(), 0U);
  EXPECT_EQ(left_out(), 1U);
}

TEST_F(LinuxMemcg, IsNothingButUpWhereThereIsNoGroup) {
  ASSERT_TRUE(parse({}, "2\n", "7\n"));
  EXPECT_EQ(staging_.types().size(), 0U);
  EXPECT_EQ(left_out(), 7U);
}

TEST_F(LinuxMemcg, RefusesABundleThatIsNotWhole) {
  ASSERT_TRUE(parse({{"/a/memory.current", "1\n"}, {"/b/memory.current", "1\n"}}));
  const std::string whole(raw_.parts[0].view());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    raw_.parts[0].assign(whole.substr(0, size));
    const auto result = parse_bytes(source(), raw_, staging_);
    ASSERT_TRUE(fails(result, {.path = "/sys/fs/cgroup"})) << size;
    EXPECT_LE(result.error().offset, size);
  }
  raw_.parts[0].assign(whole + whole);
  EXPECT_FALSE(parse_bytes(source(), raw_, staging_));
  EXPECT_FALSE(parse({{"/a/memory.current", "1\n"}, {"/a/memory.current", "1\n"}})) << "the same file twice";
  EXPECT_FALSE(parse({{"a/memory.current", "1\n"}}));
  EXPECT_FALSE(parse({}, "2\n", "-1\n"));
  EXPECT_FALSE(parse({}, "2\n", ""));
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
  EXPECT_EQ(words_of(reader.staging).substr(0, 12), "/batch.slice");
  EXPECT_EQ(reader.staging.types().size(), 3U);
  EXPECT_EQ(values_of(reader.staging, metric_named("memstat_memcg_groups_left_out")).at(""), 1U) << "of the four slices";
}

/// Notes from where files are looked up.
class NearView final : public ForwardingKernelView {
 public:
  using ForwardingKernelView::ForwardingKernelView;
  NearDirectory come_near(std::string_view directory) override {
    came_near = directory;
    return {};
  }
  Result<void> read_near(const NearDirectory&, std::string_view path, Buffer& out) override {
    ++reads;
    return inner_.read_file(path, out);
  }

  std::string came_near;
  int reads = 0;
};

TEST_F(LinuxMemcg, LooksFilesUpFromTheRootOfTheHierarchy) {
  const auto capture = open_fixture("linux-6.18-cgroup-v1.tar.zst");
  NearView view(*capture);
  SourceReader reader(source());
  ASSERT_TRUE(read_source(reader, view));
  EXPECT_EQ(view.came_near, "/sys/fs/cgroup/memory");
  EXPECT_GT(view.reads, 10);
}

TEST(LinuxMemcgPermission, IsNotPresentOnKernelsWithoutGroups) {
  PreparedKernelView view(OperatingSystem::kLinux);
  SourceReader reader(source());
  const auto result = open_source(reader, view);
  ASSERT_TRUE(fails(result, ErrorCode::kNotPresent));
  EXPECT_EQ(result.error().source, "linux_memcg");
}

// ---- kernels -------------------------------------------------------------------------------------------------------------

/// The text after a word at the beginning of a line; nothing: no such line.
std::optional<std::uint64_t> word_value(const std::string& text, const std::string& word) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(word + " ")) return std::stoull(line.substr(word.size() + 1));
  }
  return {};
}

TEST(CapturedMemcgVersion1, ShowsTheProcessThatWasKilled) {
  const auto view = open_fixture("linux-6.18-cgroup-v1.tar.zst");
  SourceReader reader(source());
  MemoryTypeList list;
  ASSERT_TRUE(refresh(reader, *view, list, 1));
  const MemoryType* job = list.find(Allocator::kMemcg, "/batch.slice/job-1.scope");
  ASSERT_NE(job, nullptr);
  EXPECT_EQ(job->figure(Field::kBytesLimit), std::uint64_t{16} << 20U);
  EXPECT_EQ(job->figure(Field::kFailures), 0U);
  EXPECT_EQ(job->figure(Field::kSleeps), 0U);
  ASSERT_TRUE(view->select_poll(1));
  ASSERT_TRUE(refresh(reader, *view, list, 2));
  EXPECT_EQ(job->figure(Field::kFailures), 1U);
  EXPECT_GT(job->figure(Field::kSleeps), 0U);
  EXPECT_NE(list.find(Allocator::kMemcg, "/machine.slice/a name with blanks"), nullptr);
}

TEST(LiveMemcg, SeesAGroupComeEatHitItsLimitAndGo) {
  const auto mounted = mounted_hierarchy();
  if (!mounted) GTEST_SKIP() << "no hierarchy below /sys/fs/cgroup has the memory controller";
  const std::string name = "/memstat \"test\" " + std::to_string(::getpid());
  LiveGroup group(mounted->root + name);
  if (!group.is_made()) GTEST_SKIP() << "cannot make a control group, which needs root: " << group.why_not();
  constexpr std::uint64_t kLimit = std::uint64_t{32} << 20U;
  constexpr std::uint64_t kMeal = std::uint64_t{8} << 20U;
  const bool is_version_1 = mounted->is_version_1;
  if (!group.write(is_version_1 ? "memory.limit_in_bytes" : "memory.max", std::to_string(kLimit))) {
    GTEST_SKIP() << "the limit of a control group cannot be set here";
  }
  // With swap it would survive.
  group.write(is_version_1 ? "memory.swappiness" : "memory.swap.max", "0");

  auto view = make_live_kernel_view();
  ASSERT_TRUE(view);
  WholePollsView whole(**view);
  SourceReader reader(source());
  reader.state->options[2].number = 10000;
  MemoryTypeList list;
  std::uint64_t generation = 0;
  const auto poll = [&]() -> const MemoryType* {
    const auto refreshed = refresh(reader, whole, list, ++generation);
    EXPECT_TRUE(refreshed) << to_string(refreshed.error());
    const MemoryType* type = list.find(Allocator::kMemcg, name);
    return type != nullptr && type->is_present() ? type : nullptr;
  };
  ASSERT_TRUE(open_source(reader, whole));
  const MemoryType* type = poll();
  ASSERT_NE(type, nullptr);
  const std::uint64_t empty = type->figure(Field::kBytes);
  EXPECT_LT(empty, kMeal / 2);
  EXPECT_EQ(type->figure(Field::kBytesLimit), kLimit);
  EXPECT_EQ(type->figure(Field::kSleeps), 0U);
  EXPECT_EQ(type->figure(Field::kFailures), 0U);
  {
    Eater eater(group, kMeal);
    if (!eater.is_in_group()) GTEST_SKIP() << "processes cannot be moved into the control group";
    ASSERT_TRUE(eater.has_eaten());
    type = poll();
    ASSERT_NE(type, nullptr);
    // The process also has earlier pages, and the kernel takes some for it.
    EXPECT_GE(eater.resident_anonymous(), kMeal);
    EXPECT_GE(type->figure(Field::kBytes), kMeal);
    EXPECT_LE(type->figure(Field::kBytes), eater.resident_anonymous() + (std::uint64_t{4} << 20U));
    const auto parts = values_of(reader.staging, metric_named("memstat_memcg_part_bytes"));
    // Pages wait in batches on each CPU until they are counted.
    EXPECT_GE(parts.at(name + ",anon") + (std::uint64_t{2} << 20U), kMeal);
    EXPECT_EQ(type->figure(Field::kFailures), 0U);
  }
  {
    Eater glutton(group, 2 * kLimit);
    ASSERT_TRUE(glutton.is_in_group());
    EXPECT_FALSE(glutton.has_eaten());
    EXPECT_EQ(glutton.wait(), SIGKILL);
  }
  type = poll();
  ASSERT_NE(type, nullptr);
  EXPECT_GE(type->figure(Field::kFailures), 1U);
  EXPECT_GE(type->figure(Field::kSleeps), 1U);
  // Nothing runs in the group any more, so its counters do not change.
  if (is_version_1) {
    EXPECT_EQ(type->figure(Field::kFailures), word_value(group.text("memory.oom_control"), "oom_kill"));
    EXPECT_EQ(std::to_string(type->figure(Field::kSleeps)) + "\n", group.text("memory.failcnt"));
  } else {
    EXPECT_EQ(type->figure(Field::kFailures), word_value(group.text("memory.events"), "oom"));
  }
  EXPECT_EQ(values_of(reader.staging, metric_named("memstat_memcg_events_total")).at(name + ",oom_kill"), 1U);
  ASSERT_TRUE(group.remove()) << std::generic_category().message(errno);
  EXPECT_EQ(poll(), nullptr);
}

}  // namespace
}  // namespace memstat::linux_memcg_test
