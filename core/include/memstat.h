/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libmemstat: kernel memory statistics as a list of memory types.
 *
 * The first part is source compatible with FreeBSD's <memstat.h>: the same functions, constants, order and arithmetic, on
 * FreeBSD and, for captures of FreeBSD kernels, on every other system. The second part (from "Additions" on) is ours.
 *
 * Where upstream is defective we are not, and where we differ on purpose it is said at the function:
 *   - a failed query leaves the list, its figures and the caller's slots as they were (upstream empties the list when the
 *     failure comes late);
 *   - types of one name are shown each, on every query (upstream folds them onto one from the second query on; that is to be
 *     had with memstat_mtl_set_folding);
 *   - nothing is evicted or freed before memstat_mtl_free: a type that the kernel no longer names keeps its last figures;
 *   - a CPU, a slot or a size class out of range reads as 0 or NULL, and setting it does nothing.
 *
 * Words. An amount is what there is now; a counter is cumulative since the kernel booted (or since the type was registered,
 * for one that came with a module). Sizes are in bytes. "Objects" are malloc(9) allocations, items of a zone, objects of a
 * slab cache. Counters are sampled without a lock: two of them need not be of the same instant.
 * Zero: every accessor returns 0 for a value that the type's allocator does not have; memstat_get_figures shows which are
 * real.
 * Lifetime: a list, its types, their names and slots live until memstat_mtl_free. Types never move: pointers to them stay
 * good through all queries.
 * Threads: a list and its types belong to one thread at a time. Different lists may be used by different threads at once.
 * The table of size classes (memstat_malloc_zone_*) is one for the whole process and may be read at any time.
 * NULL: a list or a type that is NULL reads as empty, 0, NULL or "", setting something of it does nothing, and a query of it
 * is -1 with errno EINVAL.
 * Capture: the environment variable MEMSTAT_CAPTURE (PATH or PATH@POLL, polls counting from 0, the last by default) or
 * memstat_mtl_set_capture names a recording that is read in place of the kernel. The variable is ignored in programs that
 * run with more rights than their user's (set-user-ID, set-group-ID).
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

/* Caller slots of each kind (integers, pointers), per type and per type and CPU: valid indexes are 0 to 15. */
#define MEMSTAT_MAXCALLER 16
/* Room for the name of a FreeBSD type, its NUL included. Linux names may be longer. */
#define MEMTYPE_MAXNAME 32

/* Allocators. 1 and 2 are upstream's; from 3 on they are Linux's. Numbers never change. */
#define ALLOCATOR_UNKNOWN 0       /* never stored */
#define ALLOCATOR_MALLOC 1        /* FreeBSD malloc(9) types */
#define ALLOCATOR_UMA 2           /* FreeBSD uma(9) zones */
#define ALLOCATOR_SLAB 3          /* Linux slab caches */
#define ALLOCATOR_VMALLOC 4       /* Linux vmalloc areas, by caller */
#define ALLOCATOR_CALL_SITE 5     /* Linux functions that allocate memory */
#define ALLOCATOR_PAGE 6          /* zones of Linux's page allocator, queues of FreeBSD's */
#define ALLOCATOR_PERCPU 7        /* Linux per-CPU areas */
#define ALLOCATOR_HUGETLB 8       /* Linux pools of huge pages */
#define ALLOCATOR_CMA 9           /* Linux areas of contiguous memory */
#define ALLOCATOR_ZSWAP 10        /* Linux compressed swap cache */
#define ALLOCATOR_MEMCG 11        /* Linux control groups */
#define ALLOCATOR_SOCKET 12       /* protocols and their socket memory */
#define ALLOCATOR_TABLE 13        /* bounded tables of a kernel: files, inodes, processes, ... */
#define ALLOCATOR_PROCESS 14      /* user processes that were asked for */
#define ALLOCATOR_KMALLOC_SITE 15 /* Linux functions that ask for slab memory */
#define ALLOCATOR_ANY 255         /* only for memstat_mtl_find */

