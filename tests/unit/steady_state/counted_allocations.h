// SPDX-License-Identifier: BSD-2-Clause
// Counts every heap allocation of this program, in all its threads and libraries, by replacing malloc and related functions,
// in the one file that defines MEMSTAT_REPLACE_MALLOC. This includes operator new, since libstdc++ implements it with
// malloc.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "core/base/sanitizer.h"

#if defined(__GLIBC__) && !defined(MEMSTAT_SANITIZED)
#define MEMSTAT_COUNTS_ALLOCATIONS 1
#include <execinfo.h>
#include <malloc.h>
#include <unistd.h>
#endif

namespace memstat {

/// What was allocated since the program began. Thread safety: safe.
inline std::atomic<std::uint64_t> allocation_count{0};
inline std::atomic<std::int64_t> live_bytes{0};  ///< Allocated and not freed, as the allocator rounds them.

/// While set, the first allocation stores its stack here, for the message of a test that expects none.
inline std::atomic<bool> wants_stack{false};
inline void* stack[32];
inline std::atomic<int> stack_depth{0};

#ifdef MEMSTAT_COUNTS_ALLOCATIONS
inline constexpr bool kCountsAllocations = true;

inline void* note_allocation(void* memory) {
  if (memory == nullptr) return nullptr;
  allocation_count.fetch_add(1, std::memory_order_relaxed);
  live_bytes.fetch_add(static_cast<std::int64_t>(malloc_usable_size(memory)), std::memory_order_relaxed);
  if (wants_stack.load(std::memory_order_relaxed) && wants_stack.exchange(false)) stack_depth = backtrace(stack, 32);
  return memory;
}
inline void note_free(void* memory) {
  if (memory != nullptr) {
    live_bytes.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(memory)), std::memory_order_relaxed);
  }
}
inline void print_stack() { backtrace_symbols_fd(stack, stack_depth, STDERR_FILENO); }
inline void prepare_stack() { backtrace(stack, 2); }  // its first call loads a library, which allocates
#else
inline constexpr bool kCountsAllocations = false;
inline void print_stack() {}
inline void prepare_stack() {}
#endif

/// Calls poll_once(NUMBER), which polls and returns whether that succeeded, a few times: no allocation once it has room.
/// Allocations of prepare(NUMBER), which runs before, do not count.
template <typename Poll, typename Prepare>
void expect_steady(Poll poll_once, Prepare prepare) {
  prepare_stack();
  for (int poll = 0; poll < 8; ++poll) {
    prepare(poll);
    const std::uint64_t before = allocation_count.load();
    wants_stack = poll >= 3;
    const bool is_good = poll_once(poll);
    wants_stack = false;
    const std::uint64_t count = allocation_count.load() - before;
    ASSERT_TRUE(is_good);
    if (poll < 3) continue;
    EXPECT_EQ(count, 0U) << "in poll " << poll;
    if (count != 0) print_stack();
  }
}

template <typename Poll>
void expect_steady(Poll poll_once) {
  expect_steady(poll_once, [](int) {});
}

}  // namespace memstat

#define MEMSTAT_SKIP_UNLESS_COUNTING()                                                                                   \
  do {                                                                                                                   \
    if (!kCountsAllocations) GTEST_SKIP() << "allocations cannot be counted here: a sanitizer, or no glibc, has malloc"; \
  } while (false)

#if defined(MEMSTAT_COUNTS_ALLOCATIONS) && defined(MEMSTAT_REPLACE_MALLOC)
extern "C" {
void* __libc_malloc(std::size_t size);                           // NOLINT(bugprone-reserved-identifier)
void* __libc_calloc(std::size_t count, std::size_t size);        // NOLINT(bugprone-reserved-identifier)
void* __libc_realloc(void* memory, std::size_t size);            // NOLINT(bugprone-reserved-identifier)
void* __libc_memalign(std::size_t alignment, std::size_t size);  // NOLINT(bugprone-reserved-identifier)
void __libc_free(void* memory);                                  // NOLINT(bugprone-reserved-identifier)

void* malloc(std::size_t size) noexcept { return memstat::note_allocation(__libc_malloc(size)); }
void* calloc(std::size_t count, std::size_t size) noexcept { return memstat::note_allocation(__libc_calloc(count, size)); }
void* realloc(void* memory, std::size_t size) noexcept {
  memstat::note_free(memory);
  return memstat::note_allocation(__libc_realloc(memory, size));
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return memstat::note_allocation(__libc_memalign(alignment, size));
}
void* memalign(std::size_t alignment, std::size_t size) noexcept {
  return memstat::note_allocation(__libc_memalign(alignment, size));
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) noexcept {
  *memory = memstat::note_allocation(__libc_memalign(alignment, size));
  return *memory == nullptr ? 12 : 0;  // ENOMEM
}
void free(void* memory) noexcept {
  memstat::note_free(memory);
  __libc_free(memory);
}
}
#endif
