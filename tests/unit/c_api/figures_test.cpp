// SPDX-License-Identifier: BSD-2-Clause
// What each accessor returns for each allocator: libmemstat's arithmetic, 0 for a meaningless figure, and 0 or NULL out of
// every range.
#include <climits>

#include "tests/support/c_list.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

// Before any test has made a query.
const std::size_t count_at_start = memstat_malloc_zone_get_count();
const std::size_t size_at_start = memstat_malloc_zone_get_size(0);

constexpr int kOutOfRange[] = {-1, -2, INT_MIN, INT_MAX, 1024, 65536, 0x40000000};

class CApiFigures : public testing::Test {
 protected:
  /// The one type of a stream.
  const memory_type* malloc_type(const MallocStream& stream) { return type_of(stream.bytes(), "", memstat_sysctl_malloc); }
  const memory_type* zone(const UmaZone& record, std::uint32_t cpus = 2) {
    return type_of("", UmaStream(cpus).add(record).bytes(), memstat_sysctl_uma);
  }
  const memory_type* type_of(const std::string& malloc_stream, const std::string& uma_stream,
                             int (*query)(memory_type_list*, int)) {
    list_ = make_list(make_kernel(malloc_stream, uma_stream));
    EXPECT_EQ(query(list_.get(), 0), 0) << memstat_mtl_get_message(list_.get());
    EXPECT_EQ(memstat_mtl_get_count(list_.get()), 1U);
    return memstat_mtl_first(list_.get());
  }
  ListPtr list_;
};

/// For a type whose figures are all above 0: these accessors must not return 0, all others must.
void expect_meaningful(const memory_type* type, const std::set<std::string>& meaningful) {
  for (const Accessor& accessor : kAccessors) {
    EXPECT_EQ(accessor.get(type) != 0, meaningful.contains(accessor.name)) << accessor.name << ' ' << accessor.get(type);
  }
}
void expect_cpu_meaningful(const memory_type* type, int cpu, const std::set<std::string>& meaningful) {
  for (const CpuAccessor& accessor : kCpuAccessors) {
    EXPECT_EQ(accessor.get(type, cpu) != 0, meaningful.contains(accessor.name)) << accessor.name;
  }
}

TEST_F(CApiFigures, OfMallocHaveNoneOfZones) {
  const memory_type* type =
      malloc_type(MallocStream(4).add("temp", {{0, {1000, 100, 10, 1, 1}}, {1, {200, 50, 4, 2, 6}}, {3, {7, 0, 1, 0, 8}}}));
  EXPECT_EQ(memstat_get_percpu_memalloced(type, 2), 0U) << "a missing CPU";
  EXPECT_EQ(memstat_get_cpu_count(type), 4);
  expect_meaningful(type, {"sizemask", "memalloced", "memfreed", "numallocs", "numfrees", "bytes", "count"});
  expect_cpu_meaningful(type, 0, {"memalloced", "memfreed", "allocs", "frees", "sizemask"});
  EXPECT_EQ(memstat_get_held_bytes(type), 0U);
}

TEST_F(CApiFigures, OfMallocWrapAt64BitsAndAreNotClamped) {
  const memory_type* type = malloc_type(MallocStream(2).add("temp", {{0, {UINT64_MAX, 0, 1, 0, 1}}, {1, {3, 18, 0, 3, 1}}}));
  EXPECT_EQ(memstat_get_memalloced(type), 2U);
  EXPECT_EQ(memstat_get_bytes(type), UINT64_MAX - 15) << "modulo 2^64, as upstream";
  EXPECT_EQ(memstat_get_count(type), UINT64_MAX - 1);
}

TEST_F(CApiFigures, OfZonesHaveNoneOfMalloc) {
  const memory_type* type = zone({.name = "mbuf",
                                  .size = 100,
                                  .rsize = 128,
                                  .limit = 50,
                                  .pages = 3,
                                  .keg_free = 9,
                                  .zone_free = 4,
                                  .allocs = 10,
                                  .frees = 2,
                                  .fails = 5,
                                  .sleeps = 6,
                                  .xdomain = 7,
                                  .blocks = {{0, {20, 3, 11}}, {1, {1, 1, 2}}}});
  EXPECT_EQ(memstat_get_bytes(type), 2500U) << "of the requested size, not the footprint";
  EXPECT_EQ(memstat_get_held_bytes(type), 3U * 4096);
  expect_meaningful(type, {"countlimit", "byteslimit", "size", "rsize", "memalloced", "memfreed", "numallocs", "numfrees",
                           "bytes", "count", "free", "failures", "sleeps", "xdomain", "zonefree", "kegfree"});
  expect_cpu_meaningful(type, 0, {"free"});
  for (const std::size_t n : {0U, 5U, 31U}) EXPECT_EQ(memstat_malloc_zone_used(type, n), 0);
}

