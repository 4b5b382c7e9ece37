// SPDX-License-Identifier: BSD-2-Clause
// JSON laid out as libxo lays it out, byte by byte: "json,pretty", and plain "json".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace memstat::ctl {

/// Writes one JSON object. Keys are written as they are; strings (valid UTF-8) are escaped. Thread safety: none.
class JsonWriter {
 public:
  /// Opens the outermost object; `version` is the value of its key "__version", "" for none.
  explicit JsonWriter(std::string_view version);

  /// Opens an object or a list: in an object with a key, in a list with "".
  void open_object(std::string_view key);
  void open_list(std::string_view key);
  /// Closes what was opened last and is still open.
  void close();
  void field(std::string_view key, std::string_view value);
  void field(std::string_view key, std::uint64_t value);
  /// A member of the open list.
  void member(std::uint64_t value);
  /// Closes all that is open and gives the text, which ends with a newline. To be called last.
  std::string finish();

 private:
  void begin(std::string_view key);
  void open(std::string_view key, char opening, char closing);

  std::string text_;
  std::vector<char> closings_;
  bool is_first_ = true;  // the next thing is the first in what is open
  bool follows_version_ = false;
};

/// What finish() gave, as libxo's plain "json" has it: on one line, without a blank between a key and a figure.
std::string compact_json(std::string_view pretty);

}  // namespace memstat::ctl
