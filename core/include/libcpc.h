/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libcpc: CPU performance counters.
 *
 * Source compatible with the libcpc(3LIB) of Solaris: programs written for its <libcpc.h> compile with this one. The
 * counters are the kernel's perf events on Linux and hwpmc on FreeBSD. The last part (from "Additions" on) is ours.
 *
 * Terms. A request is one event to count, with flags and attributes. A set is a group of requests that count together. A set
 * is bound to a thread or a CPU. A sample copies the values of a bound set into a buffer. A value starts at the request's
 * preset and counts up modulo 2^64, so a preset of 2^64 - N overflows after N events.
 *
 * Differences from the original on Linux:
 *   - The kernel counts some events itself (page faults, context switches, tracepoints). They need no hardware counter, and
 *     cpc_npic() is 0 on a machine that has no other events.
 *   - Several sets may be bound to one thread or CPU. Other users' counters there are not affected.
 *   - A set that needs more hardware counters than there are is multiplexed. Its values are then scaled by the time counted,
 *     which cpc_buf_times() returns. CPC_BIND_EXACT rejects such a set.
 *   - A tick is a nanosecond in which the set was bound and its thread ran.
 *   - With CPC_BIND_LWP_INHERIT a sample includes the counts of threads and processes created since the binding.
 *   - The overflow signal is SIGIO with si_code POLL_HUP, under the names SIGEMT and EMT_CPCOVF. si_addr is not set.
 *
 * Errors: functions that return int return -1 with errno, and those that return a pointer return NULL with errno. A text
 * goes to the handler set by cpc_seterrhndlr(), or to standard error if there is none.
 * Threads: several threads may use a handle at once, but only one thread a set or a buffer. cpc_set_sample(),
 * cpc_set_restart() and the cpc_buf_ functions except create and destroy are async-signal-safe.
 * Lifetime: sets and buffers live until they are destroyed or the handle is closed. Texts live as long as the handle.
 */
#ifndef LIBCPC_H_
#define LIBCPC_H_

#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#if defined(__GNUC__)
#define CPC_EXPORT __attribute__((visibility("default")))
#else
#define CPC_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

#ifndef __sun
typedef unsigned int uint_t;
typedef long long hrtime_t; /* ns */
typedef int processorid_t;
#endif

typedef struct cpc_handle cpc_t;
typedef struct cpc_handle_set cpc_set_t;
typedef struct cpc_handle_buf cpc_buf_t;
typedef struct pctx_handle pctx_t;

/* An attribute of a request: a name from cpc_walk_attrs() and its value. */
typedef struct {
  char* ca_name;
  uint64_t ca_val;
} cpc_attr_t;

#define CPC_VER_CURRENT 2 /* the version for cpc_open() */
#define CPC_VER_NONE 0    /* returned by cpc_version() for an unknown version */

/* Flags of a request. */
#define CPC_OVF_NOTIFY_EMT 0x1 /* send SIGEMT to the thread on overflow; the request's counters then stop */
#define CPC_COUNT_USER 0x2     /* count in user mode */
#define CPC_COUNT_SYSTEM 0x4   /* count in the kernel */
#define CPC_COUNT_HV 0x8       /* count in the hypervisor */

/* Flags of a binding. */
#define CPC_BIND_LWP_INHERIT 0x1 /* also count threads and processes that the thread creates */

/* Bits of cpc_caps(). */
#define CPC_CAP_OVERFLOW_INTERRUPT 0x1 /* overflow can raise a signal */
#define CPC_CAP_OVERFLOW_PRECISE 0x2   /* hardware reports the instruction that overflowed */

