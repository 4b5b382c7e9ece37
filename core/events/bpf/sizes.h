/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Buckets for sizes of allocations and for times. C, for BPF programs and memstatd. */
#pragma once

/* Number of bits of a number, up to 32; 0 for 0. BPF has no instruction for it. */
static inline __attribute__((always_inline)) unsigned int memstat_bits_of(unsigned long long rest) {
  unsigned int bits = 0;
  if (rest >> 16 != 0) {
    bits += 16;
    rest >>= 16;
  }
  if (rest >> 8 != 0) {
    bits += 8;
    rest >>= 8;
  }
  if (rest >> 4 != 0) {
    bits += 4;
    rest >>= 4;
  }
  if (rest >> 2 != 0) {
    bits += 2;
    rest >>= 2;
  }
  bits += rest >= 2 ? 2 : (unsigned int)rest;
  return bits;
}

#define MEMSTAT_SIZES 29 /* up to 8 B, 16 B, ..., 1 GiB, and above */

/* The bucket of a size in B. */
static inline __attribute__((always_inline)) unsigned int memstat_size_bucket(unsigned long long size) {
  const unsigned long long rest = size == 0 ? 0 : (size - 1) >> 3;
  if (rest >> 27 != 0) return MEMSTAT_SIZES - 1;
  const unsigned int bucket = memstat_bits_of(rest);
  return bucket < MEMSTAT_SIZES ? bucket : MEMSTAT_SIZES - 1;
}

#define MEMSTAT_TIMES 28 /* up to 2^-22 s (238 ns), 2^-21 s, ..., 16 s, and above */

/* The bucket of a time in ns. */
static inline __attribute__((always_inline)) unsigned int memstat_time_bucket(unsigned long long nanoseconds) {
  if (nanoseconds == 0) return 0;
  if (nanoseconds >> 40 != 0) return MEMSTAT_TIMES - 1;
  /* A time is within the bound 2^b if ns x 2^22 - 1 is less than 2^b seconds. */
  const unsigned int bucket = memstat_bits_of(((nanoseconds << 22) - 1) / 1000000000ULL);
  return bucket < MEMSTAT_TIMES ? bucket : MEMSTAT_TIMES - 1;
}
