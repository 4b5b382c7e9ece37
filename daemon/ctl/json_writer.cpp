// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/json_writer.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "daemon/ctl/cells.h"

namespace memstat::ctl {
namespace {

constexpr std::size_t kIndent = 2;

void append_string(std::string& text, std::string_view value) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  text += '"';
  const auto append_unit = [&text](std::uint32_t unit) {
    text += "\\u";
    for (std::uint32_t shift = 16; shift != 0; shift -= 4) text += kHex[unit >> (shift - 4) & 15U];
  };
  while (!value.empty()) {
    const char c = value.front();
    const std::size_t size = std::max<std::size_t>(character_size(value), 1);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (c == '\n' || c == '\r') {
      text += c == '\n' ? "\\n" : "\\r";
    } else if (const auto hidden =
                   hidden_character(value)) {  // libxo leaves controls as they are, which no JSON parser takes
      if (*hidden > 0xFFFFU) append_unit(0xD800U + ((*hidden - 0x10000U) >> 10U));
      append_unit(*hidden > 0xFFFFU ? 0xDC00U + (*hidden & 0x3FFU) : *hidden);
    } else {
      text += value.substr(0, size);
    }
    value.remove_prefix(size);
  }
  text += '"';
}

}  // namespace

JsonWriter::JsonWriter(std::string_view version) : text_("{"), closings_{'}'} {
  if (version.empty()) return;
  field("__version", version);
  follows_version_ = true;
}

void JsonWriter::begin(std::string_view key) {
  if (!is_first_) text_ += follows_version_ ? ", " : ",";  // the blank is libxo's
  follows_version_ = false;
  is_first_ = false;
  text_ += '\n';
  text_.append(kIndent * closings_.size(), ' ');
  if (key.empty()) return;
  text_ += '"';
  text_ += key;
  text_ += "\": ";
}

void JsonWriter::open(std::string_view key, char opening, char closing) {
  begin(key);
  text_ += opening;
  closings_.push_back(closing);
  is_first_ = true;
}

void JsonWriter::open_object(std::string_view key) { open(key, '{', '}'); }
void JsonWriter::open_list(std::string_view key) { open(key, '[', ']'); }

void JsonWriter::close() {
  const char closing = closings_.back();
  closings_.pop_back();
  text_ += '\n';
  text_.append(kIndent * closings_.size(), ' ');
  text_ += closing;
  is_first_ = false;
}

void JsonWriter::field(std::string_view key, std::string_view value) {
  begin(key);
  append_string(text_, value);
}

void JsonWriter::field(std::string_view key, std::uint64_t value) {
  begin(key);
  text_ += std::to_string(value);
}

void JsonWriter::member(std::uint64_t value) {
  begin({});
  text_ += std::to_string(value);
}

std::string JsonWriter::finish() {
  while (!closings_.empty()) close();
  text_ += '\n';
  return std::move(text_);
}

// The writer puts each thing on a line of its own, with the comma before the next one at its end, and keys need no escapes.
std::string compact_json(std::string_view pretty) {
  constexpr std::string_view kVersionEnd = ", ";
  std::string text;
  bool follows_comma = false;
  while (!pretty.empty()) {
    std::string_view line = pretty.substr(0, pretty.find('\n'));
    pretty.remove_prefix(std::min(line.size() + 1, pretty.size()));
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.empty()) continue;
    const bool is_opening = line.ends_with('{') || line.ends_with('[');
    if (follows_comma) text += is_opening ? ", " : ",";
    if (line.ends_with(kVersionEnd)) {
      text += line;
      follows_comma = false;
      continue;
    }
    follows_comma = line.ends_with(',');
    if (follows_comma) line.remove_suffix(1);
    const std::size_t key_end = is_opening ? std::string_view::npos : line.find("\": ");
    if (key_end == std::string_view::npos) {
      text += line;
    } else {
      text += line.substr(0, key_end + 2);
      text += line.substr(key_end + 3);
    }
  }
  return text + '\n';
}

}  // namespace memstat::ctl
