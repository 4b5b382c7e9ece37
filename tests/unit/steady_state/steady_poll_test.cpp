// SPDX-License-Identifier: BSD-2-Clause
// A poll with the same result as the one before allocates nothing from the heap, in any thread, from reading the kernel to
// the rendered page.
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "core/query.h"
#include "daemon/poll/poller.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/support/source_cases.h"
#define MEMSTAT_REPLACE_MALLOC
#include "tests/unit/steady_state/counted_allocations.h"

namespace memstat {
namespace {

/// How many allocations `body` makes, in all threads.
std::uint64_t allocations_of(const std::function<void()>& body) {
  const std::uint64_t before = allocation_count.load();
  wants_stack = true;
  body();
  wants_stack = false;
  return allocation_count.load() - before;
}

/// Snapshots alternate between two arenas while no reader holds them. The page of poll 1 has no deltas yet, so the arena
/// that it was made in still grows when poll 3 comes back to it; from here on nothing may.
constexpr int kFirstSteadyPoll = 4;

/// The allocations of the steady ones of some polls.
struct Outcome {
  std::uint64_t allocations = 0;
  int poll = 0;  ///< The first one that allocated.
  std::size_t series = 0;
};

/// `config` without the sources that the kernel lacks: they are tried once a minute, and the reason is allocated.
Config without_absent(Config config, const Poller& poller) {
  for (const SourceStatus& source : poller.statuses()) {
    if (source.state == SourceState::kAbsent) config.sources[source.name].enabled = Switch::kOff;
  }
  return config;
}

/// Polls N times. `before_poll` prepares the kernel for each poll.
Outcome run_polls(const std::shared_ptr<KernelView>& view, int last_poll, bool everything,
                  const std::function<void(int)>& before_poll, const Config& config = {}) {
  const SystemClock clock;
  SelfMetrics metrics("test");
  SnapshotPool pool;
  Poller poller(view, clock, metrics, pool, config, {.everything = everything, .log = {}});
  poller.open_sources();
  prepare_stack();
  Outcome run;
  for (int poll = 1; poll <= last_poll; ++poll) {
    before_poll(poll);
    const std::int64_t now_ns = std::int64_t{poll} * 10'000'000'000;
    bool any_up = false;
    const std::uint64_t count = allocations_of([&] { any_up = poller.poll(now_ns); });
    EXPECT_TRUE(any_up) << "poll " << poll;
    if (poll == 1) poller.configure(without_absent(config, poller));
    if (poll < kFirstSteadyPoll || count == 0) continue;
    if (!poller.findings().empty()) continue;  // they are written at each poll
    if (run.allocations == 0) run.poll = poll;
    run.allocations += count;
  }
  const std::shared_ptr<const RenderedSnapshot> snapshot = pool.current();
  EXPECT_NE(snapshot, nullptr);
  run.series = snapshot == nullptr ? 0 : snapshot->series;
  return run;
}

void expect_no_allocation(const Outcome& run) {
  EXPECT_EQ(run.allocations, 0U) << "the first in poll " << run.poll;
  if (run.allocations != 0) print_stack();
  EXPECT_GT(run.series, 100U);
}

TEST(SteadyRendering, InEveryFormatAllocatesNothingOnceThePageHasRoom) {
  MEMSTAT_SKIP_UNLESS_COUNTING();
  const auto view = open_fixture("freebsd-15.0-amd64-2cpu-limits.tar.zst");
  const SystemClock clock;
  SelfMetrics metrics("test");
  SnapshotPool pool;
  Poller poller(std::shared_ptr<KernelView>(view.get(), [](KernelView*) {}), clock, metrics, pool, Config{},
                {.everything = true, .log = {}});
  poller.open_sources();
  ASSERT_TRUE(poller.poll(1));
  const std::shared_ptr<const RenderedSnapshot> snapshot = pool.current();
  ASSERT_NE(snapshot, nullptr);
  prepare_stack();
  for (const ExpositionFormat format :
       {ExpositionFormat::kText, ExpositionFormat::kOpenMetrics, ExpositionFormat::kProtobuf}) {
    RenderOptions options = snapshot->options;
    options.created = true;
    Buffer page;
    const std::size_t series = render(format, options, *snapshot, page);
    EXPECT_EQ(series, snapshot->series);
    EXPECT_EQ(allocations_of([&] { render(format, options, *snapshot, page); }), 0U) << to_string(format);
  }
}

/// All that the sources of that system read in a capture, one version per poll.
std::shared_ptr<PreparedKernelView> prepare(const std::string& capture) {
  const auto captured = open_fixture(capture);
  auto view = std::make_shared<PreparedKernelView>(captured->os(), captured->cpu_count(), captured->page_size());
  std::vector<std::string> once = {"vm.malloc.zone_sizes", "vm.malloc.zone_count", "kern.smp.maxcpus",
                                   "kern.malloc_count",    "kern.smp.maxid",       "vm.zone_count"};
  std::vector<std::string> caches;
  if (captured->list_directory("/sys/kernel/slab", caches)) {
    for (const std::string& cache : caches) {
      for (const char* file : {"object_size", "slab_size", "order", "slabs", "total_objects", "partial", "cpu_slabs",
                               "alloc_fastpath", "alloc_slowpath", "free_fastpath", "free_slowpath", "free_rcu_sheaf"}) {
        once.push_back("/sys/kernel/slab/" + cache + "/" + file);
      }
    }
  }
  once.emplace_back("/proc/sys/vm/mem_profiling");
  view->copy_from(*captured, once);
  view->copy_tree_from(*captured, "/sys/fs/cgroup");
  view->contents.try_emplace("/sys/fs/cgroup/cgroup.subtree_control", 1, "memory\n");  // left out of the captures
  std::vector<std::string> sysctls = {"kern.openfiles",    "kern.maxfiles",     "kern.maxvnodes", "vm.kvm_size",
                                      "vm.uma_kmem_total", "vm.uma_kmem_limit", "vm.kvm_free",    "vm.swap_reserved"};
  for (const char* tree : {"kern.ipc", "vfs", "vm.domain", "vm.pmap", "vm.stats", "vm.uma"}) {
    std::vector<std::string> below;
    if (captured->list_sysctls(tree, below)) sysctls.insert(sysctls.end(), below.begin(), below.end());
  }
  for (std::size_t poll = 0; poll < captured->poll_count(); ++poll) {
    EXPECT_TRUE(captured->select_poll(poll));
    view->copy_from(*captured, sysctls);
    view->copy_from(*captured, {"/proc/slabinfo", "/proc/vmallocinfo", "/proc/allocinfo", "/proc/zoneinfo", "/proc/vmstat",
                                "/proc/buddyinfo", "/proc/pressure/memory", "kern.malloc_stats", "vm.zone_stats"});
  }
  return view;
}

/// The lines of a text, the last one first.
std::string turned_round(const std::string& text) {
  std::string turned;
  for (std::size_t end = text.size(); end > 0;) {
    const std::size_t begin = end < 2 ? 0 : text.rfind('\n', end - 2) + 1;
    turned += text.substr(begin, end - begin);
    end = begin;
  }
  return turned;
}

/// A version of allocinfo with ten times the figures for the same call sites: the largest of a function stays the largest,
/// and is what its detail names.
void change_call_sites(std::vector<std::string>& versions) {
  const std::string& text = versions.back();
  const std::size_t records = text.find('\n', text.find('\n') + 1) + 1;
  std::string changed = text.substr(0, records);
  int columns = 0;  // of figures so far in the line
  for (std::size_t i = records; i < text.size(); ++i) {
    const bool is_digit = text[i] >= '0' && text[i] <= '9';
    const bool was_digit = text[i - 1] >= '0' && text[i - 1] <= '9';
    if (!is_digit && was_digit && ++columns <= 2) changed += '0';
    if (text[i] == '\n') columns = 0;
    changed += text[i];
  }
  versions.push_back(changed);
}

/// A version of slabinfo with other figures for the same caches, and one of vmallocinfo with the areas elsewhere and one of
/// them twice. Returns how many versions there are then.
std::size_t add_changed_version(PreparedKernelView& view) {
  std::vector<std::string>& versions = view.contents["/proc/slabinfo"];
  if (versions.empty()) return 0;
  std::string text = versions.back();
  bool is_name = false;
  for (std::size_t i = text.find("\n", text.find('\n') + 1); i < text.size(); ++i) {
    if (text[i] == '\n') is_name = true;
    if (text[i] == ' ') is_name = false;
    if (!is_name && text[i] >= '1' && text[i] <= '8') ++text[i];
  }
  versions.push_back(text);
  std::vector<std::string>& areas = view.contents["/proc/vmallocinfo"];
  const std::string turned = turned_round(areas.back());
  areas.push_back(turned.substr(0, turned.find('\n') + 1) + turned);
  EXPECT_EQ(areas.size(), versions.size());
  if (const auto sites = view.contents.find("/proc/allocinfo"); sites != view.contents.end()) {
    change_call_sites(sites->second);
    EXPECT_EQ(sites->second.size(), versions.size());
  }
  return versions.size();
}

class SteadyPoll : public testing::TestWithParam<std::string> {};

TEST_P(SteadyPoll, AllocatesNothingWhileFiguresChangeAndTheGrowthWindowMovesOn) {
  MEMSTAT_SKIP_UNLESS_COUNTING();
  const auto view = prepare(GetParam());
  const std::size_t versions = std::max(add_changed_version(*view), view->contents["vm.zone_stats"].size());
  const auto next_version = [&](int poll) { view->version = static_cast<std::size_t>(poll) % versions; };
  // More polls of 10 s than the growth window of an hour has, where a poll does not copy 21 MB.
  const bool is_large = view->os() == OperatingSystem::kFreeBsd;
  expect_no_allocation(run_polls(view, is_large ? 60 : 500, false, next_version));
}

TEST_P(SteadyPoll, AllocatesNothingWithEverySeriesThereIs) {
  MEMSTAT_SKIP_UNLESS_COUNTING();
  const auto view = prepare(GetParam());
  expect_no_allocation(run_polls(view, 20, true, [](int) {}));
}

TEST_P(SteadyPoll, AllocatesNothingWhileTypesAreDroppedAndHiddenAndFiguresChange) {
  MEMSTAT_SKIP_UNLESS_COUNTING();
  const auto view = prepare(GetParam());
  const std::size_t versions = std::max(add_changed_version(*view), view->contents["vm.zone_stats"].size());
  Config config;
  config.min_bytes = 4096;
  config.series_limit = 300;
  config.filters.exclude.push_back({.allocator = {}, .type = *NamePattern::compile("dentry|devbuf")});
  config.per_cpu.types = {*NamePattern::compile("mbuf.*")};
  const auto next_version = [&](int poll) { view->version = static_cast<std::size_t>(poll) % versions; };
  const Outcome run = run_polls(view, 30, false, next_version, config);
  expect_no_allocation(run);
  EXPECT_LE(run.series, 300U);
}

/// Captures with the files of all sources.
std::vector<std::string> whole_captures() {
  std::vector<std::string> captures = captures_of_source("linux_slabinfo");
  for (const std::string& capture : captures_of_source("freebsd_malloc")) captures.push_back(capture);
  return captures;
}

INSTANTIATE_TEST_SUITE_P(Captures, SteadyPoll, testing::ValuesIn(whole_captures()), name_of_capture);

TEST(SteadyPollLive, OfThisKernelAllocatesNothing) {
  MEMSTAT_SKIP_UNLESS_COUNTING();
  auto live = make_live_kernel_view();
  if (!live) GTEST_SKIP() << "no view of this system: " << to_string(live.error());
  Buffer bytes;
  if ((*live)->os() == OperatingSystem::kLinux) {
    if (const auto readable = (*live)->read_file("/proc/slabinfo", bytes); !readable) {
      GTEST_SKIP() << to_string(readable.error());
    }
  }
  // A cache that appears between two polls ends the steady state, and others use this kernel: one run of many is
  // quiet.
  Outcome run;
  for (int attempt = 0; attempt < 30; ++attempt) {
    auto fresh = make_live_kernel_view();
    ASSERT_TRUE(fresh);
    run = run_polls(std::shared_ptr<KernelView>(std::move(*fresh)), 20, false, [](int) {});
    if (run.allocations == 0) break;
  }
  expect_no_allocation(run);
}

}  // namespace
}  // namespace memstat
