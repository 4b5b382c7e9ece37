// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/flat_yaml.h"

#include <utility>

#include "core/base/ascii.h"
#include "core/base/text.h"
#include "core/base/utf8.h"

namespace memstat {
namespace {

/// Removes a double-quoted value, whose opening quote is already gone, from `rest`, with its closing quote. False if it is
/// malformed.
bool take_double_quoted(std::string_view& rest, std::string& value) {
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == '"') {
      rest.remove_prefix(i + 1);
      return true;
    }
    if (rest[i] != '\\') {
      value += rest[i];
      continue;
    }
    if (++i == rest.size()) return false;
    switch (rest[i]) {
      case '"':
      case '\\':
      case '/': value += rest[i]; break;
      case 'n': value += '\n'; break;
      case 't': value += '\t'; break;
      case 'r': value += '\r'; break;
      case 'x': {
        if (i + 2 >= rest.size()) return false;
        const int high = hex_digit(rest[i + 1]);
        const int low = hex_digit(rest[i + 2]);
        if (high < 0 || low < 0) return false;
        value += static_cast<char>(high * 16 + low);
        i += 2;
        break;
      }
      default: return false;
    }
  }
  return false;
}

bool take_single_quoted(std::string_view& rest, std::string& value) {
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] != '\'') {
      value += rest[i];
    } else if (i + 1 < rest.size() && rest[i + 1] == '\'') {
      value += rest[i++];
    } else {
      rest.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

/// Removes a value from `rest`; an unquoted one ends before any of `ends` or a comment. Returns what is wrong, or nullptr.
const char* take_value(std::string_view& rest, std::string_view ends, std::string& value) {
  value.clear();
  rest = trim(rest);
  if (rest.empty()) return nullptr;
  const char first = rest.front();
  if (first == '"' || first == '\'') {
    rest.remove_prefix(1);
    const bool whole = first == '"' ? take_double_quoted(rest, value) : take_single_quoted(rest, value);
    return whole ? nullptr : "a quoted value does not end, or holds an escape other than \\\" \\\\ \\/ \\n \\t \\r \\xNN";
  }
  if (std::string_view("[{&*!%@`|>").find(first) != std::string_view::npos) {
    return "not a plain value; put it in double quotes";
  }
  std::size_t end = 0;
  while (end < rest.size() && ends.find(rest[end]) == std::string_view::npos) {
    if (rest[end] == '#' && (end == 0 || rest[end - 1] == ' ' || rest[end - 1] == '\t')) break;
    ++end;
  }
  value = trim(rest.substr(0, end));
  rest.remove_prefix(end);
  return nullptr;
}

/// Removes `key:` from `rest`. False if there is none.
bool take_key(std::string_view& rest, std::string& key) {
  const std::size_t colon = rest.find(':');
  if (colon == 0 || colon == std::string_view::npos) return false;
  if (colon + 1 < rest.size() && rest[colon + 1] != ' ' && rest[colon + 1] != '\t') return false;
  const std::string_view name = rest.substr(0, colon);
  for (const char c : name) {
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-')) return false;
  }
  key = name;
  rest.remove_prefix(colon + 1);
  return true;
}

bool is_blank_or_comment(std::string_view text) {
  text = trim(text);
  return text.empty() || text.front() == '#';
}

struct Lines {
  std::string_view rest;
  std::size_t number = 0;
  bool next(std::string_view& line) {
    if (!next_line(rest, line)) return false;
    ++number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    return true;
  }
};

/// Reads the indented lines that follow. If `folded`, they are joined by blanks, and an empty line ends a paragraph.
std::string take_block(Lines& lines, bool folded) {
  std::string value;
  std::string_view line;
  std::size_t indentation = 0;
  std::size_t empty_lines = 0;
  bool first = true;
  while (true) {
    Lines ahead = lines;
    if (!ahead.next(line)) break;
    const bool is_empty = trim(line).empty();
    if (!is_empty && line.front() != ' ') break;
    lines = ahead;
    if (is_empty) {
      ++empty_lines;
      continue;
    }
    const std::size_t own_indentation = line.find_first_not_of(' ');
    if (first) indentation = own_indentation;
    if (!first) {
      if (empty_lines > 0) {
        value.append(folded ? empty_lines : empty_lines + 1, '\n');
      } else {
        value += folded ? ' ' : '\n';
      }
    }
    value += line.substr(own_indentation < indentation ? own_indentation : indentation);
    first = false;
    empty_lines = 0;
  }
  return value;
}

}  // namespace

