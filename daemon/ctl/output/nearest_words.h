// SPDX-License-Identifier: BSD-2-Clause
// What a user may have meant by a word that is unknown.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace memstat::ctl {

/// The few of `known` that are nearest to `word`, as "; did you mean dentry or inode_cache?"; "" when none is near. Those
/// that contain the word are near.
std::string did_you_mean(std::string_view word, std::span<const std::string> known);

}  // namespace memstat::ctl
