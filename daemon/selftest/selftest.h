// SPDX-License-Identifier: BSD-2-Clause
// The state of each source: working, missing from this kernel, or without permission. Tested here once, or reported by a
// running memstatd. memstatd --selftest and memstatctl doctor show the same.
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
  kAbsent,        ///< This kernel does not provide it.
  kNoPermission,  ///< It exists, but this account may not read it.
  kNotPermitted,  ///< Like kNoPermission, but no type is lost, so memstatd does not count it as down.
  kFails,         ///< Reading or parsing fails.
  kStuck,         ///< No answer from the kernel in time.
  kOff,           ///< Off in the configuration of a running memstatd.
  kReplaced,      ///< Not read by a running memstatd, because a source that replaces it is up.
  kUnread,        ///< Not read yet by a running memstatd.
};

/// "works", "absent", "no permission", "not permitted", "fails", "stuck", "off", "replaced", "not read yet".
std::string_view to_string(SourceHealth health);

/// The result for one source.
struct SourceTrial {
  std::string source;
  std::string origin;            ///< The kernel interface, for people.
  bool is_on_by_default = true;  ///< False: must be switched on in the configuration.
  SourceHealth health = SourceHealth::kAbsent;
  /// Maximum number of descriptors that it keeps; see SourceDescriptor.
  std::size_t max_files = SourceDescriptor::kFilesVary;
  std::size_t types = 0;    ///< Number of types; 0 also for a source with statistics of the machine only.
  std::string needs = {};   ///< The missing privilege, if known and the cause; otherwise "".
  std::string reason = {};  ///< Why it does not work, on one line; "" if it works.
  std::string advice = {};  ///< A remedy, on one line; "" for none.

  [[nodiscard]] bool is_failure() const;
};

/// All results.
struct SelfTest {
  std::string url = {};      ///< Of the memstatd that was queried; "" if this process tested the sources.
  std::string version = {};  ///< Of that memstatd.
  std::string kernel = {};   ///< "linux 6.1.0"
  std::string account = {};  ///< "root", or "user 1000, not root: ..." with the consequences.
  std::vector<SourceTrial> trials = {};
  std::vector<std::string> mounts = {};  ///< What hides figures, such as a file system that is not mounted, with what to do.
  std::string warning = {};              ///< The clients that cannot reach that memstatd, with a remedy; "" for none.

  /// Whether /proc is one of `mounts`.
  [[nodiscard]] bool lacks_proc() const;

  /// Whether every source of this kernel works or is not permitted, /proc is mounted, and no client is blocked. Sources that
  /// are off by default are reported but do not count.
  [[nodiscard]] bool is_healthy() const;
};

/// Called repeatedly with the name of the source being tested.
using SelfTestProgress = std::function<void(std::string_view source)>;

/// Opens, reads and parses each of `sources` for the view's system. A source that takes longer than `patience` keeps its
/// thread, and thus the view. `user` is the effective user ID; 0 is root. Allocates.
SelfTest run_selftest(const std::shared_ptr<KernelView>& view, std::span<const SourceDescriptor* const> sources,
                      std::chrono::nanoseconds patience, unsigned user, const SelfTestProgress& progress = {});

/// Advice that lets a running memstatd read a source. `needs` is the privilege, "CAP_BPF,CAP_PERFMON" or "root". `opened_as`
/// is the identity with which it opened the kernel's files, "root with all capabilities that memstatd uses".
std::string service_advice(std::string_view needs, std::string_view opened_as);

/// The table for people, followed by the advice.
std::string selftest_text(const SelfTest& test);

/// Tests this machine's kernel with all sources of this program, as the current account. Errors: no view of this kernel.
Result<SelfTest> test_this_machine(const SelfTestProgress& progress = {});

/// What to do if procfs is not mounted, or without the files of the machine; "" if it is, and on systems other than Linux.
std::string missing_proc(KernelView& view);

/// The same for sysfs, with the names of `sources` that lack figures.
std::string missing_sysfs(KernelView& view, std::span<const SourceDescriptor* const> sources);

/// A line for people for each of procfs, sysfs and debugfs that is not mounted: which of `sources` lack figures, and what to
/// do; and one for a partial view. Empty if nothing is missing, if the kernel has no debugfs, if only root may look, and on
/// systems other than Linux. Thread safety: as the view.
std::vector<std::string> missing_mounts(KernelView& view, std::span<const SourceDescriptor* const> sources);

}  // namespace memstat