/* Errors of a list (memstat_mtl_geterror). */
#define MEMSTAT_ERROR_UNDEFINED 0     /* no query of this list has failed yet */
#define MEMSTAT_ERROR_NOMEMORY 1      /* no memory here, or the kernel could not deliver within bounded retries */
#define MEMSTAT_ERROR_VERSION 2       /* the kernel's format is not one that we know, or its statistics cannot be read */
#define MEMSTAT_ERROR_PERMISSION 3    /* EACCES or EPERM */
#define MEMSTAT_ERROR_TOOMANYCPUS 4   /* never returned; old sources name it */
#define MEMSTAT_ERROR_DATAERROR 5     /* the kernel's bytes contradict themselves or are cut short */
#define MEMSTAT_ERROR_KVM 6           /* crash dump: ask kvm_geterr(3) */
#define MEMSTAT_ERROR_KVM_NOSYMBOL 7  /* crash dump: a kernel symbol is missing */
#define MEMSTAT_ERROR_KVM_SHORTREAD 8 /* crash dump: fewer bytes than asked for */
#define MEMSTAT_ERROR_NOTPRESENT 16   /* ours: this kernel, or the capture, does not have such statistics */
#define MEMSTAT_ERROR_IO 17           /* ours: any other failed read; memstat_mtl_get_message says which */
#define MEMSTAT_ERROR_TIMEOUT 18      /* ours: the kernel did not answer in time */

