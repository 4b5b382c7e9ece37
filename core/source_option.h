// SPDX-License-Identifier: BSD-2-Clause
// A setting that one source has for itself: what the source declares and the configuration reads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace memstat {

/// One setting of a source, beside those that every source has: a key below the source's name in the configuration.
/// Thread safety: a plain value; constants in practice.
struct SourceOption {
  enum class Kind : std::uint8_t {
    kSwitch,    ///< on or off: 1 or 0
    kNumber,    ///< a count
    kBytes,     ///< B; in the configuration with a unit
    kDuration,  ///< ns; in the configuration with a unit
    kPattern,   ///< a regular expression over whole names
    kKey        ///< what the key of this name at the top of the configuration says, as the source takes it
  };
  std::string_view name;
  Kind kind;
  std::uint64_t default_number = 0;  ///< Of all kinds but kPattern and kKey.
  std::uint64_t least = 0;           ///< What the configuration may say.
  std::uint64_t most = ~std::uint64_t{0};
  /// Of kPattern; "": none, which is no pattern that matches "". Of kKey: the words of an entry that has none of its own.
  std::string_view default_pattern = {};
  /// Of kKey: why the source cannot take one word of it, "" when it can. Says the same on every machine.
  std::string (*problem_with)(std::string_view word) = nullptr;
  std::string_view help = {};  ///< One line: what it does, and what the least and most are for.
};

}  // namespace memstat
