// SPDX-License-Identifier: BSD-2-Clause
// CTF: the type information in FreeBSD's kernel file (ctf(5)), in section .SUNW_ctf.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/postmortem/kernel/btf.h"

namespace memstat::postmortem {

/// Converts an untrusted CTF section to BTF, with the same type numbers. Supports version 2 (until FreeBSD 13) and 3,
/// with or without zlib. `file` is for errors: kVersion for other versions, and for compressed types in a build without
/// zlib; kData with the offset of malformed data.
Result<Btf> parse_ctf(std::string_view section, std::string_view file);

}  // namespace memstat::postmortem
