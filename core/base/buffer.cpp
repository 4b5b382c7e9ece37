// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/buffer.h"

#include <sys/mman.h>

#include <new>

namespace memstat {

char* map_memory(std::size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<char*>(memory);
}

void unmap_memory(char* memory, std::size_t bytes) { (void)::munmap(memory, bytes); }

}  // namespace memstat
