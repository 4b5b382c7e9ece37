// SPDX-License-Identifier: BSD-2-Clause
// Reads values of a configuration file from its tree by tables of keys, and collects all problems with their places.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/loader.h"
#include "config/values.h"
#include "config/yaml_tree.h"

namespace memstat {

/// The node in words: its text in quotes, or "a list".
std::string describe(const YamlNode& node);
/// The path of a key below `path`.
std::string join_keys(const std::string& path, std::string_view key);
/// "; did you mean X?", or "; " and what else to do when no known word is near.
std::string nearest_or(std::string_view word, std::span<const std::string_view> known, const std::string& otherwise);
/// "write true", when the text is another word for it (yes, on, 1); otherwise "write true or false".
std::string meant_word(std::string_view text, std::string_view yes, std::string_view no);

/// The base of a reader of one file. Its functions that return a Reader make one that puts the value of a key or item into a
/// place, or adds a problem; the place must outlive it.
class KeyReader {
 public:
  void add(YamlProblem problem) { problems_.push_back(std::move(problem)); }
  /// All problems in the order of the file, at most 50; empty: there are none.
  [[nodiscard]] ConfigProblems problems_of(std::string_view file_name);

 protected:
  using Node = YamlNode;
  /// Reads the value of a key or item into its place, or adds a problem.
  using Reader = std::function<void(const Node& node, const std::string& path)>;
  struct Key {
    std::string_view name;
    Reader read;
  };

  void problem(const Node& node, const std::string& path, std::string text) {
    problems_.push_back({node.position, path, std::move(text)});
  }
  bool has_kind(const Node& node, const std::string& path, Node::Kind kind, std::string_view what,
                const std::string& advice);
  bool is_text(const Node& node, const std::string& path, std::string_view what, std::string_view example);
  /// Calls `visit(key, value, path)` for each key of a map that is a word and not a duplicate.
  template <typename Visit>
  void for_each_key(const Node& map, const std::string& path, Visit visit) {
    std::map<std::string_view, int> first_lines;
    for (std::size_t i = 0; i + 1 < map.children.size(); i += 2) {
      const Node& key = map.children[i];
      if (key.kind != Node::Kind::kScalar) {
        problem(key, path.empty() ? std::string(kYamlFileKey) : path, "has " + describe(key) + " as a key; write a word");
        continue;
      }
      const std::string key_path = join_keys(path, key.text);
      const auto [first, is_new] = first_lines.emplace(key.text, key.position.line);
      if (!is_new) {
        problem(key, key_path, "appears twice, first in line " + std::to_string(first->second) + "; keep one of the two");
        continue;
      }
      visit(key, map.children[i + 1], key_path);
    }
  }
  void read_map(const Node& node, const std::string& path, const std::vector<Key>& keys);

  /// A scalar read by one of the parsers in values.h.
  template <typename T, typename Place>
  Reader parsed(Result<T> (*parse)(std::string_view), Place& place, std::string_view what, std::string_view example) {
    return [=, this, &place](const Node& node, const std::string& path) {
      if (!is_text(node, path, what, example)) return;
      auto value = parse(node.text);
      if (value) {
        place = std::move(*value);
      } else {
        problem(node, path, value.error().detail);
      }
    };
  }

  template <typename Place>
  Reader duration(Place& place, std::chrono::nanoseconds least, std::chrono::nanoseconds most, std::string_view example) {
    return [=, this, &place](const Node& node, const std::string& path) {
      std::chrono::nanoseconds value(-1);
      parsed(parse_duration, value, "a duration", example)(node, path);
      if (value < std::chrono::nanoseconds(0)) return;
      if (value < least) problem(node, path, quoted(node.text) + " is too short; write at least " + duration_text(least));
      if (value > most) problem(node, path, quoted(node.text) + " is too long; write at most " + duration_text(most));
      place = value;
    };
  }

  template <typename Place>
  Reader size(Place& place, std::string_view example) {
    return [=, this, &place](const Node& node, const std::string& path) {
      std::optional<std::uint64_t> value;
      parsed(parse_size, value, "a size", example)(node, path);
      if (value == 0U)
        problem(node, path, quoted(node.text) + " leaves no room; write a size above 0, such as " + std::string(example));
      if (value) place = *value;
    };
  }

  Reader number(std::uint64_t most, std::string_view example, std::function<void(std::uint64_t)> set);
  Reader boolean(bool& place);
  Reader list(std::string_view what, std::string_view example, Reader read_item);
  Reader map(std::vector<Key> keys);
  Reader patterns(std::vector<NamePattern>& place);

  [[nodiscard]] std::size_t problem_count() const { return problems_.size(); }
  /// The value of a key in the file by its path; nullptr: the file does not have it.
  [[nodiscard]] const Node* written(const std::string& path) const {
    const auto found = written_.find(path);
    return found == written_.end() ? nullptr : found->second;
  }

 private:
  std::map<std::string, const Node*> written_;  // in the tree
  std::vector<YamlProblem> problems_;
};

}  // namespace memstat
