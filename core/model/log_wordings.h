// SPDX-License-Identifier: BSD-2-Clause
// The wordings by which kernels report memory that could not be had, with the releases that have them. Data: what the events
// mean is in core/model/kernel_log.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/model/kernel_log.h"

namespace memstat {

/// Where a wording begins. Kernels print the name of a program or device first in some lines.
enum class WordingPlace : std::uint8_t { kLineStart, kBehindName };

struct LogWording {
  LogEvent event;
  std::string_view prefix;
  std::string_view inside = {};    ///< follows somewhere behind the prefix
  std::string_view end = {};       ///< ends the line
  std::string_view releases = {};  ///< "to 6.8", "5.1 on"; "": all that are supported
  WordingPlace place = WordingPlace::kLineStart;
};

/// Of Linux 2.6.32 to 6.18. The first match counts.
std::span<const LogWording> linux_wordings();
/// Of printf(9) in FreeBSD 10 to 15.
std::span<const LogWording> freebsd_wordings();

/// Matches a line that begins with the prefix, or has it behind a name.
bool is_like(std::string_view line, const LogWording& wording);

/// Maximum length of the name of a program or device, colon and blank before a message.
inline constexpr std::size_t kMaxNameBefore = 4 * 15 + 2;  // a byte may be written as \xNN
/// Finds a text behind a name. The first match counts, since a name is too short to contain one.
std::size_t place_behind_name(std::string_view line, std::string_view text);

/// Whether a line that no wording matches says that memory could not be had. Users choose names of programs, so such a line
/// is shown, but proves nothing.
bool may_be_refusal(std::string_view line);

}  // namespace memstat
