// SPDX-License-Identifier: BSD-2-Clause
// FreeBSD's statistics streams (kern.malloc_stats, vm.zone_stats) and the integers that give their size.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/text.h"
#include "core/kernel/kernel_view.h"
#include "core/parse/uma_record.h"

namespace memstat {

/// Reads a sysctl of type int or u_int (4 bytes). Overwrites `scratch`. Errors: those of KernelView::read_sysctl; kData for
/// another size.
inline Result<std::uint32_t> read_sysctl_u32(KernelView& view, std::string_view name, Buffer& scratch) {
  if (auto result = view.read_sysctl(name, scratch, sizeof(std::uint32_t)); !result) return result.error();
  if (scratch.size() != sizeof(std::uint32_t)) {
    return data_error(name, scratch.size(), "has " + std::to_string(scratch.size()) + " bytes where an integer has 4");
  }
  return load<std::uint32_t>(scratch.view(), 0);
}

/// A stream, and the sysctls from which its size follows.
struct SysctlStream {
  std::string_view name;
  std::string_view count;     ///< number of records
  std::string_view cpus;      ///< number of blocks per record, or one less, see cpus_is_highest
  bool cpus_is_highest;       ///< `cpus` is the highest CPU number, not the number of CPUs
  std::size_t record_header;  ///< bytes of a record before its blocks of 64 bytes
};
inline constexpr SysctlStream kMallocStream{"kern.malloc_stats", "kern.malloc_count", "kern.smp.maxcpus", false, 32};
inline constexpr SysctlStream kZoneStream{"vm.zone_stats", "vm.zone_count", "kern.smp.maxid", true, UmaRecord::kSize};

/// Reads the stream into `out`, with room for one record more than the kernel counts. A request for the size would make the
/// kernel walk everything twice under the lock of its list, so it is made only if the counts are missing. `size`: bytes of
/// the stream at the previous read, 0 before the first; on a live kernel it replaces the counts. Overwrites `scratch`.
/// Errors: those of KernelView::read_sysctl for the stream itself.
inline Result<void> read_sysctl_stream(KernelView& view, const SysctlStream& stream, std::size_t& size, Buffer& out,
                                       Buffer& scratch) {
  constexpr std::uint64_t kMaxRoom = std::uint64_t{1} << 30;
  constexpr std::uint32_t kMaxCpus = 65536;  // above every kernel's maximum; keeps the product from overflowing
  constexpr std::size_t kLikelyGrowth = 64;  // new types come with modules, so a 64th usually suffices
  std::uint64_t room = std::uint64_t{size} + size / kLikelyGrowth;
  if (size == 0 || !view.reads_this_machine() || view.wants_whole_polls()) {
    room = size;
    const auto cpus = read_sysctl_u32(view, stream.cpus, scratch);
    const auto count = read_sysctl_u32(view, stream.count, scratch);
    if (cpus && count) {
      const std::uint64_t record =
          stream.record_header + 64 * (std::uint64_t{std::min(*cpus, kMaxCpus)} + (stream.cpus_is_highest ? 1 : 0));
      room = std::max(room, std::min((std::uint64_t{*count} + 1) * record, kMaxRoom));
    }
  }
  auto result = view.read_sysctl(stream.name, out, static_cast<std::size_t>(room));
  size = result ? out.size() : 0;
  return result;
}

}  // namespace memstat
