// SPDX-License-Identifier: BSD-2-Clause
#include "core/kernel/once_per_poll.h"

#include <algorithm>
#include <array>
#include <new>

namespace memstat {
namespace {

constexpr std::array<std::string_view, 10> kSharedFiles = {"/proc/buddyinfo",
                                                           "/proc/meminfo",
                                                           "/proc/net/netstat",
                                                           "/proc/net/sockstat",
                                                           "/proc/slabinfo",
                                                           "/proc/stat",
                                                           "/proc/sys/vm/overcommit_memory",
                                                           "/proc/vmstat",
                                                           "/proc/zoneinfo",
                                                           "/sys/kernel/debug/zswap/pool_total_size"};
constexpr std::string_view kAreas = "/sys/kernel/mm/cma/";
constexpr std::string_view kNodes = "/sys/devices/system/node/node";
constexpr std::array<std::string_view, 3> kSharedFilesOfNode = {"/meminfo", "/numastat", "/vmstat"};

constexpr std::array<std::string_view, 6> kSharedSysctls = {
    "kern.smp.maxid",    "vfs.bufspace",  "vm.stats.vm.v_user_wire_count",
    "vm.uma_kmem_total", "vm.zone_count", "vm.zone_stats"};

}  // namespace

bool is_shared_sysctl(std::string_view name) {
  return std::find(kSharedSysctls.begin(), kSharedSysctls.end(), name) != kSharedSysctls.end();
}

bool is_shared_file(std::string_view path) {
  if (path.starts_with(kNodes)) {
    return std::any_of(kSharedFilesOfNode.begin(), kSharedFilesOfNode.end(),
                       [path](std::string_view name) { return path.ends_with(name); });
  }
  if (path.starts_with(kAreas)) return true;
  return std::find(kSharedFiles.begin(), kSharedFiles.end(), path) != kSharedFiles.end();
}

void OncePerPollView::begin_poll() {
  const MutexLock lock(mutex_);
  ++poll_;
  is_in_poll_ = true;
}

void OncePerPollView::end_poll() {
  const MutexLock lock(mutex_);
  is_in_poll_ = false;
}

void OncePerPollView::shrink() {
  const MutexLock lock(mutex_);
  files_.clear();
}

Result<void> OncePerPollView::read_file(std::string_view path, Buffer& out) {
  if (!is_shared_file(path)) return inner_.read_file(path, out);
  return read_once(path, out, [&] { return inner_.read_file(path, out); });
}

Result<void> OncePerPollView::read_sysctl(std::string_view name, Buffer& out, std::size_t size_hint) {
  if (!is_shared_sysctl(name)) return inner_.read_sysctl(name, out, size_hint);
  return read_once(name, out, [&] { return inner_.read_sysctl(name, out, size_hint); });
}

// Requests consecutive names together, up to the next one that this poll has read already.
void OncePerPollView::read_numbers(std::span<const std::string> names, Buffer& scratch, const TakeNumber& take) {
  std::uint64_t poll = 0;  // 0: outside of polls
  bool goes_on = true;
  const auto take_and_keep = [&](std::string_view name, const Result<std::string_view>& bytes) {
    if (poll != 0 && is_shared_sysctl(name)) {
      keep(name, poll, bytes ? *bytes : std::string_view(), bytes ? Result<void>() : Result<void>(bytes.error()));
    }
    return goes_on = take(name, bytes);
  };
  const TakeNumber without_a_copy = std::ref(take_and_keep);
  while (goes_on && !names.empty()) {
    poll = current_poll();
    const auto known =
        std::find_if(names.begin(), names.end(), [&](const std::string& name) { return has_result(name, poll); });
    const auto before = static_cast<std::size_t>(known - names.begin());
    if (before == 0) {
      KernelView::read_numbers(names.first(1), scratch, without_a_copy);
    } else {
      inner_.read_numbers(names.first(before), scratch, without_a_copy);
    }
    names = names.subspan(std::max<std::size_t>(before, 1));
  }
}

std::uint64_t OncePerPollView::current_poll() const {
  const MutexLock lock(mutex_);
  return is_in_poll_ ? poll_ : 0;
}

bool OncePerPollView::has_result(std::string_view name, std::uint64_t poll) const {
  if (poll == 0 || !is_shared_sysctl(name)) return false;
  const MutexLock lock(mutex_);
  const auto found = files_.find(name);
  return found != files_.end() && found->second.poll == poll;
}

template <typename Read>
Result<void> OncePerPollView::read_once(std::string_view path, Buffer& out, Read read) {
  std::uint64_t poll = 0;
  {
    const MutexLock lock(mutex_);
    if (is_in_poll_) {
      poll = poll_;
      if (const auto found = files_.find(path); found != files_.end() && found->second.poll == poll) {
        out.assign(found->second.bytes.view());
        return found->second.result;
      }
    }
  }
  Result<void> result = read();
  if (poll != 0) keep(path, poll, out.view(), result);
  return result;
}

void OncePerPollView::keep(std::string_view path, std::uint64_t poll, std::string_view bytes, const Result<void>& result) {
  try {
    const MutexLock lock(mutex_);
    if (!is_in_poll_ || poll != poll_) return;  // the read was blocked until its poll was over
    auto found = files_.find(path);
    if (found == files_.end()) found = files_.try_emplace(std::string(path)).first;
    SharedResult& file = found->second;
    if (file.poll == poll) return;  // another thread was faster, and a caller may have its bytes
    file.bytes.assign(result ? bytes : std::string_view());
    file.result = result;
    file.poll = poll;
  } catch (const std::bad_alloc&) {  // the next source reads the file itself
  }
}

}  // namespace memstat
