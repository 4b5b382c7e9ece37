// SPDX-License-Identifier: BSD-2-Clause
// FreeBSD 13 to 15: whether a kernel module is loaded.
#pragma once

extern "C" int modfind(const char*);
