// SPDX-License-Identifier: BSD-2-Clause
// The notes of an ELF file. Pure; the bytes are untrusted.
#pragma once

#include <string_view>

namespace memstat::postmortem {

/// The content of the first note with this name in a PT_NOTE segment; "" if there is none, or it is out of bounds.
/// Points into `notes`.
std::string_view find_note(std::string_view notes, std::string_view name);

}  // namespace memstat::postmortem
