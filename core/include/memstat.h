/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libmemstat: kernel memory statistics as a list of memory types.
 *
 * The first part is source compatible with FreeBSD's <memstat.h>: the same functions, constants, order and arithmetic. It
 * works on FreeBSD and, with captures of FreeBSD kernels, on every other system. The second part (from "Additions" on) is
 * ours.
 *
 * Defects of the original are fixed. Deliberate differences, which are also described at each function:
 *   - A failed query leaves the list, its figures and the caller's slots unchanged. (The original empties the list if the
 *     failure comes late.)
 *   - Types with the same name are separate entries, on every query. (The original merges them from the second query on;
 *     memstat_mtl_set_folding selects that.)
 *   - Nothing is evicted or freed before memstat_mtl_free. A type that the kernel no longer names keeps its last figures.
 *   - Reading a CPU, slot or size class that is out of range returns 0 or NULL. Setting one does nothing.
 *
 * Terms. An amount is current. A counter is cumulative since boot, or since the type was registered if it came with a
 * module. Sizes are in bytes. "Objects" are malloc(9) allocations, items of a zone, or objects of a slab cache. Counters are
 * read without a lock, so two of them may be from different instants.
 *
 * Zero: every accessor returns 0 for a value that the type's allocator does not have. memstat_get_figures lists those.
 * Lifetime: a list, its types, their names and slots live until memstat_mtl_free. Types never move: pointers to them remain
 * valid across queries.
 * Threads: a list and its types may be used by one thread at a time. Different threads may use different lists concurrently.
 * The table of size classes (memstat_malloc_zone_*) is shared by the whole process and may be read at any time.
 * NULL: reading a NULL list or type returns empty, 0, NULL or "". Setting does nothing. A query returns -1 with errno
 * EINVAL.
 * Capture: the environment variable MEMSTAT_CAPTURE (PATH or PATH@POLL, polls from 0, by default the last) or
 * memstat_mtl_set_capture selects a recording to read instead of the kernel. The variable is ignored in programs with more
 * privileges than their user (set-user-ID, set-group-ID).
 */
#ifndef MEMSTAT_H_
#define MEMSTAT_H_

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#if defined(__GNUC__)
#define MEMSTAT_EXPORT __attribute__((visibility("default")))
#else
#define MEMSTAT_EXPORT
#endif

/* Caller slots of each kind (integers, pointers), per type and per type and CPU. Valid indexes are 0 to 15. */
#define MEMSTAT_MAXCALLER 16
/* Room for the name of a FreeBSD type, including its NUL. Linux names may be longer. */
#define MEMTYPE_MAXNAME 32

/* Allocators. 1 and 2 are the original's; the others are additions. Numbers never change. */
#define ALLOCATOR_UNKNOWN 0       /* never stored */
#define ALLOCATOR_MALLOC 1        /* FreeBSD malloc(9) types */
#define ALLOCATOR_UMA 2           /* FreeBSD uma(9) zones */
#define ALLOCATOR_SLAB 3          /* Linux slab caches */
#define ALLOCATOR_VMALLOC 4       /* Linux vmalloc areas, by caller */
#define ALLOCATOR_CALL_SITE 5     /* Linux functions that allocate memory */
#define ALLOCATOR_PAGE 6          /* Linux page allocator zones, FreeBSD page queues */
#define ALLOCATOR_PERCPU 7        /* Linux per-CPU areas */
#define ALLOCATOR_HUGETLB 8       /* Linux huge page pools */
#define ALLOCATOR_CMA 9           /* Linux contiguous memory areas */
#define ALLOCATOR_ZSWAP 10        /* Linux compressed swap cache */
#define ALLOCATOR_MEMCG 11        /* Linux control groups */
#define ALLOCATOR_SOCKET 12       /* protocols and their socket memory */
#define ALLOCATOR_TABLE 13        /* bounded kernel tables: files, inodes, processes, ... */
#define ALLOCATOR_PROCESS 14      /* configured user processes */
#define ALLOCATOR_KMALLOC_SITE 15 /* Linux functions that allocate slab memory */
#define ALLOCATOR_JAIL 16         /* FreeBSD jails */
#define ALLOCATOR_ANY 255         /* for memstat_mtl_find only */