/* Sub-codes for the error handler. */
#define CPC_INVALID_EVENT 1           /* unknown event */
#define CPC_INVALID_PICNUM 2          /* no such counter */
#define CPC_INVALID_ATTRIBUTE 3       /* unknown attribute */
#define CPC_ATTRIBUTE_OUT_OF_RANGE 4  /* invalid value for the attribute */
#define CPC_RESOURCE_UNAVAIL 5        /* no counters, descriptors or memory left */
#define CPC_PIC_NOT_CAPABLE 6         /* no counter of this machine supports it */
#define CPC_REQ_INVALID_FLAGS 7       /* unknown flags, or flags that exclude each other */
#define CPC_CONFLICTING_REQS 8        /* the requests of the set cannot be counted together */
#define CPC_ATTR_REQUIRES_PRIVILEGE 9 /* missing permission, named in the text */
#define CPC_PBIND_FAILED 10           /* no such CPU */
#define CPC_HV_NO_ACCESS 11           /* the hypervisor cannot be counted */

/* The overflow signal on this system. */
#ifndef SIGEMT
#define SIGEMT SIGIO
#endif
#ifndef EMT_CPCOVF
#define EMT_CPCOVF 6 /* POLL_HUP */
#endif

/* ---- the library ---- */

/*
 * Opens a handle. Returns NULL if counters are unavailable, with errno EINVAL (`ver` is not CPC_VER_CURRENT), ENOSYS (the
 * kernel has no counters), EACCES or EPERM (a permission is missing), or ENOMEM. cpc_open_message() returns the text.
 */
CPC_EXPORT cpc_t* cpc_open(int ver);
/* Unbinds and destroys all sets, and destroys all buffers. Returns 0. */
CPC_EXPORT int cpc_close(cpc_t* cpc);
/* Number of physical counters per CPU; 0 if the kernel makes none available. */
CPC_EXPORT uint_t cpc_npic(cpc_t* cpc);
/* CPC_CAP_ bits. */
CPC_EXPORT uint_t cpc_caps(cpc_t* cpc);
/* The name of the counters, for people: the CPU's, or the kernel's. */
CPC_EXPORT const char* cpc_cciname(cpc_t* cpc);
/* The documentation of the events, for people. */
CPC_EXPORT const char* cpc_cpuref(cpc_t* cpc);

/* Called for each error with the function that failed, a CPC_ sub-code (-1: none), and printf's format and arguments. */
typedef void(cpc_errhndlr_t)(const char* fn, int subcode, const char* fmt, va_list ap);
/* Sets the error handler. NULL: errors are written to standard error. Returns 0. */
CPC_EXPORT int cpc_seterrhndlr(cpc_t* cpc, cpc_errhndlr_t* fn);

/* ---- events and attributes ---- */

/* Calls `action` once for each event that can be counted. */
CPC_EXPORT void cpc_walk_events_all(cpc_t* cpc, void* arg, void (*action)(void* arg, const char* event));
/* The same for the events that physical counter `picno` can count. Reports CPC_INVALID_PICNUM if there is no such
 * counter. */
CPC_EXPORT void cpc_walk_events_pic(cpc_t* cpc, uint_t picno, void* arg,
                                    void (*action)(void* arg, uint_t picno, const char* event));
/* The same for names that mean the same on every machine, such as PAPI_tot_ins. */
CPC_EXPORT void cpc_walk_generic_events_all(cpc_t* cpc, void* arg, void (*action)(void* arg, const char* event));
CPC_EXPORT void cpc_walk_generic_events_pic(cpc_t* cpc, uint_t picno, void* arg,
                                            void (*action)(void* arg, uint_t picno, const char* event));
/* Calls `action` with the name of each request attribute. */
CPC_EXPORT void cpc_walk_attrs(cpc_t* cpc, void* arg, void (*action)(void* arg, const char* attr));

/* ---- sets ---- */

CPC_EXPORT cpc_set_t* cpc_set_create(cpc_t* cpc);
/* Unbinds the set if needed and destroys it. EINVAL: not a set of this handle. */
CPC_EXPORT int cpc_set_destroy(cpc_t* cpc, cpc_set_t* set);
/*
 * Adds a request to an unbound set. Returns its index, from 0, or -1 with EINVAL (unknown event, attribute or flag, or the
 * set is bound) or ENOMEM. `event` is a name from cpc_walk_events_all(), "group:name" of a tracepoint, "rHEX" (a raw code of
 * the CPU), or "pmu/term=value,.../" as the kernel describes it below /sys/bus/event_source/devices. At least one of
 * CPC_COUNT_USER, _SYSTEM and _HV is required: EINVAL.
 */
