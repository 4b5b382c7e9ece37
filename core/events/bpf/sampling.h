/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Makes programs on frequent events cheaper. memstatd writes the mask while the programs run, and each program reads
 * it before anything else. C, for both. Thread safety: one writer, memstatd; a program that sees the old value
 * counts one event with it. */
#pragma once

#define MEMSTAT_SAMPLING_MOST 63 /* maximum mask: one moment in 64 */

struct memstat_sampling {
  unsigned int mask; /* 0: count all events; 2^n - 1: count in one moment out of 2^n, each event 2^n times */
};

#ifdef __bpf__
struct memstat_sampling sampling SEC(".data.sampling") = {0};

/* The weight of the current event; 0: skip it. A moment is a tick of the kernel's clock. The moments that count have
 * no period, so they cannot be in step with a periodic program. */
static __always_inline __u64 weight_now(void) {
  const __u32 mask = sampling.mask;
  if (mask == 0) return 1;
  return (bpf_jiffies64() * 0x9E3779B97F4A7C15ULL >> 58 & mask) == 0 ? mask + 1 : 0;
}

/* A kmalloc(), from the arguments of its event. */
struct kmalloc_event {
  __u64 object; /* 0: it failed */
  __u64 allocated;
  __u64 weight; /* from weight_now() */
};

/* Returns 0 if the event is not counted: nothing was requested, or sampling skips it. Failures always count. */
static __always_inline int take_kmalloc(const struct raw_arguments* arguments, struct kmalloc_event* event) {
  event->object = arguments->values[1];
  event->allocated = arguments->values[3];
  event->weight = event->allocated == 0 ? 0 : weight_now();
  return event->allocated != 0 && (event->weight != 0 || event->object == 0);
}
#endif
