// SPDX-License-Identifier: BSD-2-Clause
// A kernel view that misbehaves on demand, around any other view: the Nth call fails, results are replaced, calls hang.
#pragma once

#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/kernel/forwarding_view.h"

namespace memstat {

/// Every call of a reading function, of keep_open and open_table counts, from 1. `inner` must outlive the view.
/// Thread safety: safe, faults may be set while reads are under way.
class FaultyKernelView final : public ForwardingKernelView {
 public:
  using ForwardingKernelView::ForwardingKernelView;

  /// Calls so far, since the last reset_calls().
  [[nodiscard]] std::size_t call_count() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  void reset_calls() {
    const std::lock_guard lock(mutex_);
    calls_ = 0;
  }

  /// Call number `nth` fails with `system_errno`; later ones work again.
  void fail_call(std::size_t nth, int system_errno) { set_failure(nth, nth, system_errno); }
  /// Call number `nth` and all after it fail.
  void fail_from(std::size_t nth, int system_errno) {
    set_failure(nth, std::numeric_limits<std::size_t>::max(), system_errno);
  }
  /// read_file or read_sysctl of `name` returns `bytes` without calling the inner view.
  void replace(const std::string& name, std::string bytes) {
    const std::lock_guard lock(mutex_);
    replaced_[name] = std::move(bytes);
  }
  /// Every call about `name` fails.
  void fail_name(const std::string& name, int system_errno) {
    const std::lock_guard lock(mutex_);
    failed_names_[name] = system_errno;
  }
  /// cpu_count() returns `count`: a CPU was added or removed.
  void set_cpu_count(std::uint32_t count) {
    const std::lock_guard lock(mutex_);
    cpu_count_ = count;
  }
  /// Forgets all faults above, but not blocked calls.
  void clear_faults() {
    const std::lock_guard lock(mutex_);
    first_failing_ = last_failing_ = 0;
    replaced_.clear();
    failed_names_.clear();
    cpu_count_.reset();
  }

  /// The next call about `name` hangs until release(), and then continues.
  void block_next(const std::string& name) {
    const std::lock_guard lock(mutex_);
    block_name_ = name;
    released_ = false;
  }
  /// Waits until a call hangs.
  void wait_until_blocked() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return blocked_ > 0; });
  }
  /// Lets every hanging call continue, and forgets a block that no call has reached.
  void release() {
    const std::lock_guard lock(mutex_);
    released_ = true;
    block_name_.reset();
    changed_.notify_all();
  }

  [[nodiscard]] std::uint32_t cpu_count() const override {
    const std::lock_guard lock(mutex_);
    return cpu_count_ ? *cpu_count_ : inner_.cpu_count();
  }
  Result<void> read_file(std::string_view path, Buffer& out) override {
    return read(path, out, [&] { return inner_.read_file(path, out); });
  }
  Result<void> read_sysctl(std::string_view name, Buffer& out, std::size_t size_hint) override {
    return read(name, out, [&] { return inner_.read_sysctl(name, out, size_hint); });
  }
  Result<std::string> read_link(std::string_view path) override {
    if (auto entered = enter(path); !entered) return entered.error();
    return inner_.read_link(path);
  }
  Result<void> list_directory(std::string_view path, std::vector<std::string>& names) override {
    if (auto entered = enter(path); !entered) return entered;
    return inner_.list_directory(path, names);
  }
  /// Each listing of a directory is a call, as list_directory counts it.
  Result<void> list_directories(std::string_view path, Buffer& names) override {
    return KernelView::list_directories(path, names);
  }
  Result<void> list_sysctls(std::string_view prefix, std::vector<std::string>& names) override {
    if (auto entered = enter(prefix); !entered) return entered;
    return inner_.list_sysctls(prefix, names);
  }
  Result<void> open_table(std::string_view source, TextTableSource& table) override {
    if (auto entered = enter(source); !entered) return entered;
    return inner_.open_table(source, table);
  }
  Result<void> read_table(std::string_view source, TextTableSource& table, Buffer& out) override {
    return read(source, out, [&] { return inner_.read_table(source, table, out); });
  }
  Result<void> keep_open(std::string_view path) override {
    if (auto entered = enter(path); !entered) return entered;
    {
      const std::lock_guard lock(mutex_);
      if (replaced_.find(path) != replaced_.end()) return {};
    }
    return inner_.keep_open(path);
  }

 private:
  void set_failure(std::size_t first, std::size_t last, int system_errno) {
    const std::lock_guard lock(mutex_);
    first_failing_ = first;
    last_failing_ = last;
    failure_ = system_errno;
  }

  Result<void> enter(std::string_view name) {
    std::unique_lock lock(mutex_);
    const std::size_t number = ++calls_;
    if (block_name_ && *block_name_ == name) {
      block_name_.reset();
      ++blocked_;
      changed_.notify_all();
      changed_.wait(lock, [this] { return released_; });
      --blocked_;
    }
    if (number >= first_failing_ && number <= last_failing_) return system_error(name, failure_, "made to fail by a test");
    const auto failed = failed_names_.find(name);
    if (failed != failed_names_.end()) return system_error(name, failed->second, "made to fail by a test");
    return {};
  }

  template <typename Inner>
  Result<void> read(std::string_view name, Buffer& out, Inner inner) {
    if (auto entered = enter(name); !entered) return entered;
    {
      const std::lock_guard lock(mutex_);
      if (const auto replaced = replaced_.find(name); replaced != replaced_.end()) {
        out.assign(replaced->second);
        return {};
      }
    }
    return inner();
  }

  mutable std::mutex mutex_;  // guards everything below
  std::condition_variable changed_;
  std::size_t calls_ = 0;
  std::size_t first_failing_ = 0;
  std::size_t last_failing_ = 0;
  int failure_ = 0;
  std::map<std::string, std::string, std::less<>> replaced_;
  std::map<std::string, int, std::less<>> failed_names_;
  std::optional<std::uint32_t> cpu_count_;
  std::optional<std::string> block_name_;
  bool released_ = false;
  int blocked_ = 0;
};

}  // namespace memstat
