// SPDX-License-Identifier: BSD-2-Clause
// FreeBSD 13 to 15: capability mode. Compiled, never linked.
#pragma once

#include <stdbool.h>

extern "C" int cap_enter(void);
extern "C" bool cap_sandboxed(void);
