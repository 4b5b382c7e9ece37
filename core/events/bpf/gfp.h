/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Classes of GFP flags. The flags limit what the kernel may do to find memory. C, for BPF programs and memstatd.
 * Thread safety: types and a pure function. */
#pragma once

/* Their words are in table.cpp. */
/* NOLINTBEGIN(readability-identifier-naming): the programs are C */
enum memstat_gfp_class {
  MEMSTAT_GFP_DMA,    /* from a zone that devices can reach */
  MEMSTAT_GFP_ATOMIC, /* must not sleep, and may use reserves */
  MEMSTAT_GFP_NOWAIT, /* must not sleep, but may wake kswapd */
  MEMSTAT_GFP_OTHER,  /* must not sleep, and must not wake kswapd */
  MEMSTAT_GFP_NOIO,   /* may sleep, but must not start device I/O */
  MEMSTAT_GFP_NOFS,   /* may sleep, but must not call a file system */
  MEMSTAT_GFP_USER,   /* may sleep; for a process, on the nodes of its cpuset */
  MEMSTAT_GFP_KERNEL, /* may sleep; for the kernel */
  MEMSTAT_GFP_CLASSES /* a power of two */
};
/* NOLINTEND(readability-identifier-naming) */

/* This kernel's bits. */
struct memstat_gfp_flags {
  unsigned long long dma; /* DMA or DMA32 */
  unsigned long long high;
  unsigned long long direct_reclaim;
  unsigned long long kswapd_reclaim;
  unsigned long long io;
  unsigned long long fs;
  unsigned long long hardwall;
  unsigned long long is_wanted; /* not a flag: whether classes are counted */
};

/* Allocations and failed allocations by class. */
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

/* Counts an allocation `weight` times; a failure counts once. */
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
