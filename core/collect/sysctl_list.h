// SPDX-License-Identifier: BSD-2-Clause
// Single numbers out of sysctls, many of them at a time: which ones a kernel has is found once, and they are read together
// at every poll. The list is part of the source's state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/collect/file_bundle.h"
#include "core/kernel/kernel_view.h"
#include "core/parse/key_values.h"

namespace memstat {

/// Names in the order in which they are read.
using SysctlList = std::vector<std::string>;

/// Appends `name` to `list` when this kernel has such a sysctl. Errors other than its absence are returned. `scratch` is
/// overwritten.
Result<void> list_sysctl(KernelView& view, std::string_view name, Buffer& scratch, SysctlList& list);

/// Name of the record that ends the bundle of read_listed_sysctls, so that one that was cut short is known as such.
inline constexpr std::string_view kEndOfListedSysctls = "end";

/// Part of a source's state.
struct SysctlListState {
  SysctlList list;          ///< To read; empty until found.
  SysctlList others = {};   ///< Those of the list that are no settings.
  Buffer settings = {};     ///< Their bundle as they were last read; empty: not yet.
  std::uint32_t reads = 0;  ///< Of the list, so far.
  Buffer scratch = {};

  /// Before the list is found again.
  void clear();
};

/// How a list is found, and which of its sysctls are treated differently. Thread safety: safe.
struct SysctlRules {
  Result<void> (*find)(KernelView& view, SysctlListState& state);
  bool (*is_needed)(std::string_view name);   ///< Nothing goes without it. May be called for any name.
  bool (*is_setting)(std::string_view name);  ///< Set at boot or by an administrator, so it seldom changes. The same.
};

/// Writes a bundle of every sysctl of the list, which is found first if it is empty, in its order, then the record
/// kEndOfListedSysctls. Settings are those of the last time where may_leave_out() allows it. A sysctl that is gone by now is
/// left out, unless it is needed, or all are gone: that error is returned, as one of `origin`, and so is any other.
/// Allocates nothing in the steady state.
Result<void> read_listed_sysctls(KernelView& view, std::string_view origin, const SysctlRules& rules, SysctlListState& state,
                                 Buffer& bundle);

/// `error`, which is of one sysctl of many, as one of `origin`: all of them, as the source's descriptor calls them.
Error as_error_of(std::string_view origin, const Error& error);

/// Calls `take(name, bytes)` for each record of such a bundle. kData of `origin`, with the offset, when it gives false (not
/// what such a sysctl holds) and when the bundle ends early.
template <typename Take>
Result<void> for_each_listed_sysctl(std::string_view origin, std::string_view bundle, Take take) {
  FileBundleReader records(bundle);
  std::string_view name;
  std::string_view bytes;
  while (records.next(name, bytes)) {
    if (name == kEndOfListedSysctls) return {};
    if (take(name, bytes)) continue;
    return data_error(origin, static_cast<std::uint64_t>(bytes.data() - bundle.data()),
                      "a sysctl holds something other than a number of 1, 2, 4 or 8 bytes");
  }
  return data_error(origin, bundle.size(), "the data ends early");
}

/// A number as sysctls hold them: an unsigned integer of 1, 2, 4 or 8 bytes in host byte order. Nothing for other sizes.
std::optional<std::uint64_t> sysctl_number(std::string_view bytes);

/// The same of an integer with a sign, which the kernel reads without a lock: what is below 0 is 0.
std::optional<std::uint64_t> sysctl_amount(std::string_view bytes);

/// Fills in the one of `numbers` that is called `name`, if any, as `convert` reads it; of several records of a name the
/// first counts. `cursor` is 0 at first: it makes this quick where records come in the order of the numbers. False when the
/// bytes are no number.
bool take_sysctl(std::string_view name, std::string_view bytes, std::optional<std::uint64_t> (*convert)(std::string_view),
                 std::span<KeyedNumber> numbers, std::size_t& cursor);

}  // namespace memstat
