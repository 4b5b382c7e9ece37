// SPDX-License-Identifier: BSD-2-Clause
// The dump of a made-up kernel in the other formats of makedumpfile.
#pragma once

#include <cstdint>
#include <string>

#include "tests/support/fake_linux_dump.h"

namespace memstat {

/// How pages are packed, as the dump's page descriptors number it.
enum class PagePacking : std::uint32_t { kNone = 0, kZlib = 1, kLzo = 2, kZstd = 0x20 };

/// The whole dump, compressed in format 6; without empty pages if `has_holes`.
std::string compressed_dump(const FakeLinuxDump& dump, PagePacking packing, bool has_holes = false);

}  // namespace memstat
