// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/container/elf_notes.h"

#include <cstdint>

#include "core/postmortem/container/bytes.h"

namespace memstat::postmortem {

std::string_view find_note(std::string_view notes, std::string_view name) {
  constexpr std::uint64_t kHeader = 12;  // length of the name, length of the content, type
  const auto padded = [](std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; };
  for (std::uint64_t at = 0; holds(notes, at, kHeader);) {
    const std::uint64_t name_size = number_at<std::uint32_t>(notes, at);
    const std::uint64_t content_size = number_at<std::uint32_t>(notes, at + 4);
    const std::uint64_t name_at = at + kHeader;
    const std::uint64_t content_at = name_at + padded(name_size);
    if (!holds(notes, name_at, name_size) || !holds(notes, content_at, content_size)) return {};
    std::string_view found = notes.substr(name_at, name_size);
    if (found.ends_with('\0')) found.remove_suffix(1);
    if (found == name) return notes.substr(content_at, content_size);
    at = content_at + padded(content_size);
  }
  return {};
}

}  // namespace memstat::postmortem
