// SPDX-License-Identifier: BSD-2-Clause
// FreeBSD 13 to 15: descriptors of events. Compiled, never linked.
#pragma once

#include <cstdint>

#define EFD_CLOEXEC 0x00100000
#define EFD_NONBLOCK 0x4

extern "C" int eventfd(unsigned int initial, int flags);