/* Errors of a list (memstat_mtl_geterror). */
#define MEMSTAT_ERROR_UNDEFINED 0     /* no query of this list has failed */
#define MEMSTAT_ERROR_NOMEMORY 1      /* out of memory, or the kernel could not deliver within bounded retries */
#define MEMSTAT_ERROR_VERSION 2       /* unknown kernel format, or unreadable statistics */
#define MEMSTAT_ERROR_PERMISSION 3    /* EACCES or EPERM */
#define MEMSTAT_ERROR_TOOMANYCPUS 4   /* never returned; for source compatibility */
#define MEMSTAT_ERROR_DATAERROR 5     /* inconsistent or truncated kernel data */
#define MEMSTAT_ERROR_KVM 6           /* crash dump: see kvm_geterr(3) */
#define MEMSTAT_ERROR_KVM_NOSYMBOL 7  /* crash dump: a kernel symbol is missing */
#define MEMSTAT_ERROR_KVM_SHORTREAD 8 /* crash dump: fewer bytes than requested */
#define MEMSTAT_ERROR_NOTPRESENT 16   /* addition: this kernel, or the capture, has no such statistics */
#define MEMSTAT_ERROR_IO 17           /* addition: any other failed read; see memstat_mtl_get_message */
#define MEMSTAT_ERROR_TIMEOUT 18      /* addition: no answer from the kernel in time */

