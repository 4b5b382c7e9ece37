// SPDX-License-Identifier: BSD-2-Clause
// JSON, written member by member into one text.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace memstat {

/// Writes one JSON document. Values are as they are given; the caller keeps keys and values in turn and closes what it
/// opens. Thread safety: none.
class Json {
 public:
  Json& open_object() { return open('{'); }
  Json& open_array() { return open('['); }
  Json& close_object() { return close('}'); }
  Json& close_array() { return close(']'); }

  Json& key(std::string_view name) {
    separate();
    quote(name);
    text_ += ':';
    needs_comma_ = false;
    return *this;
  }
  Json& value(std::string_view text) {
    separate();
    quote(text);
    return *this;
  }
  Json& value(const char* text) { return value(std::string_view(text)); }
  Json& value(bool truth) { return raw(truth ? "true" : "false"); }
  template <std::integral T>
  requires(!std::same_as<T, bool>) Json& value(T number) { return digits_of(number); }
  /// What JSON has no number for (infinities) is null.
  Json& value(double number) { return std::isfinite(number) ? digits_of(number) : null(); }
  Json& null() { return raw("null"); }
  template <typename T>
  Json& member(std::string_view name, T what) {
    return key(name).value(what);
  }

  [[nodiscard]] std::string take() { return std::move(text_); }
  void reserve(std::size_t bytes) { text_.reserve(bytes); }

 private:
  Json& open(char bracket) {
    separate();
    text_ += bracket;
    needs_comma_ = false;
    return *this;
  }
  Json& close(char bracket) {
    text_ += bracket;
    needs_comma_ = true;
    return *this;
  }
  Json& raw(std::string_view token) {
    separate();
    text_ += token;
    return *this;
  }
  template <typename T>
  Json& digits_of(T number) {
    std::array<char, 32> digits{};
    const auto [end, failure] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    return raw({digits.data(), failure == std::errc() ? end : digits.data()});
  }
  void separate() {
    if (needs_comma_) text_ += ',';
    needs_comma_ = true;
  }
  /// '<' is escaped too, so that a document is harmless wherever it is pasted.
  void quote(std::string_view text) {
    static constexpr std::string_view kDigits = "0123456789abcdef";
    text_ += '"';
    for (const char c : text) {
      const unsigned byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        text_ += '\\';
        text_ += c;
      } else if (byte < 0x20 || c == '<' || byte == 0x7f) {
        text_ += "\\u00";
        text_ += kDigits[byte >> 4U];
        text_ += kDigits[byte & 0xfU];
      } else {
        text_ += c;
      }
    }
    text_ += '"';
  }

  std::string text_;
  bool needs_comma_ = false;
};

}  // namespace memstat