#ifdef __cplusplus
extern "C" {
#endif

/* One memory type, and a list of them: opaque. */
struct memory_type;
struct memory_type_list;

/* A few words for an error number, in English, without a full stop. Static, never NULL; any number is accepted. */
MEMSTAT_EXPORT const char* memstat_strerror(int error);

/* ---- The list ---------------------------------------------------------------------------------------------------- */

/* A new, empty list whose error is MEMSTAT_ERROR_UNDEFINED. NULL with errno ENOMEM when there is no memory. */
MEMSTAT_EXPORT struct memory_type_list* memstat_mtl_alloc(void);

/*
 * The first type, NULL when the list is empty, and the one after a type, NULL after the last. New types are inserted at the
 * head and never move: kernels name the newest first, so each allocator's types come oldest first, and after
 * memstat_sysctl_all the UMA zones come before the malloc types. Types that vanished from the kernel stay in their place.
 */
MEMSTAT_EXPORT struct memory_type* memstat_mtl_first(struct memory_type_list* list);
MEMSTAT_EXPORT struct memory_type* memstat_mtl_next(struct memory_type* mtp);

/*
 * The type nearest to the head with that allocator (ALLOCATOR_ANY: with any) and exactly that name, NULL when there is none.
 * The list's error stays as it is.
 */
MEMSTAT_EXPORT struct memory_type* memstat_mtl_find(struct memory_type_list* list, int allocator, const char* name);

/* Frees the list and all its types; what pointer slots lead to is the caller's. NULL: nothing happens. */
MEMSTAT_EXPORT void memstat_mtl_free(struct memory_type_list* list);

/* The error of the last query that failed, MEMSTAT_ERROR_*; a query that succeeds does not clear it. */
MEMSTAT_EXPORT int memstat_mtl_geterror(struct memory_type_list* list);

/* ---- Queries ----------------------------------------------------------------------------------------------------- */

/*
 * Refresh the list from FreeBSD's kernel: the sysctls kern.malloc_stats (malloc) and vm.zone_stats (uma); all is malloc,
 * then uma, and stops at the first failure with malloc's figures refreshed. Types already listed get new figures and keep
 * their address and slots; new ones are added. `flags` is ignored; pass 0. No privilege is needed. 0 on success (also for an
 * empty stream, which changes nothing); -1 with the list's error set, and the list as it was:
 *
 * - PERMISSION: EACCES or EPERM from any sysctl but vm.malloc.zone_*.
 * - DATAERROR: kern.smp.maxcpus or kern.smp.maxid cannot be read, an integer has another size than 4, or a stream is cut
 *   short or has a name without its NUL.
 * - VERSION: kern.malloc_count, vm.zone_count or a stream cannot be read, vm.malloc.zone_* cannot be read or names more than
 *   32 sizes, or a stream has another version than 1 or less than its header of 16 bytes.
 * - NOMEMORY: no memory, or the kernel still had no room for a stream after 8 retries.
 * - NOTPRESENT (ours): no FreeBSD kernel here, and no capture of one is named; IO, DATAERROR: the capture is unreadable.
 */
MEMSTAT_EXPORT int memstat_sysctl_all(struct memory_type_list* list, int flags);
MEMSTAT_EXPORT int memstat_sysctl_malloc(struct memory_type_list* list, int flags);
MEMSTAT_EXPORT int memstat_sysctl_uma(struct memory_type_list* list, int flags);

/*
 * Refresh the list from a crash dump or /dev/mem (`kvm_handle` is a kvm_t *), on FreeBSD 13 and later. Types and zones
 * that are damaged there are named by memstat_mtl_get_notes. Elsewhere -1 with MEMSTAT_ERROR_KVM, and the list as it was;
 * memstat_mtl_set_capture reads dumps on any system.
 */
MEMSTAT_EXPORT int memstat_kvm_all(struct memory_type_list* list, void* kvm_handle);
MEMSTAT_EXPORT int memstat_kvm_malloc(struct memory_type_list* list, void* kvm_handle);
MEMSTAT_EXPORT int memstat_kvm_uma(struct memory_type_list* list, void* kvm_handle);

/* ---- Size classes of malloc(9) ----------------------------------------------------------------------------------- */

/*
 * The kernel's size classes as the last malloc query of this process learned them (vm.malloc.zone_sizes; before FreeBSD 13
 * the powers of two from 16 to 65536). Bit n of a sizemask is class n.
 * get_count: how many, the closing 0 included (15 on FreeBSD 13 and later); 0 before the first malloc query.
 * get_size: bytes of class n, 0 for the closing one and beyond, (size_t)-1 for n >= 32.
 * used: 1 when the type ever had an allocation, or an attempt at one, served from class n, else 0. Requests above 64 KiB
 * belong to no class.
 */
MEMSTAT_EXPORT size_t memstat_malloc_zone_get_count(void);
MEMSTAT_EXPORT size_t memstat_malloc_zone_get_size(size_t n);
MEMSTAT_EXPORT int memstat_malloc_zone_used(const struct memory_type* mtp, size_t n);

/* ---- What a type is ---------------------------------------------------------------------------------------------- */

/* Its name, as valid UTF-8: at most 31 bytes for FreeBSD's types (mth_name, uth_name), of any length for Linux's. */
MEMSTAT_EXPORT const char* memstat_get_name(const struct memory_type* mtp);
/* ALLOCATOR_* */
MEMSTAT_EXPORT int memstat_get_allocator(const struct memory_type* mtp);

/* ---- Its figures, as of the last successful query that named it -------------------------------------------------- */

/* Objects allowed at most, those in caches included; 0: no limit. UMA (uth_limit). */
MEMSTAT_EXPORT uint64_t memstat_get_countlimit(const struct memory_type* mtp);
/* Bytes allowed at most: countlimit x size, in 64 bits; 0: no limit. UMA. */
MEMSTAT_EXPORT uint64_t memstat_get_byteslimit(const struct memory_type* mtp);
/* Size classes used so far, bit n for class n (see memstat_malloc_zone_used). malloc (mts_size). */
MEMSTAT_EXPORT uint64_t memstat_get_sizemask(const struct memory_type* mtp);
/* Bytes that a caller gets with one object. UMA (uth_size), slab (object_size of /sys/kernel/slab). */
MEMSTAT_EXPORT uint64_t memstat_get_size(const struct memory_type* mtp);
/* Bytes that one object takes, padding included. UMA (uth_rsize; 0 for cache zones), slab (objsize of slabinfo). */
MEMSTAT_EXPORT uint64_t memstat_get_rsize(const struct memory_type* mtp);
/* Bytes allocated and freed, counters. malloc: real bytes, rounded up to size classes (mts_memalloced, mts_memfreed). UMA:
 * the counts x size. */
MEMSTAT_EXPORT uint64_t memstat_get_memalloced(const struct memory_type* mtp);
MEMSTAT_EXPORT uint64_t memstat_get_memfreed(const struct memory_type* mtp);
/* Allocations and frees, counters. malloc (mts_numallocs, mts_numfrees), UMA (uth_allocs + every CPU's ups_allocs, uth_frees
 * + ups_frees; allocations are never below frees). */
MEMSTAT_EXPORT uint64_t memstat_get_numallocs(const struct memory_type* mtp);
MEMSTAT_EXPORT uint64_t memstat_get_numfrees(const struct memory_type* mtp);
/* Bytes in use, an amount. malloc: memalloced - memfreed, modulo 2^64 (a racy sample may be just below 2^64); UMA: count x
 * size (less than what is held: see memstat_get_held_bytes); slab: active_objs x objsize; vmalloc: the pages that
 * the areas own x page size, 0 for ioremap, vmap and percpu areas, which map devices or memory of others; call sites: what
 * they allocated and that are not freed yet. */
MEMSTAT_EXPORT uint64_t memstat_get_bytes(const struct memory_type* mtp);
/* Objects in use, an amount. malloc: numallocs - numfrees, modulo 2^64; UMA: the same, never negative; slab: active_objs;
 * vmalloc: areas; call sites: allocations. */
MEMSTAT_EXPORT uint64_t memstat_get_count(const struct memory_type* mtp);
/* Objects cached for reuse, an amount. UMA: all CPUs' caches + zonefree + kegfree; slab: num_objs - active_objs;
 * vmalloc: areas that were freed and wait to be unmapped, in the type "unknown (unpurged)" alone. */
MEMSTAT_EXPORT uint64_t memstat_get_free(const struct memory_type* mtp);
/* Allocations that failed, a counter. UMA (uth_fails); the bucket zones fail routinely. */
MEMSTAT_EXPORT uint64_t memstat_get_failures(const struct memory_type* mtp);
/* Waits at the limit, a counter. UMA (uth_sleeps). */
MEMSTAT_EXPORT uint64_t memstat_get_sleeps(const struct memory_type* mtp);
/* Frees on another NUMA domain than the allocation's, a counter. UMA (uth_xdomain). */
MEMSTAT_EXPORT uint64_t memstat_get_xdomain(const struct memory_type* mtp);
/* Objects cached in the zone, CPU caches not included, an amount. UMA (uth_zone_free). */
MEMSTAT_EXPORT uint64_t memstat_get_zonefree(const struct memory_type* mtp);
/* Objects free in the keg's slabs, an amount; 0 for secondary zones, whose keg is another's. UMA (uth_keg_free). */
MEMSTAT_EXPORT uint64_t memstat_get_kegfree(const struct memory_type* mtp);

/* ---- The caller's slots ------------------------------------------------------------------------------------------ */

/*
 * 16 integers and 16 pointers a type: 0 and NULL until set, kept through all queries, never looked at by the library.
 * Setters store nothing when `index` is out of range, or (with errno ENOMEM) when the first use of a slot finds no memory.
 */
MEMSTAT_EXPORT void* memstat_get_caller_pointer(const struct memory_type* mtp, int index);
MEMSTAT_EXPORT void memstat_set_caller_pointer(struct memory_type* mtp, int index, void* value);
MEMSTAT_EXPORT uint64_t memstat_get_caller_uint64(const struct memory_type* mtp, int index);
MEMSTAT_EXPORT void memstat_set_caller_uint64(struct memory_type* mtp, int index, uint64_t value);

/* ---- Figures on one CPU ------------------------------------------------------------------------------------------ */

/*
 * `cpu` is the kernel's CPU number; absent CPUs read as 0 (see memstat_get_cpu_count). Frees count where they happen, so
 * only the sum over all CPUs of allocations minus frees means anything. memalloced, memfreed (bytes), numallocs, numfrees,
 * sizemask: counters, malloc only; as upstream they are 0 for UMA, whose per-CPU counts are part of memstat_get_numallocs.
 * free: objects cached by the CPU, an amount, UMA only (ups_cache_free).
 */
MEMSTAT_EXPORT uint64_t memstat_get_percpu_memalloced(const struct memory_type* mtp, int cpu);
MEMSTAT_EXPORT uint64_t memstat_get_percpu_memfreed(const struct memory_type* mtp, int cpu);
MEMSTAT_EXPORT uint64_t memstat_get_percpu_numallocs(const struct memory_type* mtp, int cpu);
MEMSTAT_EXPORT uint64_t memstat_get_percpu_numfrees(const struct memory_type* mtp, int cpu);
MEMSTAT_EXPORT uint64_t memstat_get_percpu_sizemask(const struct memory_type* mtp, int cpu);
MEMSTAT_EXPORT uint64_t memstat_get_percpu_free(const struct memory_type* mtp, int cpu);
/* 16 integers and 16 pointers a type and CPU, as above; CPUs from memstat_get_cpu_count on have none. */
MEMSTAT_EXPORT void* memstat_get_percpu_caller_pointer(const struct memory_type* mtp, int cpu, int index);
MEMSTAT_EXPORT void memstat_set_percpu_caller_pointer(struct memory_type* mtp, int cpu, int index, void* value);
MEMSTAT_EXPORT uint64_t memstat_get_percpu_caller_uint64(const struct memory_type* mtp, int cpu, int index);
MEMSTAT_EXPORT void memstat_set_percpu_caller_uint64(struct memory_type* mtp, int cpu, int index, uint64_t value);

/* ==== Additions: what follows is not in FreeBSD's <memstat.h> ===================================================== */

/*
 * Reads the capture at `reference` (a directory, .tar or .tar.zst; PATH or PATH@POLL), or the crash dump of a Linux kernel
 * there (an ELF file of x86_64 or aarch64 with VMCOREINFO), instead of the kernel from the next
 * query on, whatever MEMSTAT_CAPTURE says; "live" or "" goes to this machine's kernel, also whatever it says; NULL goes back
 * to MEMSTAT_CAPTURE, or the kernel when it is not set or "live". Types listed so far stay. 0, or -1 with the list's error
 * set (NOTPRESENT, PERMISSION, DATAERROR, VERSION, IO, NOMEMORY) and everything as it was.
 */
MEMSTAT_EXPORT int memstat_mtl_set_capture(struct memory_type_list* list, const char* reference);

/*
 * Non-zero: what upstream does with types of one name. A query of a list that is not empty writes all records of a name onto
 * one entry, the one nearest to the head, so that the last record's figures stay, and others of that name keep stale
 * figures. Zero (the default): each is an entry of its own, on every query. To be chosen before the first query.
 */
MEMSTAT_EXPORT void memstat_mtl_set_folding(struct memory_type_list* list, int folding);

/* How many types the list holds, vanished ones included. */
MEMSTAT_EXPORT size_t memstat_mtl_get_count(const struct memory_type_list* list);

/* The last failure as one line for people: source, path or sysctl, what is wrong; "" before any. Lives until the next query
 */
MEMSTAT_EXPORT const char* memstat_mtl_get_message(const struct memory_type_list* list);

/* What of the crash dump that the list reads is damaged, so that figures are too low or missing: a line each, which names
 * the type, each with its newline; "" when nothing is, and for captures. Lives until the next query or set_capture. */
MEMSTAT_EXPORT const char* memstat_mtl_get_notes(const struct memory_type_list* list);

/*
 * Refresh the list from a Linux kernel: the capture when it is of one, else the kernel of this machine. Every source that
 * the kernel has is read (linux_slab: slab caches from /proc/slabinfo; linux_vmalloc: vmalloc areas from /proc/vmallocinfo;
 * only root may read either). `flags` is ignored. Returns 0, or -1 with the list's error set; linux_all reads on after a
 * failure, and reports the first; NOTPRESENT when there is no source at all.
 */
MEMSTAT_EXPORT int memstat_linux_all(struct memory_type_list* list, int flags);
MEMSTAT_EXPORT int memstat_linux_slab(struct memory_type_list* list, int flags);
MEMSTAT_EXPORT int memstat_linux_vmalloc(struct memory_type_list* list, int flags);

/*
 * Sources by name, as memstatd's configuration and `memstatd --list-sources` write them. get_name: NULL for n >= get_count.
 * query: refresh the list from that source alone; NOTPRESENT also for an unknown name.
 */
MEMSTAT_EXPORT size_t memstat_source_get_count(void);
MEMSTAT_EXPORT const char* memstat_source_get_name(size_t n);
MEMSTAT_EXPORT int memstat_source_query(struct memory_type_list* list, const char* name, int flags);

/* Which kernel the source reads: "linux" or "freebsd". Static; NULL for n >= memstat_source_get_count(). */
MEMSTAT_EXPORT const char* memstat_source_get_os(size_t n);

/*
 * Refresh the list from the kernel that it reads, whichever it is: every source of that system that is on unless switched
 * off. Reads on after a failure and returns as memstat_linux_all does.
 */
MEMSTAT_EXPORT int memstat_kernel_all(struct memory_type_list* list, int flags);

/*
 * The raw bytes of one sysctl of the FreeBSD kernel, or of the capture, that the list reads: for what belongs beside memory
 * types in a report (kern.ipc.sfstat). `*size` is the room at `buffer` in bytes, and afterwards the bytes stored. The list
 * is unchanged except its error: 0, or -1 with PERMISSION, NOTPRESENT (no such sysctl), DATAERROR with the bytes needed
 * in `*size` when the room is too small, NOMEMORY, IO.
 */
MEMSTAT_EXPORT int memstat_sysctl_get(struct memory_type_list* list, const char* name, void* buffer, size_t* size);

/* One more than the highest CPU with figures for this type; 0 when it has none per CPU. CPU numbers may have holes. */
MEMSTAT_EXPORT int memstat_get_cpu_count(const struct memory_type* mtp);

/* Which of the types of this allocator and name this is, 0 for the oldest, and how many of them the kernel last named. */
MEMSTAT_EXPORT int memstat_get_ordinal(const struct memory_type* mtp);
MEMSTAT_EXPORT int memstat_get_duplicates(const struct memory_type* mtp);

/* 1 when the last query of its allocator named the type, 0 when it has vanished and shows its last figures. */
MEMSTAT_EXPORT int memstat_is_present(const struct memory_type* mtp);

/* 1 when failures of the type are part of normal work, as those of uma's bucket zones are: no reason to alert anybody. 0 for
 * all others. */
MEMSTAT_EXPORT int memstat_fails_routinely(const struct memory_type* mtp);

/* 1 when the type is memory that other types show in parts (zones of pages, control groups, processes, the zones of malloc):
 * not to be ranked beside them. 0 for all others. */
MEMSTAT_EXPORT int memstat_is_container(const struct memory_type* mtp);

/* What more is known of the type, such as file and line of a call site: valid UTF-8, "" for most types. Lives until the next
 * query or until the list is freed. */
MEMSTAT_EXPORT const char* memstat_get_detail(const struct memory_type* mtp);

/* Bytes taken from the system, free objects and padding included, an amount; 0 for secondary zones, whose memory is
 * another's. UMA (uth_pages x page size), slab (num_slabs x pagesperslab x page size). */
MEMSTAT_EXPORT uint64_t memstat_get_held_bytes(const struct memory_type* mtp);

/* Which figures the kernel really has for the type: a set of MEMSTAT_FIGURE_*. A limit is in it only where there is one. */
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
 * Figures on one CPU that the kernel has for the type, those included that the functions of the first part hide as upstream
 * does (allocations and frees of zones). get_cpu_figures: a set of MEMSTAT_CPU_FIGURE_*. get_cpu_figure: one of them; 0 when
 * the kernel does not have it, for an absent CPU, and for anything else than one member of the set.
 */
#define MEMSTAT_CPU_FIGURE_NUMALLOCS (1u << 0)  /* allocations, a counter */
#define MEMSTAT_CPU_FIGURE_NUMFREES (1u << 1)   /* frees, a counter */
#define MEMSTAT_CPU_FIGURE_MEMALLOCED (1u << 2) /* bytes allocated, a counter */
#define MEMSTAT_CPU_FIGURE_MEMFREED (1u << 3)   /* bytes freed, a counter */
#define MEMSTAT_CPU_FIGURE_FREE (1u << 4)       /* objects that the CPU keeps for reuse, an amount */
#define MEMSTAT_CPU_FIGURE_SIZEMASK (1u << 5)   /* as memstat_get_percpu_sizemask */
MEMSTAT_EXPORT uint32_t memstat_get_cpu_figures(const struct memory_type* mtp);
MEMSTAT_EXPORT uint64_t memstat_get_cpu_figure(const struct memory_type* mtp, int cpu, uint32_t figure);

/* ---- Figures on one NUMA node (FreeBSD: domain) ------------------------------------------------------------------ */

/*
 * `node` is the kernel's number of the node. All are amounts; an unknown node reads as 0. Linux: vmalloc and pools
 * of huge pages (held_bytes, those also count and free), zones of the page allocator, slab caches from /sys/kernel/slab.
 * get_node_count: one more than the highest node that the type has figures for, 0 when it has none by node.
 * get_node_figures: which of them the kernel has, a set of MEMSTAT_NODE_FIGURE_*; the others are 0.
 * held_bytes: bytes of this node's memory. count: objects in use. free: objects cached for reuse. slots: objects that there
 * is room for, in use or free.
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

/* ---- Memory that is no type's ------------------------------------------------------------------------------------ */

/* The kernel, or capture, that a list reads. What is not known is "" or 0. Thread safety: a plain value. */
struct memstat_kernel {
  char host[256];    /* what the machine calls itself; captures do not tell */
  char os[16];       /* "linux", "freebsd" */
  char release[128]; /* as uname(3) has it */
  char machine[64];  /* "x86_64", "amd64" */
  int is_capture;    /* 1: recorded; 0: the kernel that runs on this machine */
  int64_t time_ns;   /* when the poll that queries read was made, nanoseconds since 1970 (UTC); of a kernel now */
};

/* Which kernel queries of the list read. 0, or -1 with the list's error set: NOTPRESENT (no kernel to read), or the capture
 * is unreadable. */
MEMSTAT_EXPORT int memstat_get_kernel(struct memory_type_list* list, struct memstat_kernel* kernel);

/* The machine's memory as a whole, in bytes now. Thread safety: a plain value. */
struct memstat_memory {
  uint64_t total;      /* what the kernel manages */
  uint64_t free;       /* what nothing uses */
  uint64_t available;  /* what programs can still get without paging, by the kernel's own estimate; 0: it has none */
  int64_t unaccounted; /* neither free nor in any part that the kernel reports; below 0 when figures moved while they were
                        * read */
};

/*
 * Reads it from the kernel, or capture, that the list reads (/proc/meminfo; vm.stats.vm). The list is unchanged except its
 * error: 0, or -1 with NOTPRESENT, PERMISSION, DATAERROR, IO, NOMEMORY.
 */
MEMSTAT_EXPORT int memstat_get_memory(struct memory_type_list* list, struct memstat_memory* memory);

/* Where a physical address lies. Thread safety: a plain value. */
struct memstat_memory_block {
  int node;       /* the number of its NUMA node */
  int is_online;  /* 0: the kernel does not use this memory now */
  int is_block;   /* 1: of a block of memory; 0: first and last are those of a zone, which may have holes */
  uint64_t first; /* first and last address of the block, or zone */
  uint64_t last;
};

/*
 * Finds the NUMA node of a physical address of the Linux kernel, or capture, that the list reads: from its blocks of memory
 * (/sys/devices/system/memory), or from its zones (/proc/zoneinfo) where it has no blocks or not their node. No privilege is
 * needed. The list is unchanged except its error: 0, or -1 with NOTPRESENT (no memory there, or the kernel does not report
 * its node; memstat_mtl_get_message says which), PERMISSION, DATAERROR, IO, NOMEMORY.
 */
MEMSTAT_EXPORT int memstat_find_memory_block(struct memory_type_list* list, uint64_t address,
                                             struct memstat_memory_block* block);

/* The memory of one process, in bytes now. All are 0 for threads of the kernel and for zombies.
 * Thread safety: a plain value. */
struct memstat_process {
  uint64_t size;     /* address space, memory or not */
  uint64_t resident; /* in memory; pages that processes share count for each */
  uint64_t shared;   /* of these, what belongs to files or to shared memory */
  uint64_t text;     /* address space of the program's code, without libraries */
  uint64_t data;     /* address space for data and stack */
  char name[64];     /* its name as the kernel has it, cut where it is longer, with its NUL; any bytes */
};

/*
 * Reads /proc/PID/statm and comm of the Linux kernel, or capture, that the list reads; 0 is the calling process (in a
 * capture the one that made it). The list is unchanged except its error: 0, or -1 with NOTPRESENT (no such process, or it
 * is hidden), PERMISSION, DATAERROR, IO, NOMEMORY.
 */
MEMSTAT_EXPORT int memstat_get_process(struct memory_type_list* list, int pid, struct memstat_process* process);

/*
 * Amounts of bytes as text for people. bytes_to_string: "  512", " 1.0K", "99.9M", " 100G": what is below 1024 as it is,
 * else K, M or G with one decimal below 100, cut and not rounded, five characters wide (more from 10000 G on).
 * process_to_string: "size: 301m, rss: 11m, shr: 8m, txt: 52k, data: 2248k", each amount exact where four digits do for
 * that. They write as much as `room` bytes hold, the NUL included, and return the length of the whole text without it, as
 * snprintf(3) does.
 */
MEMSTAT_EXPORT size_t memstat_bytes_to_string(uint64_t bytes, char* text, size_t room);
MEMSTAT_EXPORT size_t memstat_process_to_string(const struct memstat_process* process, char* text, size_t room);

/* ---- Polls of a capture, and recording --------------------------------------------------------------------------- */

/* What a capture says of one of its polls. Thread safety: a plain value. */
struct memstat_poll {
  int64_t realtime_ns;   /* when it was made: nanoseconds since 1970 (UTC) */
  int64_t monotonic_ns;  /* nanoseconds whose zero means nothing: for the time between two polls */
  uint64_t failed_reads; /* reads that failed when it was made */
  char label[64];        /* for people: any bytes, cut where it is longer, with its NUL; may be empty */
};

/*
 * Polls of the capture that the list reads, counted from 0. get_count: how many, at least 1; 0 when the list reads this
 * machine's kernel, a view that is no capture, or nothing. get_poll: what is known of poll `number`. select: the next query
 * reads poll `number`; the archive stays open, types and slots stay. The list is unchanged except its error: 0, or -1 with
 * NOTPRESENT (no capture, no such poll), DATAERROR, IO.
 */
MEMSTAT_EXPORT size_t memstat_capture_get_count(struct memory_type_list* list);
MEMSTAT_EXPORT int memstat_capture_get_poll(struct memory_type_list* list, size_t number, struct memstat_poll* poll);
MEMSTAT_EXPORT int memstat_capture_select(struct memory_type_list* list, size_t number);

/*
 * Records this machine's kernel as a capture, as `memstatd --record` does: files of mode 0600, kernel addresses zeroed.
 * begin: to `output`, a directory, or an archive when the name ends in ".tar" or ".tar.zst". Nothing that exists is written
 * to, except an empty directory of ours. All polls together take at most `max_bytes` on the disk, the oldest go (0: no
 * bound). poll: reads every source that is on unless switched off, refreshes the list with what they have, and writes what
 * was read as one poll; `label` is for people, NULL for none. A poll is whole or absent. end: packs the archive. A list that
 * is freed without it leaves the polls of an archive in the hidden directory beside it, .NAME.polls. 0, or -1 with the
 * list's error set: IO, PERMISSION, NOMEMORY, DATAERROR (the target exists, the list reads a capture, or calls out of
 * order), NOTPRESENT (a directory above `output`, or no source of this kernel could be read: then there is no poll).
 */
MEMSTAT_EXPORT int memstat_record_begin(struct memory_type_list* list, const char* output, uint64_t max_bytes);
MEMSTAT_EXPORT int memstat_record_poll(struct memory_type_list* list, const char* label);
MEMSTAT_EXPORT int memstat_record_end(struct memory_type_list* list);

#ifdef __cplusplus
}
#endif

#endif /* MEMSTAT_H_ */