TEST_F(CApiFigures, EqualTheKernels) {
  EXPECT_EQ(memstat_get_figures(malloc_type(MallocStream(1).add("m"))),
            MEMSTAT_FIGURE_BYTES | MEMSTAT_FIGURE_COUNT | MEMSTAT_FIGURE_NUMALLOCS | MEMSTAT_FIGURE_NUMFREES |
                MEMSTAT_FIGURE_MEMALLOCED | MEMSTAT_FIGURE_MEMFREED | MEMSTAT_FIGURE_SIZEMASK);
  const std::uint32_t always = MEMSTAT_FIGURE_BYTES | MEMSTAT_FIGURE_COUNT | MEMSTAT_FIGURE_FREE | MEMSTAT_FIGURE_ZONEFREE |
                               MEMSTAT_FIGURE_NUMALLOCS | MEMSTAT_FIGURE_NUMFREES | MEMSTAT_FIGURE_FAILURES |
                               MEMSTAT_FIGURE_SLEEPS | MEMSTAT_FIGURE_XDOMAIN | MEMSTAT_FIGURE_SIZE;
  EXPECT_EQ(memstat_get_figures(zone({.name = "cache"})), always);
  EXPECT_EQ(memstat_get_figures(zone({.name = "secondary", .rsize = 8, .flags = 1})), always | MEMSTAT_FIGURE_RSIZE);
  EXPECT_EQ(memstat_get_figures(zone({.name = "z", .rsize = 8, .limit = 3})),
            always | MEMSTAT_FIGURE_RSIZE | MEMSTAT_FIGURE_HELD_BYTES | MEMSTAT_FIGURE_KEGFREE | MEMSTAT_FIGURE_COUNTLIMIT |
                MEMSTAT_FIGURE_BYTESLIMIT);
}

TEST_F(CApiFigures, OutOfRangeCpusAndIndexesReadAsNothingAndAreNotSet) {
  for (const bool is_zone : {false, true}) {
    const auto kernel = make_kernel(MallocStream(2).add("m", {{0, {1, 1, 1, 1, 1}}, {1, {1, 1, 1, 1, 1}}}).bytes(),
                                    UmaStream(2).add({.name = "z", .blocks = {{0, {1, 1, 1}}, {1, {1, 1, 1}}}}).bytes());
    const ListPtr list = make_list(kernel);
    ASSERT_EQ((is_zone ? memstat_sysctl_uma : memstat_sysctl_malloc)(list.get(), 0), 0);
    memory_type* type = memstat_mtl_first(list.get());
    ASSERT_EQ(memstat_get_cpu_count(type), 2);
    fill_slots(list.get());
    const std::string before = everything(list.get());
    void* const pointer = &list_;
    for (const int bad : kOutOfRange) {
      for (const CpuAccessor& accessor : kCpuAccessors)
        EXPECT_EQ(accessor.get(type, bad), 0U) << accessor.name << ' ' << bad;
      memstat_set_caller_uint64(type, bad, 77);
      memstat_set_caller_pointer(type, bad, pointer);
      EXPECT_EQ(memstat_get_caller_uint64(type, bad), 0U) << bad;
      EXPECT_EQ(memstat_get_caller_pointer(type, bad), nullptr) << bad;
      for (const auto& [cpu, index] : {std::pair(bad, 0), std::pair(0, bad), std::pair(bad, bad), std::pair(2, 0)}) {
        memstat_set_percpu_caller_uint64(type, cpu, index, 77);
        memstat_set_percpu_caller_pointer(type, cpu, index, pointer);
        EXPECT_EQ(memstat_get_percpu_caller_uint64(type, cpu, index), 0U) << cpu << ' ' << index;
        EXPECT_EQ(memstat_get_percpu_caller_pointer(type, cpu, index), nullptr) << cpu << ' ' << index;
      }
    }
    memstat_set_caller_uint64(type, MEMSTAT_MAXCALLER, 77);
    EXPECT_EQ(memstat_get_caller_uint64(type, MEMSTAT_MAXCALLER), 0U) << "the manual is off by one";
    EXPECT_EQ(everything(list.get()), before);
  }
}

