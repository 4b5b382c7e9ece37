// SPDX-License-Identifier: BSD-2-Clause
// Lists sub-directories on a Linux kernel's own file systems without heap memory; opendir(3) would take 32 KiB each
// time.
#pragma once

#include <string_view>

#include "core/base/buffer.h"
#include "core/base/result.h"

namespace memstat {

/// As KernelView::list_directories. Errors: system_error. Thread safety: safe, for different `names`.
Result<void> list_kernel_directories(std::string_view path, Buffer& names);

}  // namespace memstat
