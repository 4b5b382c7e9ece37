// SPDX-License-Identifier: BSD-2-Clause
#include "config/key_reader.h"

#include <algorithm>
#include <iterator>

#include "core/base/ascii.h"
#include "core/base/text.h"

namespace memstat {
namespace {

constexpr std::size_t kMaxListItems = 1000;
constexpr std::size_t kMaxProblems = 50;

}  // namespace

std::string describe(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull: return "nothing";
    case YamlNode::Kind::kScalar: return quoted(node.text);
    case YamlNode::Kind::kList: return "a list";
    case YamlNode::Kind::kMap: return "a map";
  }
  return {};
}

std::string join_keys(const std::string& path, std::string_view key) {
  return path.empty() ? shortened(key) : path + "." + shortened(key);
}

std::string nearest_or(std::string_view word, std::span<const std::string_view> known, const std::string& otherwise) {
  const std::string_view nearest = nearest_word(word, known);
  return "; " + (nearest.empty() ? otherwise : "did you mean " + std::string(nearest) + "?");
}

std::string meant_word(std::string_view text, std::string_view yes, std::string_view no) {
  constexpr std::string_view kYes[] = {"true", "yes", "on", "y", "1", "enabled"};
  constexpr std::string_view kNo[] = {"false", "no", "off", "n", "0", "disabled"};
  const std::string low = lower_case(text);
  if (std::find(std::begin(kYes), std::end(kYes), low) != std::end(kYes)) return "write " + std::string(yes);
  if (std::find(std::begin(kNo), std::end(kNo), low) != std::end(kNo)) return "write " + std::string(no);
  return "write " + std::string(yes) + " or " + std::string(no);
}

ConfigProblems KeyReader::problems_of(std::string_view file_name) {
  const auto place = [](const YamlProblem& one) { return std::pair(one.position.line, one.position.column); };
  std::stable_sort(problems_.begin(), problems_.end(),
                   [&place](const YamlProblem& left, const YamlProblem& right) { return place(left) < place(right); });
  if (problems_.size() > kMaxProblems) {
    YamlProblem& last = problems_[kMaxProblems - 1];
    last.text = std::to_string(problems_.size() - kMaxProblems + 1) + " more problems are not shown; correct those above";
    last.key = kYamlFileKey;
    problems_.resize(kMaxProblems);
  }
  ConfigProblems result;
  for (const YamlProblem& problem : problems_) {
    result.lines.push_back(std::string(file_name) + ":" + std::to_string(problem.position.line) + ":" +
                           std::to_string(problem.position.column) + ": " + problem.key + ": " + problem.text);
  }
  return result;
}

bool KeyReader::has_kind(const Node& node, const std::string& path, Node::Kind kind, std::string_view what,
                         const std::string& advice) {
  if (node.kind == kind) return true;
  if (node.kind == Node::Kind::kNull) {
    problem(node, path, "has no value; " + advice + ", or remove the key");
  } else {
    problem(node, path, "must be " + std::string(what) + ", not " + describe(node) + "; " + advice);
  }
  return false;
}

bool KeyReader::is_text(const Node& node, const std::string& path, std::string_view what, std::string_view example) {
  return has_kind(node, path, Node::Kind::kScalar, what, "write " + std::string(example));
}

void KeyReader::read_map(const Node& node, const std::string& path, const std::vector<Key>& keys) {
  std::vector<std::string_view> known;
  for (const Key& key : keys) known.push_back(key.name);
  const std::string choice = listing(known);
  const std::string shown_path = path.empty() ? std::string(kYamlFileKey) : path;
  if (!has_kind(node, shown_path, Node::Kind::kMap, "a map of keys", "write some of its keys (" + choice + ")")) return;
  for_each_key(node, path, [&](const Node& key, const Node& value, const std::string& key_path) {
    for (const Key& candidate : keys) {
      if (candidate.name != key.text) continue;
      written_.emplace(key_path, &value);
      return candidate.read(value, key_path);
    }
    problem(key, key_path, "is not a known key" + nearest_or(key.text, known, "the keys here are " + choice));
  });
}

KeyReader::Reader KeyReader::number(std::uint64_t most, std::string_view example, std::function<void(std::uint64_t)> set) {
  return [=, this, set = std::move(set)](const Node& node, const std::string& path) {
    if (!is_text(node, path, "a whole number", example)) return;
    const auto value = parse_u64(node.text);
    if (!node.is_quoted && value && *value > 0 && *value <= most) return set(*value);
    problem(node, path,
            (node.is_quoted ? "the text " : "") + quoted(node.text) + " is not a whole number from 1 to " +
                std::to_string(most) + "; write one such as " + std::string(example));
  };
}

KeyReader::Reader KeyReader::boolean(bool& place) {
  return [this, &place](const Node& node, const std::string& path) {
    if (!is_text(node, path, "true or false", place ? "true" : "false")) return;
    if (node.is_quoted) {
      return problem(node, path,
                     "the text " + quoted(node.text) + " is not a truth value; write true or false, without quotes");
    }
    if (node.text != "true" && node.text != "false") {
      return problem(node, path, quoted(node.text) + " is not a truth value; " + meant_word(node.text, "true", "false"));
    }
    place = node.text == "true";
  };
}

KeyReader::Reader KeyReader::list(std::string_view what, std::string_view example, Reader read_item) {
  return [=, this, read_item = std::move(read_item)](const Node& node, const std::string& path) {
    if (!has_kind(node, path, Node::Kind::kList, what, "write " + std::string(example))) return;
    if (node.children.size() > kMaxListItems) {
      return problem(
          node, path,
          "has " + std::to_string(node.children.size()) + " entries; write at most " + std::to_string(kMaxListItems));
    }
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      read_item(node.children[i], path + "[" + std::to_string(i) + "]");
    }
  };
}

KeyReader::Reader KeyReader::map(std::vector<Key> keys) {
  return [this, keys = std::move(keys)](const Node& node, const std::string& path) { read_map(node, path, keys); };
}

KeyReader::Reader KeyReader::patterns(std::vector<NamePattern>& place) {
  return list("a list of regular expressions", "[\"kmalloc-.*\"]",
              [this, &place](const Node& node, const std::string& path) {
                NamePattern pattern;
                parsed(NamePattern::compile, pattern, "a regular expression", "\"kmalloc-.*\"")(node, path);
                place.push_back(std::move(pattern));
              });
}

}  // namespace memstat