TEST_F(CApiFigures, SizeClassesAreTheKernelsTableInFreeBsd13AndLater) {
  EXPECT_EQ(count_at_start, 0U) << "nothing is known before the first malloc query";
  EXPECT_EQ(size_at_start, 0U);
  const std::size_t count = memstat_malloc_zone_get_count();
  EXPECT_EQ(memstat_malloc_zone_get_size(32), static_cast<std::size_t>(-1));
  zone({.name = "z"});
  EXPECT_EQ(memstat_malloc_zone_get_count(), count) << "zones do not have them";
  const memory_type* type =
      malloc_type(MallocStream(1).add("m", {{0, {0, 0, 0, 0, (1U << 5) | (1U << 13) | (1ULL << 40)}}}));
  ASSERT_EQ(memstat_malloc_zone_get_count(), 15U);
  for (std::size_t n = 0; n < 15; ++n) {
    EXPECT_EQ(memstat_malloc_zone_get_size(n), kSizeClasses13[n]);
    EXPECT_EQ(memstat_malloc_zone_used(type, n), n == 5 || n == 13 ? 1 : 0) << n;
  }
  EXPECT_EQ(memstat_malloc_zone_get_size(5), 384U);
  for (std::size_t n = 15; n < 32; ++n) EXPECT_EQ(memstat_malloc_zone_get_size(n), 0U);
  for (const std::size_t n : {std::size_t{32}, std::size_t{40}, std::size_t{64}, SIZE_MAX}) {
    EXPECT_EQ(memstat_malloc_zone_get_size(n), static_cast<std::size_t>(-1)) << n;
    EXPECT_EQ(memstat_malloc_zone_used(type, n), 0) << n;
  }
}

TEST_F(CApiFigures, SizeClassesArePowersOfTwoBeforeFreeBsd13) {
  const auto kernel = std::make_shared<FakeKernelView>(OperatingSystem::kFreeBsd);
  set_malloc(*kernel, MallocStream(1).add("m", {{0, {0, 0, 0, 0, 1U << 5}}}).bytes());
  const ListPtr list = make_list(kernel);
  ASSERT_EQ(memstat_sysctl_malloc(list.get(), 0), 0) << memstat_mtl_get_message(list.get());
  ASSERT_EQ(memstat_malloc_zone_get_count(), 14U);
  for (std::size_t n = 0; n < 13; ++n) EXPECT_EQ(memstat_malloc_zone_get_size(n), std::size_t{16} << n);
  EXPECT_EQ(memstat_malloc_zone_get_size(13), 0U) << "the closing 0";
  EXPECT_EQ(memstat_malloc_zone_used(memstat_mtl_first(list.get()), 5), 1);
  malloc_type(MallocStream(1).add("m"));
  EXPECT_EQ(memstat_malloc_zone_get_count(), 15U) << "the latest query of the process";
}

