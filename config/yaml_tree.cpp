// SPDX-License-Identifier: BSD-2-Clause
#include "config/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>
#include <sstream>
#include <utility>

#include "config/loader.h"
#include "core/base/text.h"

namespace memstat {
namespace {

constexpr std::size_t kMaxDepth = 64;  // the deepest key needs 3
constexpr std::size_t kMaxYamlNodes = 20000;
// Maximum number of indicator characters. The parser keeps all tokens of a line, or of a bracketed list, at 150 bytes
// each, before it returns the first. A list of kMaxYamlNodes values has one indicator for each.
constexpr std::size_t kMaxIndicators = 3 * kMaxYamlNodes;

constexpr std::string_view kNoAnchors = "uses a YAML anchor or alias (& or *); write the value itself, or quote it";

std::string not_yaml(const std::string& why) {
  return "is not valid YAML: " + why + "; check indentation (spaces, no tabs), quotes and brackets here and above";
}

YamlPosition position_of(const YAML::Mark& mark) { return {std::max(mark.line, 0) + 1, std::max(mark.column, 0) + 1}; }

YamlPosition position_of(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t newline = before.rfind('\n');
  const std::size_t line_begin = newline == std::string_view::npos ? 0 : newline + 1;
  return {static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1, static_cast<int>(offset - line_begin) + 1};
}

/// Builds the tree of the only document in `text`. On a fatal problem, throws a YamlProblem through the parser.
class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::string_view text) : text_(text) {}

  YamlNode root;

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (has_document_) stop(mark, "holds a second YAML document; keep one and remove the line \"---\" before the other");
    has_document_ = true;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(mark, "?", anchor, YamlNode::Kind::kNull); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { stop(mark, kNoAnchors); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& value) override {
    if (value.find('\0') != std::string::npos) stop(mark, "holds a NUL byte in a text; remove \\0");
    YamlNode& node = add(mark, tag, anchor, YamlNode::Kind::kScalar);
    node.text = value;
    node.is_quoted = tag == "!";
    if (node.is_quoted && !is_closed(static_cast<std::size_t>(mark.pos))) stop(mark, "has an open quote; close it");
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(add(mark, tag, anchor, YamlNode::Kind::kList), mark);
  }
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(add(mark, tag, anchor, YamlNode::Kind::kMap), mark);
  }
  void OnMapEnd() override { open_.pop_back(); }

 private:
  [[noreturn]] static void stop(const YAML::Mark& mark, std::string_view text) {
    throw YamlProblem{position_of(mark), std::string(kYamlFileKey), std::string(text)};
  }

  /// The parser accepts the end of the file as the end of a quoted text, so a truncated file would be valid.
  bool is_closed(std::size_t begin) const {
    const char quote = begin < text_.size() ? text_[begin] : '|';
    if (quote != '"' && quote != '\'') return true;  // a block scalar
    for (std::size_t i = begin + 1; i < text_.size(); ++i) {
      const bool is_doubled = quote == '\'' && text_.substr(i, 2) == "''";
      if (text_[i] == quote && !is_doubled) return true;
      if (is_doubled || (quote == '"' && text_[i] == '\\')) ++i;
    }
    return false;
  }

  YamlNode& add(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YamlNode::Kind kind) {
    if (anchor != YAML::NullAnchor) stop(mark, kNoAnchors);
    if (!tag.empty() && tag != "?" && tag != "!") stop(mark, "uses a YAML tag (!); remove it, or quote the value");
    if (++count_ > kMaxYamlNodes) stop(mark, "holds more than 20000 values; shorten it");
    YamlNode* node = &root;
    if (!open_.empty()) {
      // Only the last child of each open node grows, so pointers in open_ stay valid.
      std::vector<YamlNode>& siblings = open_.back()->children;
      node = &siblings.emplace_back();
    }
    node->kind = kind;
    node->position = position_of(mark);
    if (kind == YamlNode::Kind::kNull && !open_.empty()) {
      // The parser reports an absent value at the next token.
      const YamlNode& parent = *open_.back();
      const bool is_value = parent.kind == YamlNode::Kind::kMap && parent.children.size() % 2 == 0;
      node->position = is_value ? parent.children[parent.children.size() - 2].position : parent.position;
    }
    return *node;
  }

  void open(YamlNode& node, const YAML::Mark& mark) {
    if (open_.size() == kMaxDepth) stop(mark, "nests lists and maps too deeply; no key needs more than 3 levels");
    open_.push_back(&node);
  }

  std::string_view text_;
  std::vector<YamlNode*> open_;
  std::size_t count_ = 0;
  bool has_document_ = false;
};

/// Rejects a text with more YAML indicators than a configuration can have, before the parser allocates hundreds of
/// megabytes. Indicators in quotes and comments count, too, but prose has few.
std::optional<YamlProblem> check_indicators(std::string_view text) {
  constexpr std::string_view kIndicators = "[]{},:?-&*!|>'\"";
  std::array<bool, 256> is_indicator{};
  for (const char c : kIndicators) is_indicator[static_cast<unsigned char>(c)] = true;
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (is_indicator[static_cast<unsigned char>(text[at])] && ++count > kMaxIndicators) {
      return YamlProblem{position_of(text, at), std::string(kYamlFileKey),
                         "holds more brackets, commas, colons, quotes and dashes than 20000 values need; shorten it"};
    }
  }
  return std::nullopt;
}

/// Rejects what the YAML parser would misread: it takes byte 4 for the end, guesses UTF-16, and passes on invalid
/// UTF-8.
std::optional<YamlProblem> check_bytes(std::string_view text) {
  if (text.size() > kMaxConfigBytes) {
    return YamlProblem{{}, std::string(kYamlFileKey), "is larger than 1MiB; this is not a configuration of memstatd"};
  }
  const auto is_control = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7F;
  };
  const auto control = std::find_if(text.begin(), text.end(), is_control);
  const auto bad = text.begin() + static_cast<std::ptrdiff_t>(find_invalid_utf8(text));
  const auto first = std::min(control, bad);
  if (first == text.end()) return std::nullopt;
  return YamlProblem{position_of(text, static_cast<std::size_t>(first - text.begin())), std::string(kYamlFileKey),
                     "holds a byte that is not text; save it as UTF-8 without control characters"};
}

}  // namespace

std::optional<YamlProblem> read_yaml_tree(std::string_view text, YamlNode& root) {
  const std::string file(kYamlFileKey);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark does not count as a column
  TreeBuilder tree(text);
  try {
    if (auto problem = check_bytes(text)) return problem;
    if (auto problem = check_indicators(text)) return problem;
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    if (parser.HandleNextDocument(tree)) parser.HandleNextDocument(tree);
  } catch (YamlProblem& problem) {
    return std::move(problem);
  } catch (const YAML::Exception& error) {
    const bool is_anchor = error.msg.find("anchor") != std::string::npos || error.msg.find("alias") != std::string::npos;
    return YamlProblem{position_of(error.mark), file, is_anchor ? std::string(kNoAnchors) : not_yaml(error.msg)};
  } catch (const std::bad_alloc&) {  // not an error in the text
    throw;
  } catch (const std::exception& error) {
    return YamlProblem{{}, file, not_yaml(error.what())};
  }
  root = std::move(tree.root);
  return std::nullopt;
}

}  // namespace memstat
