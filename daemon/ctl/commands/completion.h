// SPDX-License-Identifier: BSD-2-Clause
// Completion of memstatctl's command line in shells.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace memstat::ctl {

inline constexpr std::array<std::string_view, 3> kShells{"bash", "zsh", "fish"};

/// The script that teaches this shell, one of kShells, the commands and their options. It is made of what the parser knows,
/// so it has every option. Throws std::bad_alloc.
std::string completion_script(std::string_view shell);

}  // namespace memstat::ctl
