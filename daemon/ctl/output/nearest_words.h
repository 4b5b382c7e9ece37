// SPDX-License-Identifier: BSD-2-Clause
// Suggestions for an unknown word.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace memstat::ctl {

/// Suggests the words in `known` that are similar to `word`: "; did you mean dentry or inode_cache?"; "" if none is.
/// Words that contain it are similar. `sentence` follows in either case, and is not a new one if it
/// begins in lower case.
std::string did_you_mean(std::string_view word, std::span<const std::string> known, std::string_view sentence = {});

}  // namespace memstat::ctl
