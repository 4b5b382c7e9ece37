// SPDX-License-Identifier: BSD-2-Clause
// One YAML document as a small tree of our own, because YAML::Node loses duplicate keys and expands aliases.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memstat {

/// What a problem is said to be about when it is no key.
inline constexpr std::string_view kYamlFileKey = "(file)";

/// Line and column from 1.
struct YamlPosition {
  int line = 1;
  int column = 1;
};

/// Something wrong with a file: "what is wrong; what would be right", and where.
struct YamlProblem {
  YamlPosition position;
  std::string key;
  std::string text;
};

struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  bool is_quoted = false;          ///< A scalar in quotes or a block scalar: text, never a number or a boolean.
  std::string text;                ///< Of a scalar.
  YamlPosition position;           ///< Of nothing: where its key stands.
  std::vector<YamlNode> children;  ///< Of a list its items; of a map key, value, key, value...
};

/// Makes the tree of the document `text`; a problem for what makes going on pointless, and then `root` is not whole.
/// `root` stays empty (kNull) for a file that says nothing. Does not throw.
std::optional<YamlProblem> read_yaml_tree(std::string_view text, YamlNode& root);

}  // namespace memstat
