// SPDX-License-Identifier: BSD-2-Clause
// UTF-8 decoding of kernel text that is shown to people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace memstat {

/// Size in bytes of the first character of `text`, which must not be empty. 0 if it is not valid under RFC 3629, which
/// forbids overlong forms, UTF-16 surrogates and values beyond U+10FFFF.
std::size_t character_size(std::string_view text);

/// The first character of `text`, which must not be empty; its first byte if it is not valid.
std::uint32_t first_character(std::string_view text);

/// The first character of `text`, which must not be empty, if a terminal would not simply display it: a control character, a
/// zero-width character, or one that changes the direction of the text.
std::optional<std::uint32_t> hidden_character(std::string_view text);

/// At most `most` bytes from the beginning of valid UTF-8, without a part of a character.
std::string_view utf8_prefix(std::string_view text, std::size_t most);

/// Appends the lowest `digits` hexadecimal digits of `value`.
void append_hex(std::string& text, std::uint32_t value, std::uint32_t digits);

}  // namespace memstat
