// SPDX-License-Identifier: BSD-2-Clause
// A kernel in memory. A test may change its files and sysctls, or make them fail or hang, even while another thread reads
// them.
#pragma once

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/kernel_view.h"

namespace memstat {

/// Waits until `condition` holds; false if it does not within a minute.
template <typename Condition>
bool eventually(Condition condition) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  std::mutex mutex;
  std::condition_variable never;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::unique_lock lock(mutex);
    never.wait_for(lock, std::chrono::milliseconds(1));
  }
  return true;
}

/// Paths and sysctl names are one namespace here: "/proc/slabinfo", "vm.zone_stats". Thread safety: safe.
class FakeKernelView final : public KernelView {
 public:
  explicit FakeKernelView(OperatingSystem system, std::uint32_t cpus = 1) : os_(system), cpu_count_(cpus) {}

  /// From now on a read of `path` returns these bytes.
  void set(std::string_view path, std::string bytes) {
    const std::lock_guard lock(mutex_);
    contents_[std::string(path)] = std::move(bytes);
    failures_.erase(std::string(path));
  }
  /// From now on it fails with this errno.
  void fail(std::string_view path, int system_errno) {
    const std::lock_guard lock(mutex_);
    failures_[std::string(path)] = system_errno;
  }
  /// From now on it throws std::runtime_error, as a broken source might.
  void make_throw(std::string_view path) {
    const std::lock_guard lock(mutex_);
    throwing_.insert(std::string(path));
  }
  /// From now on a read of `path` does not return until release().
  void block(std::string_view path) {
    const std::lock_guard lock(mutex_);
    blocked_.insert(std::string(path));
  }
  void release(std::string_view path) {
    {
      const std::lock_guard lock(mutex_);
      blocked_.erase(std::string(path));
    }
    changed_.notify_all();
  }
  /// Returns once a read of `path` hangs.
  void wait_until_hanging(std::string_view path) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return hanging_.contains(path); });
  }
  [[nodiscard]] bool is_hanging(std::string_view path) const {
    const std::lock_guard lock(mutex_);
    return hanging_.contains(path);
  }
  /// The number of reads, successful or not.
  [[nodiscard]] int reads_of(std::string_view path) const {
    const std::lock_guard lock(mutex_);
    const auto found = reads_.find(path);
    return found == reads_.end() ? 0 : found->second;
  }

  /// What wants_whole_polls() returns from now on.
  void set_recorded(bool is_recorded) { is_recorded_ = is_recorded; }

  /// What reads_this_machine() returns from now on.
  void set_live(bool is_live) { is_live_ = is_live; }
  /// Instead of the system's. Must outlive this object.
  void set_clock(const Clock& clock) { clock_ = &clock; }
  [[nodiscard]] const Clock& clock() const override { return *clock_; }

  [[nodiscard]] bool wants_whole_polls() const override { return is_recorded_; }
  [[nodiscard]] bool reads_this_machine() const override { return is_live_; }
  [[nodiscard]] OperatingSystem os() const override { return os_; }
  [[nodiscard]] std::uint64_t page_size() const override { return 4096; }
  [[nodiscard]] std::uint32_t cpu_count() const override { return cpu_count_; }
  Result<void> read_file(std::string_view path, Buffer& out) override { return serve(path, out); }
  Result<void> read_sysctl(std::string_view name, Buffer& out, std::size_t) override { return serve(name, out); }
  // The log, the mounts and the namespaces of the test's machine are not this kernel's.
  Result<void> open_table(std::string_view source, TextTableSource& table) override {
    return is_of_machine(source) ? KernelView::open_table(source, table) : table.open();
  }
  Result<void> read_table(std::string_view source, TextTableSource& table, Buffer& out) override {
    return is_of_machine(source) ? KernelView::read_table(source, table, out) : table.read(out);
  }
  Result<void> keep_open(std::string_view path) override {
    const std::lock_guard lock(mutex_);
    if (const auto failure = failures_.find(path); failure != failures_.end()) return system_error(path, failure->second);
    return contents_.contains(path) ? Result<void>() : system_error(path, ENOENT);
  }

 private:
  static bool is_of_machine(std::string_view table) {
    return table.ends_with("_log") || table == "linux_tmpfs" || table == "linux_view";
  }
  Result<void> serve(std::string_view path, Buffer& out) {
    std::unique_lock lock(mutex_);
    ++reads_[std::string(path)];
    if (blocked_.contains(path)) {
      hanging_.insert(std::string(path));
      changed_.notify_all();
      changed_.wait(lock, [&] { return !blocked_.contains(path); });
      hanging_.erase(std::string(path));
    }
    if (throwing_.contains(path)) throw std::runtime_error("the fake kernel throws");
    if (const auto failure = failures_.find(path); failure != failures_.end()) return system_error(path, failure->second);
    const auto found = contents_.find(path);
    if (found == contents_.end()) return system_error(path, ENOENT);
    out.assign(found->second);
    return {};
  }

  OperatingSystem os_;
  std::uint32_t cpu_count_;
  std::atomic<bool> is_recorded_ = false;
  const Clock* clock_ = &system_clock();
  std::atomic<bool> is_live_ = false;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // All guarded by mutex_.
  std::map<std::string, std::string, std::less<>> contents_;
  std::map<std::string, int, std::less<>> failures_;
  std::set<std::string, std::less<>> throwing_;
  std::set<std::string, std::less<>> blocked_;
  std::set<std::string, std::less<>> hanging_;
  std::map<std::string, int, std::less<>> reads_;
};

}  // namespace memstat