TEST(CApiNull, IsSafeEverywhere) {
  memstat_mtl_free(nullptr);
  EXPECT_EQ(memstat_mtl_first(nullptr), nullptr);
  EXPECT_EQ(memstat_mtl_next(nullptr), nullptr);
  EXPECT_EQ(memstat_mtl_find(nullptr, ALLOCATOR_ANY, "temp"), nullptr);
  EXPECT_EQ(memstat_mtl_geterror(nullptr), MEMSTAT_ERROR_UNDEFINED);
  EXPECT_EQ(memstat_mtl_get_count(nullptr), 0U);
  EXPECT_STREQ(memstat_mtl_get_message(nullptr), "");
  EXPECT_STREQ(memstat_mtl_get_notes(nullptr), "");
  memstat_mtl_set_folding(nullptr, 1);
  for (const auto query : {memstat_sysctl_all, memstat_sysctl_malloc, memstat_sysctl_uma, memstat_linux_all,
                           memstat_linux_slab, memstat_linux_vmalloc}) {
    errno = 0;
    EXPECT_EQ(query(nullptr, 0), -1);
    EXPECT_EQ(errno, EINVAL);
  }
  for (const auto query : {memstat_kvm_all, memstat_kvm_malloc, memstat_kvm_uma}) EXPECT_EQ(query(nullptr, nullptr), -1);
  EXPECT_EQ(memstat_mtl_set_capture(nullptr, "x"), -1);
  EXPECT_EQ(memstat_source_query(nullptr, "freebsd_uma", 0), -1);
  EXPECT_STREQ(memstat_get_name(nullptr), "");
  EXPECT_EQ(memstat_get_allocator(nullptr), ALLOCATOR_UNKNOWN);
  for (const Accessor& accessor : kAccessors) EXPECT_EQ(accessor.get(nullptr), 0U);
  for (const CpuAccessor& accessor : kCpuAccessors) EXPECT_EQ(accessor.get(nullptr, 0), 0U);
  EXPECT_EQ(memstat_malloc_zone_used(nullptr, 0), 0);
  memstat_set_caller_uint64(nullptr, 0, 1);
  memstat_set_caller_pointer(nullptr, 0, nullptr);
  memstat_set_percpu_caller_uint64(nullptr, 0, 0, 1);
  memstat_set_percpu_caller_pointer(nullptr, 0, 0, nullptr);
  EXPECT_EQ(memstat_get_caller_uint64(nullptr, 0), 0U);
  EXPECT_EQ(memstat_get_caller_pointer(nullptr, 0), nullptr);
  EXPECT_EQ(memstat_get_percpu_caller_uint64(nullptr, 0, 0), 0U);
  EXPECT_EQ(memstat_get_percpu_caller_pointer(nullptr, 0, 0), nullptr);
  EXPECT_EQ(memstat_get_cpu_count(nullptr), 0);
  EXPECT_EQ(memstat_get_ordinal(nullptr), 0);
  EXPECT_EQ(memstat_get_duplicates(nullptr), 0);
  EXPECT_EQ(memstat_is_present(nullptr), 0);
  EXPECT_EQ(memstat_fails_routinely(nullptr), 0);
  EXPECT_EQ(memstat_is_container(nullptr), 0);
  EXPECT_STREQ(memstat_get_detail(nullptr), "");
  EXPECT_EQ(memstat_get_held_bytes(nullptr), 0U);
  EXPECT_EQ(memstat_get_figures(nullptr), 0U);

  const ListPtr list = make_list();
  EXPECT_EQ(memstat_mtl_find(list.get(), ALLOCATOR_ANY, nullptr), nullptr);
  EXPECT_EQ(memstat_source_query(list.get(), nullptr, 0), -1);
  EXPECT_EQ(memstat_mtl_geterror(list.get()), MEMSTAT_ERROR_NOTPRESENT);
  EXPECT_EQ(memstat_source_query(list.get(), "no such source", 0), -1);
  EXPECT_EQ(memstat_mtl_geterror(list.get()), MEMSTAT_ERROR_NOTPRESENT);
}

TEST(CApiSources, AreListedByNameAndCanBeQueriedAlone) {
  std::set<std::string> names;
  for (std::size_t n = 0; n < memstat_source_get_count(); ++n) names.insert(memstat_source_get_name(n));
  EXPECT_EQ(names.size(), memstat_source_get_count());
  for (const char* name : {"freebsd_malloc", "freebsd_uma", "linux_slabinfo", "linux_vmalloc"})
    EXPECT_TRUE(names.contains(name)) << name;
  EXPECT_EQ(memstat_source_get_name(memstat_source_get_count()), nullptr);
  EXPECT_EQ(memstat_source_get_name(SIZE_MAX), nullptr);
  const auto kernel = make_kernel(MallocStream(1).add("m").bytes(), UmaStream(1).add({.name = "z"}).bytes());
  const ListPtr list = make_list(kernel);
  EXPECT_EQ(memstat_source_query(list.get(), "freebsd_uma", 0), 0);
  EXPECT_EQ(order_of(list.get()), (std::vector<std::string>{"2:z"}));
  EXPECT_EQ(memstat_source_query(list.get(), "freebsd_malloc", 0), 0);
  EXPECT_EQ(order_of(list.get()), (std::vector<std::string>{"1:m", "2:z"}));
  EXPECT_EQ(memstat_source_query(list.get(), "linux_slabinfo", 0), -1);
  EXPECT_EQ(memstat_mtl_geterror(list.get()), MEMSTAT_ERROR_NOTPRESENT);
}

}  // namespace
}  // namespace memstat
