// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/table_text.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace memstat::events {

void append_number(Buffer& out, std::uint64_t number) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  out.append({digits.data(), static_cast<std::size_t>(end.ptr - digits.data())});
}

void append_line(Buffer& out, std::string_view word, std::uint64_t number) {
  out.append(word);
  out.append(" ");
  append_number(out, number);
  out.append("\n");
}

void append_kernel_name(Buffer& out, const char* name, std::size_t size) {
  const char* const end = std::find(name, name + size, '\0');
  for (const char* at = name; at != end; ++at) {
    const char c = *at == '\n' ? '?' : *at;
    out.append({&c, 1});
  }
}

}  // namespace memstat::events
