// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/spare_files.h"

#include <sys/eventfd.h>
#include <sys/resource.h>

#include <algorithm>
#include <utility>

namespace memstat {
namespace {

constexpr std::size_t kShareOfFiles = 16;  // the reserve is at most this part of the files that the process may have

}  // namespace

void SpareFiles::fill() {
  if (files_.capacity() == 0) {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) == 0)
      wanted_ = std::min(wanted_, std::max<std::size_t>(static_cast<std::size_t>(files.rlim_cur) / kShareOfFiles, 2));
    files_.reserve(wanted_);
  }
  while (!full()) {
    // Needs no path, no permission and no memory for a buffer, so this works within the sandbox and in other shortages.
    UniqueFd file(::eventfd(0, EFD_CLOEXEC));
    if (!file) return;
    files_.push_back(std::move(file));
  }
}

bool SpareFiles::give(std::size_t count) {
  if (files_.empty()) return false;
  for (std::size_t left = std::min(count, files_.size()); left > 0; --left) files_.pop_back();
  return true;
}

}  // namespace memstat
