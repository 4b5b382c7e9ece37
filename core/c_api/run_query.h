// SPDX-License-Identifier: BSD-2-Clause
// Runs the queries behind memstat.h's functions. No exception escapes.
#pragma once

#include <cerrno>
#include <new>

#include "core/c_api/handle.h"

namespace memstat {

/// Returns 0 or -1.
template <typename Query>
int run_query(memory_type_list* list, Query query) noexcept {
  if (list == nullptr) {
    errno = EINVAL;
    return -1;
  }
  try {
    return query(*list) ? 0 : -1;
  } catch (const std::bad_alloc&) {
    list->fail(ErrorCode::kNoMemory, {});
    return -1;
  } catch (...) {
    list->fail(ErrorCode::kIo, "an unexpected exception");
    return -1;
  }
}

}  // namespace memstat
