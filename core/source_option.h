// SPDX-License-Identifier: BSD-2-Clause
// A setting specific to one source: declared by the source, read from the configuration.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace memstat {

/// One setting of a source: a key in the configuration, below the source's name or below a top-level key.
struct SourceOption {
  enum class Kind : std::uint8_t {
    kSwitch,    ///< on or off: 1 or 0
    kNumber,    ///< a count
    kBytes,     ///< B; in the configuration with a unit
    kDuration,  ///< ns; in the configuration with a unit
    kPattern,   ///< a regular expression that matches whole names
    kKey        ///< the top-level configuration key of the same name
  };
  std::string_view name;
  Kind kind;
  std::uint64_t default_number = 0;  ///< For all kinds except kPattern and kKey.
  std::uint64_t least = 0;           ///< Range that the configuration accepts.
  std::uint64_t most = ~std::uint64_t{0};
  /// For kPattern: the default; "" means no pattern, not a pattern that matches "". For kKey: the words of an entry that has
  /// none of its own.
  std::string_view default_pattern = {};
  /// For kKey: why the source rejects a word, or "". Returns the same on every machine.
  std::string (*problem_with)(std::string_view word) = nullptr;
  std::string_view section = {};  ///< The top-level key; "": below the source's name.
  std::string_view help = {};     ///< One line: its effect, and the reason for the limits.
};

}  // namespace memstat
