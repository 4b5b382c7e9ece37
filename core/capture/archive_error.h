// SPDX-License-Identifier: BSD-2-Clause
// Errors of reading and writing archives.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"

namespace memstat {

/// kData without an offset: the archive is rejected, not one byte of it.
inline Error refused(std::string_view path, const std::string& what) { return make_error(ErrorCode::kData, path, what); }

}  // namespace memstat
