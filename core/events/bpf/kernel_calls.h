/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* In place of functions of the kernel that programs call: memstat puts their numbers in when it loads the programs. libbpf
 * would read all types of the kernel to find these numbers. */
#pragma once

enum {
  kReadOnlyCast = 0x7fff0001,
  kGetKmemCache = 0x7fff0002,
};
#define MEMSTAT_KERNEL_CALLS(CALL)     \
  CALL(bpf_rdonly_cast, kReadOnlyCast) \
  CALL(bpf_get_kmem_cache, kGetKmemCache)
