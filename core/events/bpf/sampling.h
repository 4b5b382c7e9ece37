/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* How programs on frequent events cost less: memstatd writes this while they run, and each of them reads it before anything
 * else. C for both of them. Thread safety: one writer, memstatd; a program that sees the old value counts one event by it.
 */
#pragma once

#define MEMSTAT_SAMPLING_MOST 63 /* of a mask: one moment in 64 */

struct memstat_sampling {
  unsigned int mask; /* 0: count always; 2^n - 1: in one moment of 2^n, and then each event 2^n times */
};

#ifdef __bpf__
struct memstat_sampling sampling SEC(".data.sampling") = {0};

/* How often the event at hand is to be counted; 0: not at all. A moment is a tick of the kernel's clock; which of them count
 * has no period that a program of the machine could have, too. */
static __always_inline __u64 weight_now(void) {
  const __u32 mask = sampling.mask;
  if (mask == 0) return 1;
  return (bpf_jiffies64() * 0x9E3779B97F4A7C15ULL >> 58 & mask) == 0 ? mask + 1 : 0;
}

/* One kmalloc(), from the arguments of its event. */
struct kmalloc_event {
  __u64 object; /* 0: it failed */
  __u64 allocated;
  __u64 weight; /* of weight_now() */
};

/* 0: it is not to be counted, because it asked for nothing or its moment is not. Failures always count. */
static __always_inline int take_kmalloc(const struct raw_arguments* arguments, struct kmalloc_event* event) {
  event->object = arguments->values[1];
  event->allocated = arguments->values[3];
  event->weight = event->allocated == 0 ? 0 : weight_now();
  return event->allocated != 0 && (event->weight != 0 || event->object == 0);
}
#endif
