/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Classes of GFP flags, by which a caller says what the kernel may do to find memory: for programs and memstatd, C for both
 * of them. Thread safety: types and a pure function. */
#pragma once

/* Their words are in table.cpp. */
/* NOLINTBEGIN(readability-identifier-naming): the programs are C */
enum memstat_gfp_class {
  MEMSTAT_GFP_DMA,    /* of a zone that devices reach */
  MEMSTAT_GFP_ATOMIC, /* must not wait, and may have what is held in reserve */
  MEMSTAT_GFP_NOWAIT, /* must not wait, though kswapd may be woken */
  MEMSTAT_GFP_OTHER,  /* must not wait, and kswapd sleeps on */
  MEMSTAT_GFP_NOIO,   /* may wait, but not for a device */
  MEMSTAT_GFP_NOFS,   /* may wait, but not for a file system */
  MEMSTAT_GFP_USER,   /* may wait; for a program, on the nodes that its cpuset allows */
  MEMSTAT_GFP_KERNEL, /* may wait; for the kernel */
  MEMSTAT_GFP_CLASSES /* a power of two */
};
/* NOLINTEND(readability-identifier-naming) */

/* The bits of this kernel. */
struct memstat_gfp_flags {
  unsigned long long dma; /* or DMA32 */
  unsigned long long high;
  unsigned long long direct_reclaim;
  unsigned long long kswapd_reclaim;
  unsigned long long io;
  unsigned long long fs;
  unsigned long long hardwall;
  unsigned long long is_wanted; /* no flag: whether classes are counted */
};

/* Allocations of each class, and those that failed. */
struct memstat_gfp_counts {
  unsigned long long allocations[MEMSTAT_GFP_CLASSES];
  unsigned long long failures[MEMSTAT_GFP_CLASSES];
};

static inline __attribute__((always_inline)) unsigned int memstat_gfp_class_of(
    unsigned long long flags, const volatile struct memstat_gfp_flags* gfp) {
  if ((flags & gfp->dma) != 0) return MEMSTAT_GFP_DMA;
  if ((flags & gfp->direct_reclaim) == 0) {
    if ((flags & gfp->high) != 0) return MEMSTAT_GFP_ATOMIC;
    return (flags & gfp->kswapd_reclaim) != 0 ? MEMSTAT_GFP_NOWAIT : MEMSTAT_GFP_OTHER;
  }
  if ((flags & gfp->io) == 0) return MEMSTAT_GFP_NOIO;
  if ((flags & gfp->fs) == 0) return MEMSTAT_GFP_NOFS;
  return (flags & gfp->hardwall) != 0 ? MEMSTAT_GFP_USER : MEMSTAT_GFP_KERNEL;
}

/* Counts an allocation `weight` times, or a failure once. */
static inline __attribute__((always_inline)) void memstat_gfp_count(struct memstat_gfp_counts* counts,
                                                                    unsigned long long flags,
                                                                    const volatile struct memstat_gfp_flags* gfp,
                                                                    unsigned long long weight, int is_failure) {
  const unsigned int at = memstat_gfp_class_of(flags, gfp) & (MEMSTAT_GFP_CLASSES - 1);
  if (is_failure) {
    ++counts->failures[at];
  } else {
    counts->allocations[at] += weight;
  }
}
