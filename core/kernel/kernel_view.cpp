// SPDX-License-Identifier: BSD-2-Clause
#include "core/kernel/kernel_view.h"

namespace memstat {

std::string_view to_string(OperatingSystem os) {
  switch (os) {
    case OperatingSystem::kLinux: return "linux";
    case OperatingSystem::kFreeBsd: return "freebsd";
    case OperatingSystem::kOther: break;
  }
  return "other";
}

}  // namespace memstat
