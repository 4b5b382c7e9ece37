// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/container/physical_memory.h"

namespace memstat::postmortem {

std::string_view to_string(Machine machine) { return machine == Machine::kX86 ? "x86_64" : "aarch64"; }

Error missing_memory(std::string_view dump, std::string_view space, std::uint64_t address, std::string_view why) {
  return make_error(ErrorCode::kKvmShortRead, dump,
                    std::string(space) + " address " + hex(address) + ": " + std::string(why));
}

}  // namespace memstat::postmortem
