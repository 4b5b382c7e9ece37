// SPDX-License-Identifier: BSD-2-Clause
// Mutexes with clang's thread-safety annotations (-Wthread-safety, an error in the clang build): a member marked
// MEMSTAT_GUARDED_BY cannot be accessed without its mutex. Other compilers ignore the annotations.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define MEMSTAT_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define MEMSTAT_THREAD_SAFETY(attribute)
#endif

/// On a member: reads and writes require this mutex.
#define MEMSTAT_GUARDED_BY(mutex) MEMSTAT_THREAD_SAFETY(guarded_by(mutex))
/// On a function: the caller must hold these mutexes.
#define MEMSTAT_REQUIRES(...) MEMSTAT_THREAD_SAFETY(requires_capability(__VA_ARGS__))
/// On a function: the caller must not hold these mutexes, because the function locks them.
#define MEMSTAT_EXCLUDES(...) MEMSTAT_THREAD_SAFETY(locks_excluded(__VA_ARGS__))

namespace memstat {

/// std::mutex with annotations. Thread safety: safe.
class MEMSTAT_THREAD_SAFETY(capability("mutex")) Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() MEMSTAT_THREAD_SAFETY(acquire_capability()) { mutex_.lock(); }
  void unlock() MEMSTAT_THREAD_SAFETY(release_capability()) { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

/// Holds a mutex until the end of the scope; it may be unlocked and locked again in between. Thread safety: one thread.
class MEMSTAT_THREAD_SAFETY(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) MEMSTAT_THREAD_SAFETY(acquire_capability(mutex)) : mutex_(mutex) { mutex.lock(); }
  ~MutexLock() MEMSTAT_THREAD_SAFETY(release_capability()) {
    if (is_held_) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void unlock() MEMSTAT_THREAD_SAFETY(release_capability()) {
    is_held_ = false;
    mutex_.unlock();
  }
  void lock() MEMSTAT_THREAD_SAFETY(acquire_capability()) {
    mutex_.lock();
    is_held_ = true;
  }

 private:
  Mutex& mutex_;
  bool is_held_ = true;
};

/// std::condition_variable with annotations. A condition that reads guarded members must be annotated, because clang checks
/// a lambda separately: wait(mutex_, [this]() MEMSTAT_REQUIRES(mutex_) { return is_done_; }). A wait without a condition may
/// wake spuriously. Thread safety: safe.
class CondVar {
 public:
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

  void wait(Mutex& mutex) MEMSTAT_REQUIRES(mutex) {
    Held lock(mutex);
    condition_.wait(lock.of);
  }
  template <typename Condition>
  void wait(Mutex& mutex, Condition condition) MEMSTAT_REQUIRES(mutex) {
    Held lock(mutex);
    condition_.wait(lock.of, condition);
  }
  /// False on timeout.
  bool wait_until(Mutex& mutex, std::chrono::steady_clock::time_point due) MEMSTAT_REQUIRES(mutex) {
    Held lock(mutex);
    return condition_.wait_until(lock.of, due) == std::cv_status::no_timeout;
  }
  /// Whether the condition is true.
  template <typename Condition>
  bool wait_until(Mutex& mutex, std::chrono::steady_clock::time_point due, Condition condition) MEMSTAT_REQUIRES(mutex) {
    Held lock(mutex);
    return condition_.wait_until(lock.of, due, condition);
  }
  /// Whether the condition is true.
  template <typename Condition>
  bool wait_for(Mutex& mutex, std::chrono::nanoseconds longest, Condition condition) MEMSTAT_REQUIRES(mutex) {
    Held lock(mutex);
    return condition_.wait_for(lock.of, longest, condition);
  }

 private:
  /// Adapts the caller's locked mutex to std::unique_lock and leaves it locked.
  struct Held {
    explicit Held(Mutex& mutex) : of(mutex.mutex_, std::adopt_lock) {}
    ~Held() { (void)of.release(); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    std::unique_lock<std::mutex> of;
  };

  std::condition_variable condition_;
};

}  // namespace memstat
