// SPDX-License-Identifier: BSD-2-Clause
// FreeBSD 13 to 15 declare mincore differently from Linux, and have neither MCL_ONFAULT nor MAP_POPULATE. Compiled, never
// linked.
#pragma once

#define mincore mincore_of_linux
#include_next <sys/mman.h>
#undef mincore
#undef MCL_ONFAULT
#undef MAP_POPULATE
#undef MADV_DONTDUMP

extern "C" int mincore(const void*, size_t, char*);
