/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The types that libbpf's headers for BPF programs need, so that building the programs takes no kernel headers; and
 * the types that the programs share. Thread safety: types only. */
#pragma once

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed int __s32;
typedef signed long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_PERCPU_ARRAY 6
#define BPF_F_MMAPABLE (1U << 10)

/* The context of a program on a raw tracepoint: the event's arguments as numbers. */
struct raw_arguments {
  __u64 values[6];
};
