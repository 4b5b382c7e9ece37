// SPDX-License-Identifier: BSD-2-Clause
// What memstat.h's `struct memory_type_list` is. Not installed: for memstat.cpp, and for tests that read a kernel of their
// own.
#pragma once

#include "core/c_api/list.h"

/// Thread safety: that of memstat::QueriedList.
// NOLINTNEXTLINE(readability-identifier-naming): the name is FreeBSD's.
struct memory_type_list final : memstat::QueriedList {
  using QueriedList::QueriedList;
};
