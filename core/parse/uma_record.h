// SPDX-License-Identifier: BSD-2-Clause
// A record of the sysctl vm.zone_stats: offsets in struct uma_type_header of FreeBSD's sys/vm/uma.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memstat {

struct UmaRecord {
  static constexpr std::size_t kAlignAt = 32;
  static constexpr std::size_t kSizeAt = 36;
  static constexpr std::size_t kRSizeAt = 40;
  static constexpr std::size_t kMaxPagesAt = 44;
  static constexpr std::size_t kLimitAt = 48;
  static constexpr std::size_t kPagesAt = 52;
  static constexpr std::size_t kKegFreeAt = 56;
  static constexpr std::size_t kZoneFreeAt = 60;
  static constexpr std::size_t kFlagsAt = 68;
  static constexpr std::size_t kAllocsAt = 72;
  static constexpr std::size_t kFreesAt = 80;
  static constexpr std::size_t kFailsAt = 88;
  static constexpr std::size_t kSleepsAt = 96;
  static constexpr std::size_t kXDomainAt = 104;
  static constexpr std::size_t kSize = 120;
  static constexpr std::uint32_t kSecondaryFlag = 1;  // in the flags: the zone shares another zone's keg
};

}  // namespace memstat
