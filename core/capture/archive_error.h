// SPDX-License-Identifier: BSD-2-Clause
// How reading and writing archives say what is wrong.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"

namespace memstat {

/// kData without a position: what is refused is the archive, not a byte of it.
inline Error refused(std::string_view path, const std::string& what) {
  Error error = data_error(path, 0, what);
  error.offset.reset();
  return error;
}

}  // namespace memstat