const YamlPair* find_pair(const YamlMap& map, std::string_view key) {
  for (const YamlPair& pair : map) {
    if (pair.key == key) return &pair;
  }
  return nullptr;
}

Error yaml_error(std::string_view file, std::size_t line, std::string_view what) {
  return make_error(ErrorCode::kData, file, "line " + std::to_string(line) + ": " + std::string(what));
}

Result<YamlMap> parse_flat_yaml(std::string_view text, std::string_view file) {
  YamlMap map;
  Lines lines{.rest = text};
  std::string_view line;
  while (lines.next(line)) {
    if (is_blank_or_comment(line) || line == "---") continue;
    YamlPair pair;
    pair.line = lines.number;
    if (!take_key(line, pair.key)) return yaml_error(file, pair.line, "not `key: value`");
    if (find_pair(map, pair.key) != nullptr) return yaml_error(file, pair.line, pair.key + ": appears twice");
    const std::string_view marker = trim(line);
    if (marker == ">" || marker == ">-" || marker == "|" || marker == "|-") {
      pair.value = take_block(lines, marker.front() == '>');
    } else {
      if (const char* wrong = take_value(line, "", pair.value)) return yaml_error(file, pair.line, pair.key + ": " + wrong);
      if (!is_blank_or_comment(line)) return yaml_error(file, pair.line, pair.key + ": something follows the value");
    }
    map.push_back(std::move(pair));
  }
  return map;
}

Result<std::vector<YamlMap>> parse_yaml_list(std::string_view text, std::string_view file) {
  std::vector<YamlMap> list;
  Lines lines{.rest = text};
  std::string_view line;
  while (lines.next(line)) {
    if (is_blank_or_comment(line) || line == "---") continue;
    line = trim(line);
    if (line.substr(0, 3) != "- {") return yaml_error(file, lines.number, "not `- {key: value, ...}`");
    line.remove_prefix(3);
    YamlMap map;
    while (true) {
      line = trim(line);
      YamlPair pair;
      pair.line = lines.number;
      if (!take_key(line, pair.key)) return yaml_error(file, pair.line, "not `- {key: value, ...}`");
      if (find_pair(map, pair.key) != nullptr) return yaml_error(file, pair.line, pair.key + ": appears twice");
      if (const char* wrong = take_value(line, ",}", pair.value))
        return yaml_error(file, pair.line, pair.key + ": " + wrong);
      map.push_back(std::move(pair));
      line = trim(line);
      if (line.empty() || (line.front() != ',' && line.front() != '}')) {
        return yaml_error(file, lines.number, "`,` or `}` is missing");
      }
      const bool ended = line.front() == '}';
      line.remove_prefix(1);
      if (ended) break;
    }
    if (!is_blank_or_comment(line)) return yaml_error(file, lines.number, "something follows the `}`");
    list.push_back(std::move(map));
  }
  return list;
}

std::string yaml_quote(std::string_view text) {
  bool plain = !text.empty();
  for (const char c : text) {
    const bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!is_word && std::string_view("/_.-").find(c) == std::string_view::npos) plain = false;
  }
  if (plain && text.front() != '-' && text.front() != '.') return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      quoted += "\\x";
      append_hex(quoted, byte, 2);
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace memstat
