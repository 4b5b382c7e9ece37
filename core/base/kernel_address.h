// SPDX-License-Identifier: BSD-2-Clause
// Kernel addresses in text, which show where the kernel is in memory and change at each boot.
#pragma once

#include <cstddef>
#include <string_view>

namespace memstat {

/// Whether the text has what zero_kernel_addresses() replaces.
[[nodiscard]] bool has_kernel_address(std::string_view text);

/// Replaces each kernel address in a text with zeros: a run of exactly 16 hexadecimal digits that begins with ffff, with or
/// without 0x. The length does not change. Leaves the bytes unchanged if they are not text, that is, contain a NUL before
/// the end.
void zero_kernel_addresses(char* bytes, std::size_t size);

}  // namespace memstat
