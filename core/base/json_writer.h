// SPDX-License-Identifier: BSD-2-Clause
// JSON, written member by member into one text: the documents of the API, and the reports of memstatctl.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace memstat {

/// Writes one JSON object, which the constructor opens and finish() closes.
///
///     JsonWriter json;
///     json.field("name", "mbuf").open_list("sizes").member(16).member(32).close();
///     json.finish();  // {"name":"mbuf","sizes":[16,32]} and a newline
///
/// Keys are written as they are. Strings are valid UTF-8 and are escaped; what a terminal would obey instead of showing it
/// is escaped, too, which changes no value. Numbers are written whole; one that JSON does not have (infinity) becomes null.
/// Thread safety: none.
class JsonWriter {
 public:
  /// On one line without blanks. '<' is escaped, so that a document is harmless wherever it is pasted.
  JsonWriter() : text_("{"), closings_{'}'} {}
  /// Laid out as libxo's "json,pretty" lays it out, byte by byte. `version` is the value of its key "__version", "" for
  /// none.
  explicit JsonWriter(std::string_view version);

  /// Opens an object or a list: in an object with a key, in a list with "".
  JsonWriter& open_object(std::string_view key = {}) { return open(key, '{', '}'); }
  JsonWriter& open_list(std::string_view key = {}) { return open(key, '[', ']'); }
  /// Closes what was opened last and is still open.
  JsonWriter& close();

  /// A member of the open object: a string, a number, a bool, or nullptr for null.
  template <typename T>
  JsonWriter& field(std::string_view key, const T& value) {
    begin(key);
    append(value);
    return *this;
  }
  /// A member of the open list.
  template <typename T>
  JsonWriter& member(const T& value) {
    return field({}, value);
  }

  /// Makes room for a text of that many bytes. Optional.
  void reserve(std::size_t bytes) { text_.reserve(bytes); }
  /// Closes all that is open and gives the text, which ends with a newline. To be called last.
  [[nodiscard]] std::string finish();

 private:
  JsonWriter& open(std::string_view key, char opening, char closing);
  void begin(std::string_view key);
  void break_line();

  void append(std::string_view value);
  void append(const char* value) { append(std::string_view(value)); }
  void append(bool value) { text_ += value ? "true" : "false"; }
  void append(std::nullptr_t) { text_ += "null"; }
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
  std::string closings_;  // of what is open, innermost last
  bool is_pretty_ = false;
  bool is_first_ = true;  // the next thing is the first in what is open
  bool follows_version_ = false;
};

/// `value` as a string of JSON, in its quotes, escaped as JsonWriter escapes it.
std::string json_string(std::string_view value);

}  // namespace memstat
