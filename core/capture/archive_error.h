// SPDX-License-Identifier: BSD-2-Clause
// How reading and writing archives say what is wrong.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"

#if defined(MEMSTAT_HAVE_LIBARCHIVE)
#include <archive.h>
#endif

namespace memstat {

/// kData without a position: what is refused is the archive, not a byte of it.
inline Error refused(std::string_view path, const std::string& what) {
  Error error = data_error(path, 0, what);
  error.offset.reset();
  return error;
}

#if defined(MEMSTAT_HAVE_LIBARCHIVE)
/// libarchive's own words for its last failure.
inline std::string archive_error(::archive* of) {
  const char* text = ::archive_error_string(of);
  return text == nullptr ? "unknown failure" : text;
}
#endif

}  // namespace memstat
