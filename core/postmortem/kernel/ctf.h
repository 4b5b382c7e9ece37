// SPDX-License-Identifier: BSD-2-Clause
// CTF: the types that FreeBSD's kernel file has of its kernel (ctf(5)), in section .SUNW_ctf.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/postmortem/kernel/btf.h"

namespace memstat::postmortem {

/// Takes the bytes of the section, which may be any, and makes of them the types as all else here reads them: those of
/// BTF, with the same numbers. Versions 2 (until FreeBSD 13) and 3, packed by zlib or not. `file` is for errors: kVersion
/// for another version, and for packed types in a build without zlib; kData with the offset of what does not fit.
/// Thread safety: safe.
Result<Btf> parse_ctf(std::string_view section, std::string_view file);

}  // namespace memstat::postmortem
