// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/selftest/installation.h"

#include <filesystem>
#include <system_error>

namespace memstat {

std::string installed_path(std::string_view below_prefix) {
#ifdef __FreeBSD__
  constexpr const char* kUsualPrefix = "/usr/local";
#else
  constexpr const char* kUsualPrefix = "/usr";
#endif
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path prefix = error ? kUsualPrefix : program.parent_path().parent_path();
  return (prefix / below_prefix).string();
}

}  // namespace memstat
