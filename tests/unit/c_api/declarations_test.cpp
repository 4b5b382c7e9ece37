// SPDX-License-Identifier: BSD-2-Clause
// <memstat.h> declares what FreeBSD's declares: every function with its signature, every constant with its number. What the
// compiler checks here is the contract, so most of this is not run.
#include <type_traits>

#include "core/include/memstat.h"
#include "tests/support/test.h"

namespace {

using Type = struct memory_type;
using List = struct memory_type_list;

template <typename Expected, typename... Actual>
constexpr bool same(Actual...) {
  return (std::is_same_v<Expected, Actual> && ...);
}

static_assert(same<const char* (*)(int)>(memstat_strerror));
static_assert(same<List* (*)()>(memstat_mtl_alloc));
static_assert(same<Type* (*)(List*)>(memstat_mtl_first));
static_assert(same<Type* (*)(Type*)>(memstat_mtl_next));
static_assert(same<Type* (*)(List*, int, const char*)>(memstat_mtl_find));
static_assert(same<void (*)(List*)>(memstat_mtl_free));
static_assert(same<int (*)(List*)>(memstat_mtl_geterror));

static_assert(same<int (*)(List*, int)>(memstat_sysctl_all, memstat_sysctl_malloc, memstat_sysctl_uma));
static_assert(same<int (*)(List*, void*)>(memstat_kvm_all, memstat_kvm_malloc, memstat_kvm_uma));

static_assert(same<size_t (*)()>(memstat_malloc_zone_get_count));
static_assert(same<size_t (*)(size_t)>(memstat_malloc_zone_get_size));
static_assert(same<int (*)(const Type*, size_t)>(memstat_malloc_zone_used));

static_assert(same<const char* (*)(const Type*)>(memstat_get_name));
static_assert(same<int (*)(const Type*)>(memstat_get_allocator));

using Figure = uint64_t (*)(const Type*);
static_assert(same<Figure>(memstat_get_countlimit, memstat_get_byteslimit, memstat_get_sizemask, memstat_get_size,
                           memstat_get_rsize, memstat_get_memalloced, memstat_get_memfreed, memstat_get_numallocs,
                           memstat_get_numfrees, memstat_get_bytes, memstat_get_count, memstat_get_free,
                           memstat_get_failures, memstat_get_sleeps, memstat_get_xdomain, memstat_get_zonefree,
                           memstat_get_kegfree));

static_assert(same<void* (*)(const Type*, int)>(memstat_get_caller_pointer));
static_assert(same<void (*)(Type*, int, void*)>(memstat_set_caller_pointer));
static_assert(same<uint64_t (*)(const Type*, int)>(memstat_get_caller_uint64));
static_assert(same<void (*)(Type*, int, uint64_t)>(memstat_set_caller_uint64));

using CpuFigure = uint64_t (*)(const Type*, int);
static_assert(same<CpuFigure>(memstat_get_percpu_memalloced, memstat_get_percpu_memfreed, memstat_get_percpu_numallocs,
                              memstat_get_percpu_numfrees, memstat_get_percpu_sizemask, memstat_get_percpu_free));
static_assert(same<void* (*)(const Type*, int, int)>(memstat_get_percpu_caller_pointer));
static_assert(same<void (*)(Type*, int, int, void*)>(memstat_set_percpu_caller_pointer));
static_assert(same<uint64_t (*)(const Type*, int, int)>(memstat_get_percpu_caller_uint64));
static_assert(same<void (*)(Type*, int, int, uint64_t)>(memstat_set_percpu_caller_uint64));

static_assert(MEMSTAT_MAXCALLER == 16 && MEMTYPE_MAXNAME == 32);
static_assert(ALLOCATOR_UNKNOWN == 0 && ALLOCATOR_MALLOC == 1 && ALLOCATOR_UMA == 2 && ALLOCATOR_ANY == 255);
static_assert(MEMSTAT_ERROR_UNDEFINED == 0 && MEMSTAT_ERROR_NOMEMORY == 1 && MEMSTAT_ERROR_VERSION == 2 &&
              MEMSTAT_ERROR_PERMISSION == 3 && MEMSTAT_ERROR_TOOMANYCPUS == 4 && MEMSTAT_ERROR_DATAERROR == 5 &&
              MEMSTAT_ERROR_KVM == 6 && MEMSTAT_ERROR_KVM_NOSYMBOL == 7 && MEMSTAT_ERROR_KVM_SHORTREAD == 8);

// Ours, whose numbers are a promise as well.
static_assert(ALLOCATOR_SLAB == 3);
static_assert(ALLOCATOR_VMALLOC == 4 && ALLOCATOR_CALL_SITE == 5 && ALLOCATOR_PAGE == 6 && ALLOCATOR_PERCPU == 7);
static_assert(ALLOCATOR_HUGETLB == 8 && ALLOCATOR_CMA == 9 && ALLOCATOR_ZSWAP == 10 && ALLOCATOR_MEMCG == 11);
static_assert(ALLOCATOR_SOCKET == 12 && ALLOCATOR_TABLE == 13 && ALLOCATOR_PROCESS == 14);
static_assert(MEMSTAT_ERROR_NOTPRESENT == 16 && MEMSTAT_ERROR_IO == 17 && MEMSTAT_ERROR_TIMEOUT == 18);
static_assert(sizeof(struct memstat_process) == 104 && sizeof(struct memstat_memory_block) == 32);

TEST(Strerror, HasUniqueWordsForEveryErrorAndOneForAllOthers) {
  const std::string unknown = memstat_strerror(MEMSTAT_ERROR_UNDEFINED);
  EXPECT_FALSE(unknown.empty());
  std::set<std::string> words = {unknown};
  for (const int error : {MEMSTAT_ERROR_NOMEMORY, MEMSTAT_ERROR_VERSION, MEMSTAT_ERROR_PERMISSION, MEMSTAT_ERROR_TOOMANYCPUS,
                          MEMSTAT_ERROR_DATAERROR, MEMSTAT_ERROR_KVM, MEMSTAT_ERROR_KVM_NOSYMBOL,
                          MEMSTAT_ERROR_KVM_SHORTREAD, MEMSTAT_ERROR_NOTPRESENT, MEMSTAT_ERROR_IO, MEMSTAT_ERROR_TIMEOUT}) {
    EXPECT_TRUE(words.insert(memstat_strerror(error)).second) << error << " has the words of another";
    EXPECT_EQ(memstat_strerror(error), memstat_strerror(error)) << "static";
  }
  for (const int error : {-1, 9, 15, 19, 255, 1'000'000, INT32_MIN, INT32_MAX}) EXPECT_EQ(memstat_strerror(error), unknown);
}

}  // namespace