#ifdef __cplusplus
extern "C" {
#endif

/* A memory type, and a list of memory types. Opaque. */
struct memory_type;
struct memory_type_list;

/* A short English description of an error, without a full stop. Static, never NULL. Accepts any number. */
MEMSTAT_EXPORT const char* memstat_strerror(int error);

/* ---- The list ---------------------------------------------------------------------------------------------------- */

/* Allocates an empty list whose error is MEMSTAT_ERROR_UNDEFINED. Returns NULL with errno ENOMEM if there is no memory. */
MEMSTAT_EXPORT struct memory_type_list* memstat_mtl_alloc(void);

/*
 * The first type, NULL if the list is empty; and the next type, NULL after the last. New types are inserted at the head and
 * never move. Kernels name the newest type first, so each allocator's types are listed oldest first, and after
 * memstat_sysctl_all the UMA zones precede the malloc types. Types that vanished from the kernel keep their place.
 */
MEMSTAT_EXPORT struct memory_type* memstat_mtl_first(struct memory_type_list* list);
MEMSTAT_EXPORT struct memory_type* memstat_mtl_next(struct memory_type* mtp);

/*
 * The type nearest the head with that allocator (ALLOCATOR_ANY: any) and exactly that name, or NULL. Does not change the
 * list's error.
 */
MEMSTAT_EXPORT struct memory_type* memstat_mtl_find(struct memory_type_list* list, int allocator, const char* name);

/* Frees the list and all its types. What pointer slots refer to belongs to the caller. Accepts NULL. */
MEMSTAT_EXPORT void memstat_mtl_free(struct memory_type_list* list);

/* The error of the last failed query, MEMSTAT_ERROR_*. A successful query does not clear it. */
MEMSTAT_EXPORT int memstat_mtl_geterror(struct memory_type_list* list);

/* ---- Queries ----------------------------------------------------------------------------------------------------- */

/*
 * Update the list from the sysctls of FreeBSD's kernel: kern.malloc_stats (malloc) and vm.zone_stats (uma). all queries
 * malloc, then uma. It stops at the first failure; malloc's figures may be updated by then. Existing types get new figures
 * and keep their address and slots; new types are added. `flags` is ignored; pass 0. No privilege is needed. Return 0 on
 * success, also for an empty stream, which changes nothing. Return -1 on failure, with the list's error set and the list
 * unchanged:
 *
 *   - PERMISSION: EACCES or EPERM from any sysctl except vm.malloc.zone_*.
 *   - DATAERROR: kern.smp.maxcpus or kern.smp.maxid cannot be read, an integer is not 4 bytes, or a stream is truncated or
 *     contains an unterminated name.
 *   - VERSION: kern.malloc_count, vm.zone_count or a stream cannot be read; vm.malloc.zone_* cannot be read or names more
 *     than 32 sizes; or a stream's version is not 1, or it is shorter than its header of 16 bytes.
 *   - NOMEMORY: out of memory, or the kernel still had no room for a stream after 8 retries.
 *   - NOTPRESENT (addition): this is not a FreeBSD kernel, and no capture of one is selected. IO, DATAERROR: the capture is
 *     unreadable.
 */
MEMSTAT_EXPORT int memstat_sysctl_all(struct memory_type_list* list, int flags);
MEMSTAT_EXPORT int memstat_sysctl_malloc(struct memory_type_list* list, int flags);
MEMSTAT_EXPORT int memstat_sysctl_uma(struct memory_type_list* list, int flags);

/*
 * Update the list from a crash dump or /dev/mem (`kvm_handle` is a kvm_t *), on FreeBSD 13 and later. memstat_mtl_get_notes
 * lists damaged types and zones. On other systems these return -1 with MEMSTAT_ERROR_KVM and leave the list unchanged;
 * memstat_mtl_set_capture reads dumps on any system.
 */
MEMSTAT_EXPORT int memstat_kvm_all(struct memory_type_list* list, void* kvm_handle);
MEMSTAT_EXPORT int memstat_kvm_malloc(struct memory_type_list* list, void* kvm_handle);
MEMSTAT_EXPORT int memstat_kvm_uma(struct memory_type_list* list, void* kvm_handle);

/* ---- Size classes of malloc(9) ----------------------------------------------------------------------------------- */

/*
 * The kernel's size classes, as of the last malloc query of this process (vm.malloc.zone_sizes; before FreeBSD 13 the powers
 * of two from 16 to 65536). Bit n of a sizemask is class n.
 *
 * get_count: number of classes, including the terminating 0 (15 on FreeBSD 13 and later); 0 before the first malloc query.
 * get_size: bytes of class n; 0 for the terminating one and beyond; (size_t)-1 for n >= 32.
 * used: 1 if the type ever allocated, or tried to allocate, from class n, otherwise 0. Requests above 64 KiB have no class.
 */
MEMSTAT_EXPORT size_t memstat_malloc_zone_get_count(void);
MEMSTAT_EXPORT size_t memstat_malloc_zone_get_size(size_t n);
MEMSTAT_EXPORT int memstat_malloc_zone_used(const struct memory_type* mtp, size_t n);

/* ---- Identity of a type ----------------------------------------------------------------------------------------- */

/* The type's name in valid UTF-8: at most 31 bytes for FreeBSD types (mth_name, uth_name), any length for Linux types. */
MEMSTAT_EXPORT const char* memstat_get_name(const struct memory_type* mtp);
/* ALLOCATOR_* */
MEMSTAT_EXPORT int memstat_get_allocator(const struct memory_type* mtp);

/* ---- Its figures, as of the last successful query that named it -------------------------------------------------- */

/* Maximum number of objects, including cached ones; 0: no limit. UMA (uth_limit). */
MEMSTAT_EXPORT uint64_t memstat_get_countlimit(const struct memory_type* mtp);
/* Maximum bytes: countlimit x size, in 64 bits; 0: no limit. UMA. */
MEMSTAT_EXPORT uint64_t memstat_get_byteslimit(const struct memory_type* mtp);
/* Set of size classes used so far: bit n is class n (see memstat_malloc_zone_used). malloc (mts_size). */
MEMSTAT_EXPORT uint64_t memstat_get_sizemask(const struct memory_type* mtp);
/* Usable bytes per object. UMA (uth_size), slab (object_size in /sys/kernel/slab). */
MEMSTAT_EXPORT uint64_t memstat_get_size(const struct memory_type* mtp);
/* Bytes that one object occupies, including padding. UMA (uth_rsize; 0 for cache zones), slab (objsize in slabinfo). */
MEMSTAT_EXPORT uint64_t memstat_get_rsize(const struct memory_type* mtp);
/* Bytes allocated and freed, counters. malloc: bytes rounded up to size classes (mts_memalloced, mts_memfreed). UMA: the
 * counts x size. */
MEMSTAT_EXPORT uint64_t memstat_get_memalloced(const struct memory_type* mtp);
MEMSTAT_EXPORT uint64_t memstat_get_memfreed(const struct memory_type* mtp);
/* Allocations and frees, counters. malloc (mts_numallocs, mts_numfrees). UMA (uth_allocs + every CPU's ups_allocs,
 * uth_frees + ups_frees; allocations are never below frees). */
MEMSTAT_EXPORT uint64_t memstat_get_numallocs(const struct memory_type* mtp);
MEMSTAT_EXPORT uint64_t memstat_get_numfrees(const struct memory_type* mtp);
/*
 * Bytes in use, an amount. malloc: memalloced - memfreed, modulo 2^64 (a racy sample may be just below 2^64). UMA: count x
 * size (less than the memory held: see memstat_get_held_bytes). slab: active_objs x objsize. vmalloc: pages that the areas
 * own x page size; 0 for ioremap, vmap and percpu areas, which map devices or memory of others. Call sites: bytes allocated
 * and not yet freed.
 */
MEMSTAT_EXPORT uint64_t memstat_get_bytes(const struct memory_type* mtp);
/* Objects in use, an amount. malloc: numallocs - numfrees, modulo 2^64. UMA: the same, never negative. slab: active_objs.
 * vmalloc: areas. Call sites: allocations. */
MEMSTAT_EXPORT uint64_t memstat_get_count(const struct memory_type* mtp);
/* Objects cached for reuse, an amount. UMA: all CPUs' caches + zonefree + kegfree. slab: num_objs - active_objs. vmalloc:
 * freed areas that are not yet unmapped, in the type "unknown (unpurged)" only. */
MEMSTAT_EXPORT uint64_t memstat_get_free(const struct memory_type* mtp);
/* Failed allocations, a counter. UMA (uth_fails); some zones fail routinely. */
MEMSTAT_EXPORT uint64_t memstat_get_failures(const struct memory_type* mtp);
/* Allocations that waited at the limit, a counter. UMA (uth_sleeps). */
MEMSTAT_EXPORT uint64_t memstat_get_sleeps(const struct memory_type* mtp);
/* Frees on a NUMA domain other than the allocation's, a counter. UMA (uth_xdomain). */
MEMSTAT_EXPORT uint64_t memstat_get_xdomain(const struct memory_type* mtp);
/* Objects cached in the zone, without CPU caches, an amount. UMA (uth_zone_free). */
MEMSTAT_EXPORT uint64_t memstat_get_zonefree(const struct memory_type* mtp);
/* Free objects in the keg's slabs, an amount; 0 for secondary zones, which share another zone's keg. UMA (uth_keg_free). */
MEMSTAT_EXPORT uint64_t memstat_get_kegfree(const struct memory_type* mtp);

/* ---- The caller's slots ------------------------------------------------------------------------------------------ */

/*
 * 16 integers and 16 pointers per type: 0 and NULL until set, kept across queries, never used by the library. Setters store
 * nothing if `index` is out of range or, with errno ENOMEM, if the first use of a slot cannot allocate memory.
 */
MEMSTAT_EXPORT void* memstat_get_caller_pointer(const struct memory_type* mtp, int index);
MEMSTAT_EXPORT void memstat_set_caller_pointer(struct memory_type* mtp, int index, void* value);
MEMSTAT_EXPORT uint64_t memstat_get_caller_uint64(const struct memory_type* mtp, int index);
MEMSTAT_EXPORT void memstat_set_caller_uint64(struct memory_type* mtp, int index, uint64_t value);

/* ---- Figures on one CPU ------------------------------------------------------------------------------------------ */

/*
 * `cpu` is the kernel's CPU number; absent CPUs read as 0 (see memstat_get_cpu_count). A free counts on the CPU where it
 * happens, so allocations minus frees is meaningful only summed over all CPUs. memalloced, memfreed (bytes), numallocs,
 * numfrees, sizemask: counters, malloc only. As in the original they are 0 for UMA, whose per-CPU counts are part of
 * memstat_get_numallocs. free: objects cached by the CPU, an amount, UMA only (ups_cache_free).
 */
MEMSTAT_EXPORT uint64_t memstat_get_percpu_memalloced(const struct memory_type* mtp, int cpu);
MEMSTAT_EXPORT uint64_t memstat_get_percpu_memfreed(const struct memory_type* mtp, int cpu);
MEMSTAT_EXPORT uint64_t memstat_get_percpu_numallocs(const struct memory_type* mtp, int cpu);
MEMSTAT_EXPORT uint64_t memstat_get_percpu_numfrees(const struct memory_type* mtp, int cpu);
MEMSTAT_EXPORT uint64_t memstat_get_percpu_sizemask(const struct memory_type* mtp, int cpu);
MEMSTAT_EXPORT uint64_t memstat_get_percpu_free(const struct memory_type* mtp, int cpu);
/* 16 integers and 16 pointers per type and CPU, as above. CPUs at or above memstat_get_cpu_count have none. */
MEMSTAT_EXPORT void* memstat_get_percpu_caller_pointer(const struct memory_type* mtp, int cpu, int index);
MEMSTAT_EXPORT void memstat_set_percpu_caller_pointer(struct memory_type* mtp, int cpu, int index, void* value);
MEMSTAT_EXPORT uint64_t memstat_get_percpu_caller_uint64(const struct memory_type* mtp, int cpu, int index);
MEMSTAT_EXPORT void memstat_set_percpu_caller_uint64(struct memory_type* mtp, int cpu, int index, uint64_t value);

/* ==== Additions: what follows is not in FreeBSD's <memstat.h> ===================================================== */

/*
 * Selects what the list reads from the next query on, overriding MEMSTAT_CAPTURE. `reference` is a capture (a directory,
 * .tar or .tar.zst; PATH or PATH@POLL) or a Linux crash dump (an ELF file of x86_64 or aarch64 with VMCOREINFO). "live" or
 * "" selects this machine's kernel. NULL restores the default: MEMSTAT_CAPTURE, or the kernel if it is not set or "live".
 * Types already listed remain. Returns 0, or -1 with the list's error set (NOTPRESENT, PERMISSION, DATAERROR, VERSION, IO,
 * NOMEMORY) and everything unchanged.
 */
MEMSTAT_EXPORT int memstat_mtl_set_capture(struct memory_type_list* list, const char* reference);

/*
 * Non-zero selects the original's treatment of types with the same name. A query of a list that is not empty then writes all
 * records of a name to one entry, the one nearest the head. That entry ends with the last record's figures, and others of
 * that name keep stale figures. Zero (the default): each type is a separate entry, on every query. Set it before the first
 * query.
 */
MEMSTAT_EXPORT void memstat_mtl_set_folding(struct memory_type_list* list, int folding);

/* Number of types in the list, including vanished ones. */
MEMSTAT_EXPORT size_t memstat_mtl_get_count(const struct memory_type_list* list);

/* The last failure as one line: source, path or sysctl, and what is wrong; "" if there was none. Valid until the next
 * query. */
MEMSTAT_EXPORT const char* memstat_mtl_get_message(const struct memory_type_list* list);

/* Damage in the crash dump that the list reads, which makes figures too low or missing. One line per type, with
 * its name and a newline; "" if nothing is damaged, and for captures. Valid until the next query or set_capture. */
MEMSTAT_EXPORT const char* memstat_mtl_get_notes(const struct memory_type_list* list);

/*
 * Update the list from a Linux kernel: that of the selected capture if it is Linux, otherwise this machine's. All sources
 * that the kernel has are read (linux_slab: slab caches from /proc/slabinfo; linux_vmalloc: vmalloc areas from
 * /proc/vmallocinfo; only root may read either). `flags` is ignored. Return 0, or -1 with the list's error set. linux_all
 * continues after a failure and returns the first error; NOTPRESENT if there is no source at all.
 */
MEMSTAT_EXPORT int memstat_linux_all(struct memory_type_list* list, int flags);
MEMSTAT_EXPORT int memstat_linux_slab(struct memory_type_list* list, int flags);
MEMSTAT_EXPORT int memstat_linux_vmalloc(struct memory_type_list* list, int flags);

/*
 * Sources by name, as in memstatd's configuration and `memstatd --list-sources`. get_name: NULL for n >= get_count. query:
 * updates the list from that source only; NOTPRESENT also for an unknown name.
 */
MEMSTAT_EXPORT size_t memstat_source_get_count(void);
MEMSTAT_EXPORT const char* memstat_source_get_name(size_t n);
MEMSTAT_EXPORT int memstat_source_query(struct memory_type_list* list, const char* name, int flags);

/* The system that provides the source: "linux" or "freebsd". Static; NULL for n >= memstat_source_get_count(). */
MEMSTAT_EXPORT const char* memstat_source_get_os(size_t n);

/*
 * Updates the list from the selected kernel, whichever system it is, with all sources that are on by default. Continues
 * after a failure and returns as memstat_linux_all does.
 */
MEMSTAT_EXPORT int memstat_kernel_all(struct memory_type_list* list, int flags);

/*
 * Reads the raw bytes of one sysctl of the FreeBSD kernel or capture that the list reads, for reports that show more than
 * memory types (kern.ipc.sfstat). `*size` is the size of `buffer` in bytes, and on return the number of bytes stored.
 * Changes nothing in the list except its error. Returns 0, or -1 with PERMISSION, NOTPRESENT (no such sysctl), DATAERROR
 * with the required size in `*size` if the buffer is too small, NOMEMORY, IO.
 */
MEMSTAT_EXPORT int memstat_sysctl_get(struct memory_type_list* list, const char* name, void* buffer, size_t* size);

/* One more than the highest CPU with figures for this type; 0 if it has no per-CPU figures. CPU numbers may have gaps. */
MEMSTAT_EXPORT int memstat_get_cpu_count(const struct memory_type* mtp);

/* The type's number among the types of this allocator and name, 0 for the oldest; and how many of them the kernel last
 * named. */
MEMSTAT_EXPORT int memstat_get_ordinal(const struct memory_type* mtp);
MEMSTAT_EXPORT int memstat_get_duplicates(const struct memory_type* mtp);

/* 1 if the last query of its allocator named the type, 0 if it has vanished and keeps its last figures. */
MEMSTAT_EXPORT int memstat_is_present(const struct memory_type* mtp);

/* 1 if failures of the type are routine and no reason for an alert, as for UMA's bucket zones; otherwise 0. */
MEMSTAT_EXPORT int memstat_fails_routinely(const struct memory_type* mtp);

/* 1 if the type's memory also appears, in parts, under other types (page zones, control groups, processes, the zones of
 * malloc), so that it must not be ranked together with them; otherwise 0. */
MEMSTAT_EXPORT int memstat_is_container(const struct memory_type* mtp);

/* Extra text about the type, such as file and line of a call site: valid UTF-8, "" for most types. Valid until the next
 * query or until the list is freed. */
MEMSTAT_EXPORT const char* memstat_get_detail(const struct memory_type* mtp);

/* Bytes taken from the system, including free objects and padding, an amount; 0 for secondary zones, whose memory belongs
 * to another zone. UMA (uth_pages x page size), slab (num_slabs x pagesperslab x page size). */
MEMSTAT_EXPORT uint64_t memstat_get_held_bytes(const struct memory_type* mtp);

/* The figures that the kernel provides for the type: a set of MEMSTAT_FIGURE_*. Contains a limit only if one is set. */
#define MEMSTAT_FIGURE_BYTES (1u << 0)
#define MEMSTAT_FIGURE_COUNT (1u << 1)
#define MEMSTAT_FIGURE_HELD_BYTES (1u << 2)
#define MEMSTAT_FIGURE_FREE (1u << 3)
#define MEMSTAT_FIGURE_ZONEFREE (1u << 4)
#define MEMSTAT_FIGURE_KEGFREE (1u << 5)
#define MEMSTAT_FIGURE_NUMALLOCS (1u << 6)
#define MEMSTAT_FIGURE_NUMFREES (1u << 7)
#define MEMSTAT_FIGURE_MEMALLOCED (1u << 8)
#define MEMSTAT_FIGURE_MEMFREED (1u << 9)
#define MEMSTAT_FIGURE_FAILURES (1u << 10)
#define MEMSTAT_FIGURE_SLEEPS (1u << 11)
#define MEMSTAT_FIGURE_XDOMAIN (1u << 13)
#define MEMSTAT_FIGURE_COUNTLIMIT (1u << 14)
#define MEMSTAT_FIGURE_BYTESLIMIT (1u << 15)
#define MEMSTAT_FIGURE_SIZE (1u << 16)
#define MEMSTAT_FIGURE_RSIZE (1u << 17)
#define MEMSTAT_FIGURE_SIZEMASK (1u << 18)
MEMSTAT_EXPORT uint32_t memstat_get_figures(const struct memory_type* mtp);

/*
 * Per-CPU figures that the kernel provides for the type, including those that the first part hides as the original does
 * (allocations and frees of zones). get_cpu_figures: a set of MEMSTAT_CPU_FIGURE_*. get_cpu_figure: one of them; 0 if the
 * kernel does not provide it, for an absent CPU, and if `figure` is not exactly one member of the set.
 */
#define MEMSTAT_CPU_FIGURE_NUMALLOCS (1u << 0)  /* allocations, a counter */
#define MEMSTAT_CPU_FIGURE_NUMFREES (1u << 1)   /* frees, a counter */
#define MEMSTAT_CPU_FIGURE_MEMALLOCED (1u << 2) /* bytes allocated, a counter */
#define MEMSTAT_CPU_FIGURE_MEMFREED (1u << 3)   /* bytes freed, a counter */
#define MEMSTAT_CPU_FIGURE_FREE (1u << 4)       /* objects that the CPU caches for reuse, an amount */
#define MEMSTAT_CPU_FIGURE_SIZEMASK (1u << 5)   /* as memstat_get_percpu_sizemask */
MEMSTAT_EXPORT uint32_t memstat_get_cpu_figures(const struct memory_type* mtp);
MEMSTAT_EXPORT uint64_t memstat_get_cpu_figure(const struct memory_type* mtp, int cpu, uint32_t figure);

/* ---- Figures on one NUMA node (FreeBSD: domain) ------------------------------------------------------------------ */

/*
 * `node` is the kernel's node number. All are amounts; an unknown node reads as 0. Linux: vmalloc (held_bytes), huge page
 * pools (held_bytes, count and free), page allocator zones, slab caches from /sys/kernel/slab.
 *
 * get_node_count: one more than the highest node with figures for the type; 0 if it has none by node.
 * get_node_figures: the figures that the kernel provides, a set of MEMSTAT_NODE_FIGURE_*; the others are 0.
 * held_bytes: bytes of this node's memory. count: objects in use. free: objects cached for reuse. slots: objects that fit,
 * in use or free.
 */
#define MEMSTAT_NODE_FIGURE_HELD_BYTES (1u << 0)
#define MEMSTAT_NODE_FIGURE_COUNT (1u << 1)
#define MEMSTAT_NODE_FIGURE_FREE (1u << 2)
#define MEMSTAT_NODE_FIGURE_SLOTS (1u << 3)
MEMSTAT_EXPORT int memstat_get_node_count(const struct memory_type* mtp);
MEMSTAT_EXPORT uint32_t memstat_get_node_figures(const struct memory_type* mtp);
MEMSTAT_EXPORT uint64_t memstat_get_pernode_held_bytes(const struct memory_type* mtp, int node);
MEMSTAT_EXPORT uint64_t memstat_get_pernode_count(const struct memory_type* mtp, int node);
MEMSTAT_EXPORT uint64_t memstat_get_pernode_free(const struct memory_type* mtp, int node);
MEMSTAT_EXPORT uint64_t memstat_get_pernode_slots(const struct memory_type* mtp, int node);

/* ---- Memory of the machine --------------------------------------------------------------------------------------- */

/* The kernel, or capture, that a list reads. Unknown members are "" or 0. */
struct memstat_kernel {
  char host[256];    /* host name; not in captures */
  char os[16];       /* "linux", "freebsd" */
  char release[128]; /* as in uname(3) */
  char machine[64];  /* "x86_64", "amd64" */
  int is_capture;    /* 1: a capture; 0: the running kernel of this machine */
  int64_t time_ns;   /* time of the poll that queries read, in nanoseconds since 1970 (UTC); for a running kernel, now */
};

/* Returns the kernel that queries of the list read. 0, or -1 with the list's error set: NOTPRESENT (no kernel to read),
 * or the capture is unreadable. */
MEMSTAT_EXPORT int memstat_get_kernel(struct memory_type_list* list, struct memstat_kernel* kernel);

/* The machine's memory, in bytes now. */
struct memstat_memory {
  uint64_t total;      /* memory that the kernel manages */
  uint64_t free;       /* unused memory */
  uint64_t available;  /* memory that programs can get without paging, by the kernel's own estimate; 0: no estimate */
  int64_t unaccounted; /* neither free nor in any reported part; may be negative, since the figures are not read at one
                          instant */
};

/*
 * Reads the memory of the kernel or capture that the list reads (/proc/meminfo; vm.stats.vm). Changes nothing in the list
 * except its error. Returns 0, or -1 with NOTPRESENT, PERMISSION, DATAERROR, IO, NOMEMORY.
 */
MEMSTAT_EXPORT int memstat_get_memory(struct memory_type_list* list, struct memstat_memory* memory);

/* The location of a physical address. */
struct memstat_memory_block {
  int node;       /* NUMA node */
  int is_online;  /* 0: the kernel does not use this memory now */
  int is_block;   /* 1: first and last are those of a memory block; 0: of a zone, which may have gaps */
  uint64_t first; /* first and last address of the block or zone */
  uint64_t last;
};

/*
 * Finds the NUMA node of a physical address of the Linux kernel or capture that the list reads: from its memory blocks
 * (/sys/devices/system/memory), or from its zones (/proc/zoneinfo) if it has no blocks or does not report their node. No
 * privilege is needed. Changes nothing in the list except its error. Returns 0, or -1 with NOTPRESENT (no memory at that
 * address, or the kernel does not report its node; memstat_mtl_get_message returns which), PERMISSION, DATAERROR, IO,
 * NOMEMORY.
 */
MEMSTAT_EXPORT int memstat_find_memory_block(struct memory_type_list* list, uint64_t address,
                                             struct memstat_memory_block* block);

/* The memory of one process, in bytes now. All are 0 for kernel threads and zombies. */
struct memstat_process {
  uint64_t size;     /* address space, backed by memory or not */
  uint64_t resident; /* in memory; shared pages count for each process */
  uint64_t shared;   /* part of `resident` backed by files or shared memory */
  uint64_t text;     /* address space of the program's code, without libraries */
  uint64_t data;     /* address space for data and stack */
  char name[64];     /* the kernel's name of it, NUL-terminated and truncated if needed; any bytes */
};

/*
 * Reads /proc/PID/statm and comm of the Linux kernel or capture that the list reads. 0 is the calling process (in a capture,
 * the process that made it). Changes nothing in the list except its error. Returns 0, or -1 with NOTPRESENT (no such
 * process, or it is hidden), PERMISSION, DATAERROR, IO, NOMEMORY.
 */
MEMSTAT_EXPORT int memstat_get_process(struct memory_type_list* list, int pid, struct memstat_process* process);

/*
 * Format amounts of bytes for people. bytes_to_string: "  512", " 1.0K", "99.9M", " 100G": below 1024 the number itself,
 * otherwise K, M or G, with one decimal below 100; truncated, not rounded; five characters wide, more from 10000 G on.
 * process_to_string: "size: 301m, rss: 11m, shr: 8m, txt: 52k, data: 2248k"; each amount is exact if four digits suffice.
 * Both write at most `room` bytes, including the NUL, and return the length of the whole text, as snprintf(3) does.
 */
MEMSTAT_EXPORT size_t memstat_bytes_to_string(uint64_t bytes, char* text, size_t room);
MEMSTAT_EXPORT size_t memstat_process_to_string(const struct memstat_process* process, char* text, size_t room);

/* ---- Polls of a capture, and recording --------------------------------------------------------------------------- */

/* One poll of a capture. */
struct memstat_poll {
  int64_t realtime_ns;   /* time of the poll: nanoseconds since 1970 (UTC) */
  int64_t monotonic_ns;  /* monotonic nanoseconds from an unspecified origin, for the time between two polls */
  uint64_t failed_reads; /* reads that failed in this poll */
  char label[64];        /* for people: any bytes, NUL-terminated and truncated if needed; may be empty */
};

/*
 * Polls of the capture that the list reads, numbered from 0. get_count: the number of polls, at least 1; 0 if the list reads
 * anything but a capture. get_poll: describes poll `number`. select: makes the next query read poll `number`; the archive
 * stays open, and types and slots remain. Change nothing in the list except its error. Return 0, or -1 with NOTPRESENT (no
 * capture, no such poll), DATAERROR, IO.
 */
MEMSTAT_EXPORT size_t memstat_capture_get_count(struct memory_type_list* list);
MEMSTAT_EXPORT int memstat_capture_get_poll(struct memory_type_list* list, size_t number, struct memstat_poll* poll);
MEMSTAT_EXPORT int memstat_capture_select(struct memory_type_list* list, size_t number);

/*
 * Records this machine's kernel as a capture, as `memstatd --record` does: files of mode 0600, kernel addresses zeroed.
 *
 * begin: starts a recording to `output`, a directory, or an archive if the name ends in ".tar" or ".tar.zst". Overwrites
 * nothing; `output` may only exist as an empty directory that you own. All polls together take at most `max_bytes` on disk,
 * and the oldest are removed (0: no limit).
 * poll: reads every source that is on by default, updates the list, and writes the reads as one poll. `label` is for people;
 * NULL for none. A poll is complete or absent.
 * end: packs the archive. If the list is freed without it, the polls of an archive remain in the hidden directory
 * .NAME.polls in the same directory.
 *
 * Return 0, or -1 with the list's error set: IO, PERMISSION, NOMEMORY, DATAERROR (the target exists, the list reads a
 * capture, or calls are out of order), NOTPRESENT (a directory above `output` is missing, or no source of this kernel could
 * be read, in which case no poll is written).
 */
MEMSTAT_EXPORT int memstat_record_begin(struct memory_type_list* list, const char* output, uint64_t max_bytes);
MEMSTAT_EXPORT int memstat_record_poll(struct memory_type_list* list, const char* label);
MEMSTAT_EXPORT int memstat_record_end(struct memory_type_list* list);

#ifdef __cplusplus
}
#endif

#endif /* MEMSTAT_H_ */
