// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/container/physical_memory.h"

#include <array>
#include <charconv>

namespace memstat::postmortem {

std::string_view to_string(Machine machine) { return machine == Machine::kX86 ? "x86_64" : "aarch64"; }

std::string hex(std::uint64_t number) {
  std::array<char, 16> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
  return "0x" + std::string(digits.data(), end);
}

Error missing_memory(std::string_view dump, std::string_view space, std::uint64_t address, std::string_view why) {
  return make_error(ErrorCode::kKvmShortRead, dump,
                    std::string(space) + " address " + hex(address) + ": " + std::string(why));
}

}  // namespace memstat::postmortem
