// SPDX-License-Identifier: BSD-2-Clause
// The programs that count callers of the allocator, run by the kernel with arguments of our own (BPF_PROG_TEST_RUN) and
// attached to nothing: what this machine's kernel does not do when a test wants it.
#if defined(MEMSTAT_HAVE_LIBBPF)

#include <gtest/gtest.h>
#include <sched.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "core/events/attach/bpf_kernel.h"
#include "core/events/attach/embedded_programs.h"
#include "core/events/bpf/sampling.h"
#include "core/events/sites/site_book.h"
#include "tests/support/table_text.h"

namespace memstat::events {
namespace {

constexpr std::uint64_t kEveryNode = ~std::uint64_t{0};
constexpr std::uint64_t kCalledCache = 0xffff8880deadb000;  // of no object that there is: its name cannot be read
constexpr std::uint64_t kCalledObject = 0xffff8880deadc000;
constexpr std::uint64_t kCallingSite = 0xffffffff81000000;

class LiveSitePrograms : public testing::Test {
 protected:
  void SetUp() override {
    // On another CPU than ours a program would run within what is at work there, and count for that task.
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    ASSERT_EQ(::sched_getaffinity(0, sizeof allowed_, &allowed_), 0);
    if (::sched_setaffinity(0, sizeof first, &first) != 0) GTEST_SKIP() << "this process may not run on CPU 0";
    libbpf_set_print(nullptr);
    auto object = open_programs(call_sites());
    ASSERT_TRUE(object) << to_string(object.error());
    object_ = *std::move(object);
    if (const int error = bpf_object__load(object_.get()); error != 0) {
      GTEST_SKIP() << "the kernel does not load these programs: " << to_string(refused("BPF_PROG_LOAD", error));
    }
    allocate(kCallingSite, kCalledObject, 0);  // of no cache: nothing is counted
    if (is_refused_) GTEST_SKIP() << "this kernel does not run such programs for tests (before 5.10)";
  }
  void TearDown() override { ::sched_setaffinity(0, sizeof allowed_, &allowed_); }
  /// Runs a program on CPU 0, for which alone it has a row here.
  void run(const char* program, std::array<std::uint64_t, 6> arguments) {
    LIBBPF_OPTS(bpf_test_run_opts, options);
    options.ctx_in = arguments.data();
    options.ctx_size_in = sizeof arguments;
    options.flags = BPF_F_TEST_RUN_ON_CPU;
    is_refused_ =
        bpf_prog_test_run_opts(bpf_program__fd(bpf_object__find_program_by_name(object_.get(), program)), &options) != 0;
  }
  void allocate(std::uint64_t site, std::uint64_t object, std::uint64_t cache) {
    run("on_kmem_cache_alloc", {site, object, cache, 0, kEveryNode});
  }
  void kmalloc(std::uint64_t site, std::uint64_t object, std::uint64_t asked, std::uint64_t got, std::uint64_t flags = 0) {
    run("on_kmalloc", {site, object, asked, got, flags, kEveryNode});
  }
  int map(const char* name) { return bpf_map__fd(bpf_object__find_map_by_name(object_.get(), name)); }
  void fetch() {
    constexpr __u32 kFirst = 0;
    ASSERT_EQ(bpf_map_lookup_elem(map("by_cpu"), &kFirst, cpus_.data()), 0);
    ASSERT_EQ(bpf_map_lookup_elem(map(".bss"), &kFirst, table_.get()), 0);
  }
  /// The sum of the rows that have a slot, or of those without.
  memstat_site_row sum(bool has_slot = true) {
    fetch();
    memstat_site_row all{};
    for (std::size_t at = has_slot ? 0 : MEMSTAT_SITE_ALL; at < (has_slot ? MEMSTAT_SITE_ALL : MEMSTAT_SITE_ROWS); ++at) {
      all.allocations += cpus_[0].rows[at].allocations;
      all.requested += cpus_[0].rows[at].requested;
      all.failures += cpus_[0].rows[at].failures;
    }
    return all;
  }
  std::size_t slots() {
    fetch();
    std::size_t count = 0;
    for (const unsigned long long& key : table_->keys) count += key != 0 ? 1 : 0;
    return count;
  }

