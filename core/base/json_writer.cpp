// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/json_writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/base/utf8.h"

namespace memstat {
namespace {

constexpr std::size_t kIndent = 2;

template <typename T>
void append_number(std::string& text, T number) {
  std::array<char, 32> digits{};
  const auto [end, failure] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  text.append(digits.data(), failure == std::errc() ? end : digits.data());
}

void append_unit(std::string& text, std::uint32_t unit) {
  text += "\\u";
  append_hex(text, unit, 4);
}

void append_escape(std::string& text, std::uint32_t character) {
  if (character > 0xFFFFU) append_unit(text, 0xD800U + ((character - 0x10000U) >> 10U));
  append_unit(text, character > 0xFFFFU ? 0xDC00U + (character & 0x3FFU) : character);
}

/// Almost all characters need no escape.
bool is_plain(char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\' && c != '<'; }

void append_string(std::string& text, std::string_view value, bool is_libxo) {
  text += '"';
  while (!value.empty()) {
    const auto plain = static_cast<std::size_t>(std::find_if_not(value.begin(), value.end(), is_plain) - value.begin());
    text += value.substr(0, plain);
    value.remove_prefix(plain);
    if (value.empty()) break;
    const char c = value.front();
    const std::size_t size = std::max<std::size_t>(character_size(value), 1);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (c == '\n' || c == '\r') {
      text += c == '\n' ? "\\n" : "\\r";
    } else if (c == '<' && !is_libxo) {
      append_unit(text, '<');
    } else if (const auto hidden = hidden_character(value)) {  // libxo does not escape these, and JSON parsers reject them
      append_escape(text, *hidden);
    } else {
      text += value.substr(0, size);
    }
    value.remove_prefix(size);
  }
  text += '"';
}

}  // namespace

JsonWriter::JsonWriter(std::string_view version, bool is_one_line) : JsonWriter() {
  is_libxo_ = true;
  is_pretty_ = !is_one_line;
  if (version.empty()) return;
  begin("__version", true);
  append(version);
  follows_version_ = true;
}

void JsonWriter::break_line() {
  if (!is_pretty_) return;
  text_ += '\n';
  text_.append(kIndent * closings_.size(), ' ');
}

// The blanks are those of libxo.
void JsonWriter::begin(std::string_view key, bool is_opening) {
  const bool is_spaced = is_opening && is_libxo_;
  if (!is_first_) text_ += follows_version_ || (is_spaced && !is_pretty_) ? ", " : ",";
  follows_version_ = false;
  is_first_ = false;
  break_line();
  if (key.empty()) return;
  text_ += '"';
  text_ += key;
  text_ += is_pretty_ || is_spaced ? "\": " : "\":";
}

JsonWriter& JsonWriter::open(std::string_view key, char opening, char closing) {
  begin(key, true);
  text_ += opening;
  closings_ += closing;
  is_first_ = true;
  return *this;
}

JsonWriter& JsonWriter::close() {
  const char closing = closings_.back();
  closings_.pop_back();
  break_line();
  text_ += closing;
  is_first_ = false;
  return *this;
}

void JsonWriter::append(double value) {
  if (!std::isfinite(value)) return append(nullptr);
  append_number(text_, value);
}

void JsonWriter::append(std::uint64_t value) { append_number(text_, value); }
void JsonWriter::append(std::int64_t value) { append_number(text_, value); }

void JsonWriter::append(std::string_view value) { append_string(text_, value, is_libxo_); }

std::string json_string(std::string_view value) {
  std::string text;
  text.reserve(value.size() + 8);
  append_string(text, value, false);
  return text;
}

std::string JsonWriter::finish() {
  while (!closings_.empty()) close();
  text_ += '\n';
  return std::move(text_);
}

}  // namespace memstat
