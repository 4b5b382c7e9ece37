// SPDX-License-Identifier: BSD-2-Clause
// Files that are installed, or built, beside the programs.
#pragma once

#include <string>
#include <string_view>

namespace memstat {

/// The path of a file below the prefix of this installation or build tree, such as "share/memstatd": the running program is
/// in PREFIX/bin. Where the kernel does not name the running program, the usual prefix is assumed.
std::string installed_path(std::string_view below_prefix);

/// The capture for --demo and `memstatctl demo`: a FreeBSD whose zones are full.
inline std::string demo_capture() { return installed_path("share/memstatd/demo.tar.zst"); }

}  // namespace memstat
