// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/freebsd/kernel_files.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace memstat::postmortem {
namespace {

constexpr const char* kKernelVariable = "MEMSTAT_KERNEL";

bool is_plain_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

/// "3" for vmcore.3, vmcore.3.zst and vmcore.3.gz; otherwise "".
std::string number_of(const std::string& name) {
  constexpr std::string_view kBegin = "vmcore.";
  if (!name.starts_with(kBegin)) return {};
  const std::string rest = name.substr(kBegin.size());
  const std::string number = rest.substr(0, rest.find('.'));
  const bool is_number =
      !number.empty() && std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? number : std::string();
}

/// Also "" in setuid programs.
std::string kernel_of_environment() {
  if (::geteuid() != ::getuid() || ::getegid() != ::getgid()) return {};
  const char* const named = std::getenv(kKernelVariable);
  return named != nullptr ? named : "";
}

void add_installed(std::vector<std::string>& to) {
#ifdef __FreeBSD__
  to.push_back("/boot/kernel/kernel");
  std::error_code ignored;
  for (std::filesystem::directory_iterator at("/boot", ignored), end; at != end; at.increment(ignored)) {
    to.push_back((at->path() / "kernel").string());
  }
#else
  static_cast<void>(to);
#endif
}

}  // namespace

std::vector<std::string> kernel_candidates(const std::string& dump) {
  if (const std::string named = kernel_of_environment(); !named.empty()) return {named};
  std::vector<std::string> candidates;
  if (!dump.empty()) {
    const std::filesystem::path path(dump);
    if (const std::string number = number_of(path.filename().string()); !number.empty()) {
      candidates.push_back((path.parent_path() / ("kernel." + number)).string());
    }
    candidates.push_back((path.parent_path() / "kernel").string());
  }
  add_installed(candidates);
  std::vector<std::string> there;
  for (const std::string& candidate : candidates) {
    if (is_plain_file(candidate) && std::find(there.begin(), there.end(), candidate) == there.end()) {
      there.push_back(candidate);
    }
  }
  return there;
}

Result<std::unique_ptr<FreeBsdKernel>> open_with_kernel(
    const std::string& dump, const std::function<Result<std::unique_ptr<FreeBsdKernel>>(KernelFile)>& open) {
  std::optional<Error> first;
  for (const std::string& candidate : kernel_candidates(dump)) {
    auto file = KernelFile::open(candidate, symbols_of_freebsd());
    auto image = file ? open(*std::move(file)) : Result<std::unique_ptr<FreeBsdKernel>>(file.error());
    if (image) return image;
    if (!first) first = std::move(image.error());
  }
  if (first) return *std::move(first);
  return make_error(
      ErrorCode::kNotPresent, dump,
      "is FreeBSD: the kernel file is needed for symbols and types: copy /boot/kernel/kernel of that machine next to "
      "the dump, or name it: memstatctl --kernel FILE, elsewhere the environment variable MEMSTAT_KERNEL");
}

}  // namespace memstat::postmortem
