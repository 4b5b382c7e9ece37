// SPDX-License-Identifier: BSD-2-Clause
// Reads many numeric sysctls at once. A source finds once which of them the kernel has, and keeps the list in its state.
#pragma once

#include <bitset>
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

using SysctlList = std::vector<std::string>;

/// Name of the last record of a bundle from read_listed_sysctls; without it the bundle was truncated.
inline constexpr std::string_view kEndOfListedSysctls = "end";

struct SysctlListState {
  SysctlList list;          ///< empty: not built yet
  SysctlList others = {};   ///< members of the list that are not settings
  Buffer settings = {};     ///< the bundle of the settings; empty: not read yet
  std::uint32_t reads = 0;  ///< number of reads of the list so far
  Buffer scratch = {};

  /// Forgets everything, before the list is built again.
  void clear();
};

/// Appends `name` to the list if this kernel has the sysctl. Overwrites `state.scratch`. Errors other than kNotPresent empty
/// the list and are attributed to `origin`.
Result<void> list_sysctl(KernelView& view, std::string_view origin, std::string_view name, SysctlListState& state);

/// Builds the list, and determines which sysctls are settings or required. The last two may be called for any name.
struct SysctlRules {
  Result<void> (*find)(KernelView& view, SysctlListState& state);
  bool (*is_needed)(std::string_view name) = [](std::string_view) { return false; };  ///< without it the source fails
  bool (*is_setting)(std::string_view name) = [](std::string_view) {
    return false;
  };  ///< changes at boot or by an administrator
};

/// Writes a bundle of all sysctls in the list, in its order, then the record kEndOfListedSysctls. Builds the list first if
/// it is empty. Repeats the previous settings if may_skip() allows it. Omits a sysctl that has vanished, unless it is
/// required or all have vanished. Returns that error and any other, attributed to `origin`. Does not allocate in the steady
/// state.
Result<void> read_listed_sysctls(KernelView& view, std::string_view origin, const SysctlRules& rules, SysctlListState& state,
                                 Buffer& bundle);

/// Attributes the error of one sysctl to `origin`, the name that the source's descriptor gives to all of them.
Error as_error_of(std::string_view origin, const Error& error);

/// The names of a bundle's records, to find repeated ones. Allocates nothing.
class BundleNames {
 public:
  /// Borrows the bundle.
  explicit BundleNames(std::string_view bundle) : bundle_(bundle) {}

  /// Returns false if an earlier record has the name. `name` is of the next record, and within the bundle.
  bool add(std::string_view name);

 private:
  std::string_view bundle_;
  std::bitset<(std::size_t{1} << 16)> hashes_;
};

/// Calls `take(name, bytes)` for each record up to kEndOfListedSysctls, whatever the names. Error: kData of `origin` with
/// the offset if `take` returns false (invalid content) or the bundle is truncated.
template <typename Take>
Result<void> for_each_sysctl_record(std::string_view origin, std::string_view bundle, Take take) {
  FileBundleReader records(bundle);
  std::string_view name;
  std::string_view bytes;
  while (records.next(name, bytes)) {
    if (name == kEndOfListedSysctls) return {};
    if (take(name, bytes)) continue;
    return data_error(origin, static_cast<std::uint64_t>(bytes.data() - bundle.data()),
                      "a sysctl is repeated, or holds something other than a number of 1, 2, 4 or 8 bytes");
  }
  return data_error(origin, bundle.size(), "the data ends early");
}

/// The same for a bundle from read_listed_sysctls(), which has each name once: rejects repeated ones.
template <typename Take>
Result<void> for_each_listed_sysctl(std::string_view origin, std::string_view bundle, Take take) {
  BundleNames names(bundle);
  return for_each_sysctl_record(
      origin, bundle, [&](std::string_view name, std::string_view bytes) { return names.add(name) && take(name, bytes); });
}

/// An index in a sysctl's name, "0" to `end` - 1. Nothing for other texts, also those with leading zeros.
std::optional<std::uint32_t> sysctl_index(std::string_view text, std::uint32_t end);

/// The unsigned integer of a sysctl: 1, 2, 4 or 8 bytes in host byte order. Nothing for other sizes.
std::optional<std::uint64_t> sysctl_number(std::string_view bytes);

/// The same for a signed integer. The kernel reads it without a lock, so it may be negative; that gives 0.
std::optional<std::uint64_t> sysctl_amount(std::string_view bytes);

/// Sets the member of `numbers` called `name`, if there is one, converted by `convert`. `cursor` starts at 0 and makes
/// lookups fast if records come in the order of the numbers. Returns false if the bytes are not a number.
bool take_sysctl(std::string_view name, std::string_view bytes, std::optional<std::uint64_t> (*convert)(std::string_view),
                 std::span<KeyedNumber> numbers, std::size_t& cursor);

}  // namespace memstat