  cpu_set_t allowed_{};
  ObjectPointer object_;
  bool is_refused_ = false;
  std::vector<memstat_site_cpu> cpus_{1};
  std::unique_ptr<memstat_site_table> table_ = std::make_unique<memstat_site_table>();
};

TEST_F(LiveSitePrograms, CountAnAllocationWithoutAResultAsAFailure) {
  allocate(kCallingSite, 0, kCalledCache);
  allocate(kCallingSite, kCalledObject, kCalledCache);
  kmalloc(kCallingSite, 0, 100, 128);
  kmalloc(kCallingSite, kCalledObject, 100, 128);
  kmalloc(kCallingSite, 16, 0, 0);  // ZERO_SIZE_PTR is no memory
  EXPECT_EQ(sum().failures, 2U);
  EXPECT_EQ(sum().allocations, 2U);
  EXPECT_EQ(sum().requested, 100U);
  EXPECT_EQ(slots(), 2U);
}

TEST_F(LiveSitePrograms, TellCallersSizesAndChargesApart) {
  kmalloc(kCallingSite, kCalledObject, 100, 128);
  kmalloc(kCallingSite, kCalledObject, 90, 96);
  kmalloc(kCallingSite, kCalledObject, 100, 128,
          0x400000);  // __GFP_ACCOUNT of kernels before 6.10, which these constants have
  kmalloc(kCallingSite + 64, kCalledObject, 100, 128);
  kmalloc(kCallingSite + 64, kCalledObject, 101, 128);
  EXPECT_EQ(slots(), 4U);
  std::size_t charged = 0;
  for (const memstat_site_slot& slot : table_->slots) charged += slot.is_charged;
  EXPECT_EQ(charged, 1U);
}

TEST_F(LiveSitePrograms, NameTheTaskItsGroupAndTheFunction) {
  kmalloc(kCallingSite, kCalledObject, 100, 128);
  fetch();
  SiteBook book(SiteLimits{});
  book.look(*table_, cpus_, 1);
  Buffer out;
  book.write({}, out);
  const std::string text = text_of(kSiteTable, out);
  const std::size_t origin = text.find("\norigin 1 ");
  ASSERT_NE(origin, std::string::npos) << text;
  EXPECT_NE(text.find("origin 1 128 0\tkmalloc-128\t/"), std::string::npos) << text;
  EXPECT_NE(text.find("\ttest_events\t", origin), std::string::npos) << text;
  EXPECT_EQ(text.find("unknown"), std::string::npos) << "the group is known, and the function: " << text;
}

TEST_F(LiveSitePrograms, CountALargeKmallocThatIsReportedTwiceForItsTrueCallerOnly) {
  constexpr __u32 kFirst = 0;
  kmalloc(kCallingSite, kCalledObject, 10'000, 16'384);
  fetch();
  for (memstat_site_slot& slot : table_->slots) {
    if (slot.site == kCallingSite) std::string("__kmalloc_large_node_noprof").copy(slot.name, sizeof slot.name);
  }
  ASSERT_EQ(bpf_map_update_elem(map(".bss"), &kFirst, table_.get(), BPF_ANY), 0);
  kmalloc(kCallingSite + 4096, kCalledObject, 10'000, 16'384);
  EXPECT_EQ(sum().allocations, 1U);
  EXPECT_EQ(sum().requested, 10'000U);
  for (std::size_t at = 0; at < MEMSTAT_SITE_ALL; ++at) {
    if (table_->keys[at] == 0) continue;
    EXPECT_EQ(cpus_[0].rows[at].allocations, table_->slots[at].site == kCallingSite + 4096 ? 1U : 0U);
  }
  kmalloc(kCallingSite + 4096, kCalledObject + 65'536, 10'000, 16'384);
  kmalloc(kCallingSite + 8192, kCalledObject + 65'536, 10'000, 16'384);  // freed meanwhile: another's allocation
  EXPECT_EQ(sum().allocations, 3U);
}

TEST_F(LiveSitePrograms, CountManyEventsAsOneOrNoneInAPartOfTheTimeButEachFailure) {
  constexpr __u32 kFirst = 0;
  constexpr memstat_sampling kOneInFour{.mask = 3};
  constexpr std::uint64_t kTimes = 50;
  ASSERT_EQ(bpf_map_update_elem(map(".data.sampling"), &kFirst, &kOneInFour, BPF_ANY), 0);
  for (std::uint64_t i = 0; i < kTimes; ++i) {
    allocate(kCallingSite, kCalledObject, kCalledCache);
    kmalloc(kCallingSite, 0, 100, 128);
  }
  EXPECT_EQ(sum().allocations % 4, 0U);
  EXPECT_LE(sum().allocations, 4 * kTimes);
  EXPECT_EQ(sum().failures, kTimes);
}

TEST_F(LiveSitePrograms, CountEachEventOfAFullTableSomewhere) {
  constexpr std::uint64_t kSites = 3 * MEMSTAT_SITE_ALL;
  for (std::uint64_t i = 0; i < kSites; ++i) allocate(kCallingSite + 64 * i, kCalledObject, kCalledCache);
  const std::uint64_t placed = sum().allocations;
  const std::uint64_t unplaced = sum(false).allocations;
  EXPECT_EQ(placed + unplaced, kSites);
  EXPECT_LE(placed, std::uint64_t{MEMSTAT_SITE_ALL});
  EXPECT_GT(placed, std::uint64_t{MEMSTAT_SITE_ALL} * 3 / 4);
  std::size_t coarse = 0;
  for (std::size_t at = MEMSTAT_SITE_SLOTS; at < MEMSTAT_SITE_ALL; ++at) {
    if (table_->keys[at] != 0 && table_->slots[at].group == MEMSTAT_SITE_ANY_GROUP) ++coarse;
  }
  EXPECT_GT(coarse, std::size_t{MEMSTAT_SITE_COARSE_SLOTS} * 3 / 4) << "what has no room keeps its function";
}

}  // namespace
}  // namespace memstat::events

#endif
