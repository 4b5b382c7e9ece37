// SPDX-License-Identifier: BSD-2-Clause
// Defines memstat.h's `struct memory_type_list`, and runs queries of it. Not installed: for memstat.cpp, memstatctl, and
// tests that supply their own kernel view.
#pragma once

#include <cerrno>
#include <new>

#include "core/c_api/list.h"

/// Thread safety: as memstat::QueriedList.
// NOLINTNEXTLINE(readability-identifier-naming): the name is FreeBSD's.
struct memory_type_list final : memstat::QueriedList {
  using QueriedList::QueriedList;
};

namespace memstat {

/// Runs a query behind one of memstat.h's functions. Returns 0 or -1. No exception escapes.
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
