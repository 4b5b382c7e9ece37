// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/process/startup_memory.h"

#include "core/base/free_heap.h"

#if defined(__linux__)
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#endif

namespace memstat {

#if defined(__linux__)
namespace {

/// Releases the pages of an object's read-only segments; the kernel can read them from the file again.
int release_pages(dl_phdr_info* object, std::size_t, void* is_locked) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (std::size_t i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = (object->dlpi_addr + segment.p_vaddr) & ~(page - 1);
    const std::size_t size = object->dlpi_addr + segment.p_vaddr + segment.p_memsz - begin;
    auto* const at = reinterpret_cast<void*>(begin);  // NOLINT(performance-no-int-to-ptr)
    const bool was_locked = *static_cast<const bool*>(is_locked);
    // Locked pages cannot be released.
    if (was_locked && ::munlock(at, size) != 0) continue;
    (void)::madvise(at, size, MADV_DONTNEED);
#if defined(MLOCK_ONFAULT)
    if (was_locked) (void)::mlock2(at, size, MLOCK_ONFAULT);
#endif
  }
  return 0;
}

}  // namespace

void release_startup_memory(bool is_locked) {
  static const bool kIsDone = [&is_locked] {
    give_back_free_heap();
    return ::dl_iterate_phdr(release_pages, &is_locked) == 0;
  }();
  (void)kIsDone;
}
#else
void release_startup_memory(bool) {}
#endif

}  // namespace memstat
