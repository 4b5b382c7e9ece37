// SPDX-License-Identifier: BSD-2-Clause
// What FreeBSD 13 to 15 declare in <sys/rctl.h>, as far as it is used. Compiled, never linked.
#pragma once

#include <cstddef>

extern "C" int rctl_get_racct(const char* filter, size_t filter_size, char* answer, size_t answer_size);
extern "C" int rctl_get_rules(const char* filter, size_t filter_size, char* answer, size_t answer_size);
