// SPDX-License-Identifier: BSD-2-Clause
// The small part of YAML that captures are written in, because core links no YAML library: `key: value` lines with plain,
// 'single' or "double" quoted values, folded (`key: >`) and literal (`key: |`) blocks of indented lines, `#` comments; and
// lists of one-line maps, `- {key: value, key: value}`. Anything else is an error, never a guess.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace memstat {

/// One `key: value`. Thread safety: a plain value.
struct YamlPair {
  std::string key;
  std::string value;     ///< Without quotes; of a block, without indentation and the last line end.
  std::size_t line = 0;  ///< Counted from 1; 0: none.
};
using YamlMap = std::vector<YamlPair>;

/// The pair of that key, nullptr when there is none.
const YamlPair* find_pair(const YamlMap& map, std::string_view key);

/// kData, "line N: what is wrong", for a file of a capture.
Error yaml_error(std::string_view file, std::size_t line, std::string_view what);

/// A file of `key: value` lines. Errors: kData with file and line, also for a key that stands twice.
Result<YamlMap> parse_flat_yaml(std::string_view text, std::string_view file);

/// A file of `- {key: value, ...}` lines. Errors: as parse_flat_yaml.
Result<std::vector<YamlMap>> parse_yaml_list(std::string_view text, std::string_view file);

/// `text` as a value that both parsers (and any YAML library) give back unchanged; quoted where needed.
std::string yaml_quote(std::string_view text);

}  // namespace memstat