CPC_EXPORT int cpc_set_add_request(cpc_t* cpc, cpc_set_t* set, const char* event, uint64_t preset, uint_t flags,
                                   uint_t nattrs, const cpc_attr_t* attrs);
/* Changes the preset of request `index`, for the next binding or restart. EINVAL: no such request. */
CPC_EXPORT int cpc_set_request_preset(cpc_t* cpc, cpc_set_t* set, int index, uint64_t preset);
/* The same for the set last bound to the calling thread. EINVAL: none is bound. */
CPC_EXPORT int cpc_request_preset(cpc_t* cpc, int index, uint64_t preset);
/* Calls `action` for each request, by index. `attrs` is valid until it returns. */
CPC_EXPORT void cpc_walk_requests(cpc_t* cpc, cpc_set_t* set, void* arg,
                                  void (*action)(void* arg, int index, const char* event, uint64_t preset, uint_t flags,
                                                 int nattrs, const cpc_attr_t* attrs));

/* ---- binding: counting begins at once, from the presets. Binding a bound set again starts over. ---- */

/* Binds a set to the calling thread. `flags`: CPC_BIND_ bits. */
CPC_EXPORT int cpc_bind_curlwp(cpc_t* cpc, cpc_set_t* set, uint_t flags);
/* Binds a set to thread `id` of the process in `pctx` (CPC_ALL_LWPS: to all its threads). ESRCH: no such thread. */
CPC_EXPORT int cpc_bind_pctx(cpc_t* cpc, pctx_t* pctx, id_t id, cpc_set_t* set, uint_t flags);
/* Binds a set to a CPU, whatever runs on it. */
CPC_EXPORT int cpc_bind_cpu(cpc_t* cpc, processorid_t id, cpc_set_t* set, uint_t flags);
/* Stops and releases the set. EINVAL: it is not bound. */
CPC_EXPORT int cpc_unbind(cpc_t* cpc, cpc_set_t* set);
/* Restarts the set from its presets, also after an overflow stopped it. EINVAL: it is not bound. */
CPC_EXPORT int cpc_set_restart(cpc_t* cpc, cpc_set_t* set);
/*
 * Copies the values, time and ticks of a bound set into a buffer of that set. EINVAL: not bound, or a buffer of another set.
 * EAGAIN: bound with CPC_BIND_EXACT, and the kernel could not keep it on the hardware.
 */
CPC_EXPORT int cpc_set_sample(cpc_t* cpc, cpc_set_t* set, cpc_buf_t* buf);
/* Resume or stop all sets that the calling thread bound to itself. Stopped sets keep their values. */
CPC_EXPORT int cpc_enable(cpc_t* cpc);
CPC_EXPORT int cpc_disable(cpc_t* cpc);

/* ---- buffers; two or three of them in one call must be of one set, else nothing is done ---- */

