// SPDX-License-Identifier: BSD-2-Clause
// A YAML document as a small tree. Not YAML::Node, which loses duplicate keys and expands aliases.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memstat {

/// The key of a problem that does not belong to a key.
inline constexpr std::string_view kYamlFileKey = "(file)";

/// Line and column, counted from 1.
struct YamlPosition {
  int line = 1;
  int column = 1;
};

/// A problem with a file: "what is wrong; what would be right", and its position.
struct YamlProblem {
  YamlPosition position;
  std::string key;
  std::string text;
};

struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  bool is_quoted = false;          ///< A quoted or block scalar: text, never a number or a boolean.
  std::string text;                ///< For scalars.
  YamlPosition position;           ///< For an absent value: that of its key.
  std::vector<YamlNode> children;  ///< Items of a list; key, value, key, value... of a map.
};

/// Builds the tree of the document `text`. On a fatal problem returns it, with `root` incomplete. `root` stays empty
/// (kNull) for an empty document. Does not throw.
std::optional<YamlProblem> read_yaml_tree(std::string_view text, YamlNode& root);

}  // namespace memstat
