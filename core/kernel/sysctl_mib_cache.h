// SPDX-License-Identifier: BSD-2-Clause
// Caches the MIBs of sysctls. Finding a name among thousands costs the kernel more than reading the value, so each name
// is looked up once. FreeBSD never reuses the number of a removed sysctl (sys/kern/kern_sysctl.c only counts up), so a
// cached MIB is either right or invalid.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/mutex.h"

namespace memstat {

/// The numeric path (MIB) of a sysctl.
struct SysctlNumbers {
  std::array<int, 24> numbers{};  ///< FreeBSD's CTL_MAXNAME
  std::size_t length = 0;
};

/// Caches MIBs by name. Allocates only for new names. Thread safety: safe.
class KeptSysctlNumbers {
 public:
  /// Far more names than all sources read. Above this, names are looked up each time.
  static constexpr std::size_t kMaxNames = 65536;

  /// Calls `read(path)` with the MIB of `name`. `look_up(path)` finds it if it is not cached or has become invalid.
  /// Both return 0 or an errno, and so does this function: ENOENT if there is no such sysctl. May throw std::bad_alloc.
  template <typename LookUp, typename Read>
  int read(std::string_view name, LookUp&& look_up, Read&& read) {
    SysctlNumbers path;
    if (find(name, path)) {
      const int failure = read(path);
      if (failure != ENOENT) return failure;
      forget(name);  // gone; a new sysctl may have the same name
    }
    if (const int failure = look_up(path); failure != 0) return failure;
    const int failure = read(path);
    if (failure != ENOENT) keep(name, path);
    return failure;
  }

  [[nodiscard]] std::size_t size() const {
    const MutexLock lock(mutex_);
    return kept_.size();
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
  };

  bool find(std::string_view name, SysctlNumbers& path) const {
    const MutexLock lock(mutex_);
    const auto found = kept_.find(name);
    if (found == kept_.end()) return false;
    path = found->second;
    return true;
  }
  void keep(std::string_view name, const SysctlNumbers& path) {
    const MutexLock lock(mutex_);
    if (kept_.size() < kMaxNames) kept_.insert_or_assign(std::string(name), path);
  }
  void forget(std::string_view name) {
    const MutexLock lock(mutex_);
    if (const auto found = kept_.find(name); found != kept_.end()) kept_.erase(found);
  }

  mutable Mutex mutex_;  // not held during system calls
  std::unordered_map<std::string, SysctlNumbers, Hash, std::equal_to<>> kept_ MEMSTAT_GUARDED_BY(mutex_);
};

}  // namespace memstat
