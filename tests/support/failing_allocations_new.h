// SPDX-License-Identifier: BSD-2-Clause
// Replaces the global operator new of a test program; to be included by exactly one of its files.
#pragma once

#include <cstdlib>
#include <new>

#include "tests/support/failing_allocations.h"

// Kept out of line: the compiler would otherwise see malloc() meet operator delete, and warn.
#define MEMSTAT_OUT_OF_LINE __attribute__((noinline))
MEMSTAT_OUT_OF_LINE void* operator new(std::size_t size) {
  if (memstat::allocations_until_failure >= 0 && memstat::allocations_until_failure-- == 0) throw std::bad_alloc();
  while (true) {
    if (void* memory = std::malloc(size != 0 ? size : 1); memory != nullptr) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}
MEMSTAT_OUT_OF_LINE void* operator new[](std::size_t size) { return operator new(size); }
// The free() below must not get memory from a sanitizer's own operator new.
MEMSTAT_OUT_OF_LINE void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
MEMSTAT_OUT_OF_LINE void operator delete(void* memory) noexcept { std::free(memory); }
MEMSTAT_OUT_OF_LINE void operator delete[](void* memory) noexcept { std::free(memory); }
MEMSTAT_OUT_OF_LINE void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
MEMSTAT_OUT_OF_LINE void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
#undef MEMSTAT_OUT_OF_LINE
