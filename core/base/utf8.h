// SPDX-License-Identifier: BSD-2-Clause
// UTF-8, character by character, for text that came from a kernel and is shown to people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace memstat {

/// Bytes of the character that `text`, which is not empty, begins with. 0: it begins with none: overlong forms, halves of
/// UTF-16 and values beyond U+10FFFF are refused, as RFC 3629 says.
std::size_t character_size(std::string_view text);

/// The character that `text`, which is not empty, begins with, if a terminal would obey it instead of showing it: a control
/// character, one without width, or one that changes the direction of the text.
std::optional<std::uint32_t> hidden_character(std::string_view text);

/// Appends the lowest `digits` hexadecimal digits of `value`.
void append_hex(std::string& text, std::uint32_t value, std::uint32_t digits);

}  // namespace memstat
