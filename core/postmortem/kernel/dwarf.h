// SPDX-License-Identifier: BSD-2-Clause
// DWARF: the types that a debugger knows of a kernel (dwarfstd.org, versions 2 to 5), in the sections .debug_* of a kernel
// file such as FreeBSD's kernel.debug. Only structs that are asked for are taken out of it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/postmortem/kernel/btf.h"

namespace memstat::postmortem {

/// The sections. Thread safety: a plain value.
struct DwarfSections {
  std::uint64_t info_bytes = 0;  ///< .debug_info, which is read unit by unit: 80 MB of FreeBSD 15's kernel.
  /// Exactly `size` bytes of it at `offset`, which lie within.
  std::function<Result<std::string>(std::uint64_t offset, std::uint64_t size)> read_info;
  std::string abbreviations;   ///< .debug_abbrev
  std::string strings;         ///< .debug_str
  std::string line_strings;    ///< .debug_line_str; "" before version 5.
  std::string string_offsets;  ///< .debug_str_offsets; "" before version 5.
};

/// Which structs are wanted. Thread safety: a plain value.
struct WantedTypes {
  std::span<const std::string_view> structs;  ///< By name.
  std::span<const std::string_view> members;  ///< Structs without a name that have such a member.
};

/// Makes of them, and of the types of their members, the types as all else here reads them: those of BTF. What pointers
/// point to, bit fields and constants of enums are left out. A struct that is not there is left out, too. `file` is for
/// errors: kVersion for another version or form, kData with the offset of what does not fit, those of read_info.
/// Thread safety: safe.
Result<Btf> parse_dwarf(const DwarfSections& sections, const WantedTypes& wanted, std::string_view file);

}  // namespace memstat::postmortem
