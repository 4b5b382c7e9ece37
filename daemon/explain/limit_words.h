// SPDX-License-Identifier: BSD-2-Clause
// Where the limit of a memory type is set, and how the kernel applies it where that is not what its name suggests.
#pragma once

#include <string_view>

namespace memstat {

/// Static.
struct LimitWord {
  std::string_view os;         ///< "linux", "freebsd"
  std::string_view allocator;  ///< "uma"
  std::string_view type;       ///< The name; '*' stands for any characters.
  std::string_view tunable;    ///< "kern.ipc.nmbclusters"
  std::string_view where;      ///< Where it is set: "sysctl", "loader.conf", ...
  std::string_view note;       ///< What else applies, for the end of a line; "" for nothing.
};

/// limit_words.txt, embedded.
std::string_view limit_words_text();

/// nullptr if the type's limit or the system is unknown.
const LimitWord* limit_word(std::string_view os, std::string_view allocator, std::string_view type);

}  // namespace memstat
