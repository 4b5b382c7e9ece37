// SPDX-License-Identifier: BSD-2-Clause
// Files that only root may open.
#pragma once

#include <string_view>

#include "core/kernel/kernel_view.h"

namespace memstat {

/// Advice for the detail of an error.
inline constexpr std::string_view kRootOnly =
    "the kernel lets only root (or CAP_DAC_READ_SEARCH) open it: start this program as root";

/// KernelView::keep_open with an explained permission error.
inline Result<void> keep_root_only_open(KernelView& view, std::string_view path) {
  auto result = view.keep_open(path);
  if (!result && result.error().code == ErrorCode::kPermission) result.error().detail = kRootOnly;
  return result;
}

}  // namespace memstat