/* Creates a zeroed buffer for the requests that the set has now. */
CPC_EXPORT cpc_buf_t* cpc_buf_create(cpc_t* cpc, cpc_set_t* set);
CPC_EXPORT int cpc_buf_destroy(cpc_t* cpc, cpc_buf_t* buf);
/* Gets the value of request `index`. EINVAL: no such request. */
CPC_EXPORT int cpc_buf_get(cpc_t* cpc, cpc_buf_t* buf, int index, uint64_t* val);
CPC_EXPORT int cpc_buf_set(cpc_t* cpc, cpc_buf_t* buf, int index, uint64_t val);
/* Time of the sample in ns of the monotonic clock; 0: no sample yet. */
CPC_EXPORT hrtime_t cpc_buf_hrtime(cpc_t* cpc, cpc_buf_t* buf);
/* Ticks that the set had counted at the sample. */
CPC_EXPORT uint64_t cpc_buf_tick(cpc_t* cpc, cpc_buf_t* buf);
/* ds = a - b and ds = a + b, for values and ticks. The time is the later of the two. */
CPC_EXPORT void cpc_buf_sub(cpc_t* cpc, cpc_buf_t* ds, cpc_buf_t* a, cpc_buf_t* b);
CPC_EXPORT void cpc_buf_add(cpc_t* cpc, cpc_buf_t* ds, cpc_buf_t* a, cpc_buf_t* b);
CPC_EXPORT void cpc_buf_copy(cpc_t* cpc, cpc_buf_t* ds, cpc_buf_t* src);
CPC_EXPORT void cpc_buf_zero(cpc_t* cpc, cpc_buf_t* buf);

/* ---- other processes, as in <libpctx.h> ---- */

typedef void(pctx_errfn_t)(const char* fn, const char* fmt, va_list ap);
/*
 * Creates a process that will run `filename`, searched as by execvp(3), with `argv` once pctx_run() is called. Sets bound to
 * it count from its exec on. `arg` is passed on by pctx_run(). `verbose` is not used. `errfn` may be NULL: standard error.
 */
CPC_EXPORT pctx_t* pctx_create(const char* filename, char* const* argv, void* arg, int verbose, pctx_errfn_t* errfn);
/* Attaches to a running process without stopping it. ESRCH: no such process. */
CPC_EXPORT pctx_t* pctx_capture(pid_t pid, void* arg, int verbose, pctx_errfn_t* errfn);
/*
 * Runs the process and calls `tick` every `msec` ms, `nsamples` times (0: until the process exits) or until `tick` returns
 * non-zero. With `msec` 0 it returns when the process has exited. Returns 0, or -1 with the errno of a failed exec.
 */
CPC_EXPORT int pctx_run(pctx_t* pctx, uint_t msec, uint_t nsamples,
                        int (*tick)(pctx_t* pctx, pid_t pid, id_t lwpid, void* arg));
/* Detaches from the process, which continues. A process that was never run is killed. Sets bound to it stay bound. */
CPC_EXPORT void pctx_release(pctx_t* pctx);

/* ---- the names of the interface before version 2 that do not name a model of CPU ---- */

/* CPC_VER_CURRENT if `ver` is that version, otherwise CPC_VER_NONE. */
CPC_EXPORT uint_t cpc_version(uint_t ver);
/* 0 if counters are available, otherwise -1 with the errno of cpc_open(). */
CPC_EXPORT int cpc_access(void);

/* ---- Additions ---- */

#define CPC_BIND_EXACT 0x100    /* reject a set that cannot be counted all the time, instead of scaling it */
#define CPC_ALL_LWPS ((id_t)-1) /* for cpc_bind_pctx(): all threads of the process, and those that they create */

/* Why this thread's last cpc_open() failed; "" if it succeeded. Valid until its next call. */
CPC_EXPORT const char* cpc_open_message(void);
/* A description of an event from cpc_walk_events_all(); "" if unknown. */
CPC_EXPORT const char* cpc_event_description(cpc_t* cpc, const char* event);
/* Whether an event needs a physical counter: 1 (yes), 0 (the kernel counts it), -1 (no such event). */
CPC_EXPORT int cpc_event_needs_pic(cpc_t* cpc, const char* event);
/*
 * Nanoseconds in which request `index` was enabled, and in which it counted. If the second is less than the first, the value
 * is scaled by their ratio. If only the second is 0, nothing was counted and the value is meaningless.
 */
CPC_EXPORT int cpc_buf_times(cpc_t* cpc, cpc_buf_t* buf, int index, uint64_t* enabled, uint64_t* running);

#ifdef __cplusplus
}
#endif

#endif /* LIBCPC_H_ */
