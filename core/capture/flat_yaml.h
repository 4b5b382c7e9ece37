// SPDX-License-Identifier: BSD-2-Clause
// The subset of YAML that captures use, because core links no YAML library: `key: value` lines with plain, 'single' or
// "double" quoted values, folded (`key: >`) and literal (`key: |`) blocks of indented lines, and `#` comments; and lists of
// one-line maps, `- {key: value, key: value}`. Anything else is an error, never a guess.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace memstat {

/// One `key: value`.
struct YamlPair {
  std::string key;
  std::string value;     ///< Without quotes. A block is without indentation and final newline.
  std::size_t line = 0;  ///< From 1; 0: none.
};
using YamlMap = std::vector<YamlPair>;

const YamlPair* find_pair(const YamlMap& map, std::string_view key);

/// Makes a kData error, "line N: what is wrong", for a capture's file.
Error yaml_error(std::string_view file, std::size_t line, std::string_view what);

/// Parses a file of `key: value` lines. Errors: kData with file and line, also for a duplicate key.
Result<YamlMap> parse_flat_yaml(std::string_view text, std::string_view file);

/// Parses a file of `- {key: value, ...}` lines. Errors: as parse_flat_yaml.
Result<std::vector<YamlMap>> parse_yaml_list(std::string_view text, std::string_view file);

/// Formats `text` so that both parsers, and any YAML library, read it back unchanged. Quotes it if needed.
std::string yaml_quote(std::string_view text);

}  // namespace memstat
