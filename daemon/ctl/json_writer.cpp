// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/json_writer.h"

#include <utility>

namespace memstat::ctl {
namespace {

constexpr std::size_t kIndent = 2;

void append_string(std::string& text, std::string_view value) {
  constexpr std::string_view kHex = "0123456789abcdef";
  text += '"';
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (c == '\n' || c == '\r') {
      text += c == '\n' ? "\\n" : "\\r";
    } else if (byte < 0x20U) {  // libxo leaves these as they are, which no JSON parser takes
      text += "\\u00";
      text += kHex[byte >> 4U];
      text += kHex[byte & 0xFU];
    } else {
      text += c;
    }
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

}  // namespace memstat::ctl
