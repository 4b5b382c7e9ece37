// SPDX-License-Identifier: BSD-2-Clause
// Defines memstat.h's `struct memory_type_list`. Not installed: for memstat.cpp, and for tests that supply their own kernel
// view.
#pragma once

#include "core/c_api/list.h"

/// Thread safety: as memstat::QueriedList.
// NOLINTNEXTLINE(readability-identifier-naming): the name is FreeBSD's.
struct memory_type_list final : memstat::QueriedList {
  using QueriedList::QueriedList;
};
