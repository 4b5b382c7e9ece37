// SPDX-License-Identifier: BSD-2-Clause
// What works of the sources, what this kernel does not have, and which permission is missing: tried here once, or as a
// running memstatd has it. memstatd --selftest and memstatctl doctor show the same.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/kernel_view.h"
#include "core/source.h"

namespace memstat {

enum class SourceHealth {
  kWorks,
  kAbsent,        ///< This kernel does not have it.
  kNoPermission,  ///< It is there and may not be read by this account.
  kNotPermitted,  ///< As kNoPermission, and no type is lost without it: memstatd does not count it as down.
  kFails,         ///< It can be read, but not understood, or reading fails.
  kStuck,         ///< The kernel did not answer in time.
  kOff,           ///< A running memstatd does not read it, because its configuration says so.
  kSpared,        ///< A running memstatd does not read it, because another source that is up has its types.
  kUnread,        ///< A running memstatd has not read it yet.
};

/// "works", "absent", "no permission", "not permitted", "fails", "stuck", "off", "spared", "not read yet".
std::string_view to_string(SourceHealth health);

/// What was found out about one source. Thread safety: a plain value.
struct SourceTrial {
  std::string source;            ///< Its name.
  std::string origin;            ///< The kernel interface, for people.
  bool is_on_by_default = true;  ///< False: memstatd reads it only where the configuration says so.
  SourceHealth health = SourceHealth::kAbsent;
  /// Descriptors that it keeps at most, as SourceDescriptor has it.
  std::size_t max_files = SourceDescriptor::kFilesVary;
  std::size_t types = 0;  ///< That it named; 0 also for a source that has statistics of the machine only.
  std::string needs;      ///< The privilege that is missing, where that is why and it is known; "" otherwise.
  std::string reason;     ///< Why it does not work, on one line; "" when it does.
  std::string advice;     ///< What to do about it, on one line; "" when there is nothing to do.

  /// Whether it should work and does not.
  [[nodiscard]] bool is_failure() const;
};

/// The outcome of all. Thread safety: a plain value.
struct SelfTest {
  std::string url = {};      ///< Of the memstatd that was asked; "" where this process tried them.
  std::string version = {};  ///< Of that memstatd.
  std::string kernel = {};   ///< "linux 6.1.0"
  std::string account = {};  ///< "root", or "user 1000, not root: ..." with what that means.
  std::vector<SourceTrial> trials = {};
  std::vector<std::string> mounts = {};  ///< File systems that are not mounted, with what to do.
  std::string warning = {};              ///< Which clients cannot reach that memstatd, and what to do; "" for none.

  /// Whether every source that the kernel has works or is not permitted, and no client is kept out; of those that are off by
  /// default only what works or not is said.
  [[nodiscard]] bool is_healthy() const;
};

/// Called with the name of a source again and again while it is tried.
using SelfTestProgress = std::function<void(std::string_view source)>;

/// Opens, reads and parses each of `sources` whose system is that of the view. A source that takes longer than `patience`
/// keeps its thread, and with it the view. `user` is the effective user: 0 is root. Allocates.
SelfTest run_selftest(const std::shared_ptr<KernelView>& view, std::span<const SourceDescriptor* const> sources,
                      std::chrono::nanoseconds patience, unsigned user, const SelfTestProgress& progress = {});

/// What would permit a running memstatd to read a source. `needs`: the privilege, "CAP_BPF,CAP_PERFMON" or "root".
/// `opened_as`: who it was when it opened the kernel's files, "root with all capabilities that memstatd uses".
std::string service_advice(std::string_view needs, std::string_view opened_as);

/// The table for people, with the advice below it.
std::string selftest_text(const SelfTest& test);

/// This machine's kernel and all sources of this program, as the account that we are. Error: no view of this kernel.
Result<SelfTest> test_this_machine(const SelfTestProgress& progress = {});

}  // namespace memstat
