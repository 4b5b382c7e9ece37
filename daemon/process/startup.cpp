// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/process/startup.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "core/base/free_heap.h"
#include "daemon/privileges/account.h"

#if defined(__linux__)
#include <link.h>
#include <sys/mman.h>
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

Result<HttpListeners> open_listeners(const Config& config) {
  UnixSocketFile file{.user = -1, .group = -1, .mode = config.unix_socket.mode};
  if (!socket_directories(config).empty()) {
    if (::geteuid() == 0 && !config.user.empty()) {
      const AccountNumbers account = account_numbers(account_for(config.user, kOwnUser));
      file.user = account.user;
      file.group = account.group;
    }
    if (const std::string& name = config.unix_socket.group; !name.empty()) {
      file.group = group_number(name);
      if (file.group < 0)
        return make_error(ErrorCode::kData, "unix_socket.group: " + name, "this machine has no such group");
    }
  }
  return HttpListeners::open(config.listen, file);
}

std::vector<std::string> socket_directories(const Config& config) {
  std::vector<std::string> directories;
  for (const Endpoint& endpoint : config.listen) {
    if (endpoint.is_unix()) directories.push_back(std::filesystem::path(endpoint.path).parent_path().string());
  }
  return directories;
}

void raise_open_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace memstat
