// SPDX-License-Identifier: BSD-2-Clause
// JSON, written member by member into one string: API documents and memstatctl's reports.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace memstat {

/// Writes one JSON object. The constructor opens it, finish() closes it.
///
///   JsonWriter json;
///   json.field("name", "mbuf").open_list("sizes").member(16).member(32).close();
///   json.finish();  // {"name":"mbuf","sizes":[16,32]} and a newline
///
/// Keys are written unescaped. String values must be valid UTF-8 and are escaped. Characters that control a terminal are
/// escaped too, which does not change the value. Numbers are written in full; infinity, which JSON lacks, becomes null.
class JsonWriter {
 public:
  /// Compact: one line without blanks. '<' is escaped, so that a document can be pasted safely into HTML.
  JsonWriter() : text_("{"), closings_{'}'} {}
  /// The layout of libxo's "json,pretty", or of its "json" on one line, byte by byte. `version` is the value of the key
  /// "__version", "" for none.
  explicit JsonWriter(std::string_view version, bool is_one_line = false);

  /// Opens an object or a list. `key` is empty inside a list.
  JsonWriter& open_object(std::string_view key = {}) { return open(key, '{', '}'); }
  JsonWriter& open_list(std::string_view key = {}) { return open(key, '[', ']'); }
  /// Closes the innermost open object or list.
  JsonWriter& close();

  /// Adds a member to the open object: a string, a number, a bool; nullptr or an empty std::optional for null.
  template <typename T>
  JsonWriter& field(std::string_view key, const T& value) {
    begin(key);
    append(value);
    return *this;
  }
  template <typename T>
  JsonWriter& member(const T& value) {
    return field({}, value);
  }
  /// Adds a list of values.
  template <typename Values>
  JsonWriter& list(std::string_view key, const Values& values) {
    open_list(key);
    for (const auto& value : values) member(value);
    return close();
  }

  /// Reserves room for `bytes` bytes. Optional.
  void reserve(std::size_t bytes) { text_.reserve(bytes); }
  /// Closes everything that is open and returns the text, which ends with a newline. Call it last.
  [[nodiscard]] std::string finish();

 private:
  JsonWriter& open(std::string_view key, char opening, char closing);
  void begin(std::string_view key, bool is_opening = false);
  void break_line();

  void append(std::string_view value);
  void append(const char* value) { append(std::string_view(value)); }
  void append(bool value) { text_ += value ? "true" : "false"; }
  void append(std::nullptr_t) { text_ += "null"; }
  template <typename T>
  void append(const std::optional<T>& value) {
    value ? append(*value) : append(nullptr);
  }
  void append(double value);
  void append(std::uint64_t value);
  void append(std::int64_t value);
  template <std::integral T>
  void append(T value) {
    if constexpr (std::signed_integral<T>) {
      append(static_cast<std::int64_t>(value));
    } else {
      append(static_cast<std::uint64_t>(value));
    }
  }

  std::string text_;
  std::string closings_;  // closing brackets, innermost last
  bool is_libxo_ = false;
  bool is_pretty_ = false;
  bool is_first_ = true;  // at the first member of the innermost object or list
  bool follows_version_ = false;
};

/// `value` as a quoted JSON string, escaped as JsonWriter escapes it.
std::string json_string(std::string_view value);

}  // namespace memstat
