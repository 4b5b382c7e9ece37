// SPDX-License-Identifier: BSD-2-Clause
#include "core/kernel/spared_open.h"

#include <atomic>
#include <cerrno>

#include "core/base/mutex.h"
#include "core/base/spare_files.h"

namespace memstat {
namespace {

/// A poll has a few open at a time, but root may open files beyond the limit, and then as many more must be given up.
constexpr std::size_t kFiles = 32;
// One, because another program may take a second one while this one is read; then twice as many.
constexpr std::size_t kFilesAtOnce = 1;

class Reserve {
 public:
  void fill() {
    const MutexLock lock(mutex_);
    files_.fill();
    is_lent_ = !files_.full();
  }
  bool give(std::size_t count) {
    const MutexLock lock(mutex_);
    is_lent_ = true;
    return files_.give(count);
  }
  [[nodiscard]] bool is_lent() const { return is_lent_; }

 private:
  Mutex mutex_;
  SpareFiles files_ MEMSTAT_GUARDED_BY(mutex_){kFiles};
  std::atomic<bool> is_lent_ = true;  // until it is filled for the first time
};

Reserve& reserve() {
  static Reserve files;
  return files;
}

}  // namespace

int spared_open(const char* path, int flags, int directory) {
  std::size_t wanted_files = kFilesAtOnce;
  while (true) {
    const int opened = ::openat(directory, path, flags, 0);
    if (opened >= 0 || (errno != EINTR && errno != ENFILE)) return opened;
    if (errno == EINTR) continue;
    if (!reserve().give(wanted_files)) {
      errno = ENFILE;
      return -1;
    }
    wanted_files *= 2;  // other programs were faster
  }
}

SpareFilesReturn::~SpareFilesReturn() {
  const int error = errno;
  if (reserve().is_lent()) reserve().fill();
  errno = error;
}

}  // namespace memstat
