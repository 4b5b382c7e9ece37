/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libcpc: CPU performance counters.
 *
 * Source compatible with the libcpc(3LIB) of Solaris: programs written for its <libcpc.h> build with this one. On Linux the
 * counters are the kernel's perf events, on FreeBSD hwpmc. What is ours is in the last part (from "Additions" on).
 *
 * Words. A request is one event to count, with flags and attributes; a set is the requests that count together; a set is
 * bound to a thread or to a CPU; a sample copies the values of a bound set into a buffer. A value begins at the request's
 * preset and counts up modulo 2^64, so that a preset of 2^64 - N overflows after N events.
 *
 * Where Linux differs from the original:
 *   - the kernel counts some events itself (page faults, context switches, tracepoints); they need no hardware counter, and
 *     cpc_npic() is 0 on a machine that has no other;
 *   - several sets may be bound to one thread or CPU; other users' counters there stay as they are;
 *   - a set that needs more hardware counters than there are is counted in parts by turns: its values are then scaled by
 *     the time counted, cpc_buf_times() says so, and CPC_BIND_EXACT refuses such a set;
 *   - a tick is a nanosecond in which the set was bound and its thread ran;
 *   - with CPC_BIND_LWP_INHERIT the sample of a set holds what the threads and processes begun since have counted;
 *   - the signal of an overflow is SIGIO with si_code POLL_HUP, by the names SIGEMT and EMT_CPCOVF; si_addr is not set.
 *
 * Errors: functions that return int return -1 with errno, those that return a pointer NULL with errno; a text goes to the
 * handler of cpc_seterrhndlr(), or to the standard error output where there is none.
 * Threads: a handle may be used by several threads at once, a set and a buffer by one at a time. cpc_set_sample(),
 * cpc_set_restart() and the cpc_buf_ functions except create and destroy may be called in a signal handler.
 * Lifetime: sets and buffers live until they are destroyed or the handle is closed; texts live as long as the handle.
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

/* An attribute of a request: a name of cpc_walk_attrs() and its value. */
typedef struct {
  char* ca_name;
  uint64_t ca_val;
} cpc_attr_t;

#define CPC_VER_CURRENT 2 /* what cpc_open() wants */
#define CPC_VER_NONE 0    /* what cpc_version() returns for a version that it does not know */

/* Flags of a request. */
#define CPC_OVF_NOTIFY_EMT 0x1 /* SIGEMT to the thread when the value overflows; the request's counters stop then */
#define CPC_COUNT_USER 0x2     /* count while the CPU is in user mode */
#define CPC_COUNT_SYSTEM 0x4   /* count while it is in the kernel */
#define CPC_COUNT_HV 0x8       /* count while it is in the hypervisor */

/* Flags of a binding. */
#define CPC_BIND_LWP_INHERIT 0x1 /* threads and processes that the thread begins are counted, too */

/* Bits of cpc_caps(). */
#define CPC_CAP_OVERFLOW_INTERRUPT 0x1 /* overflow can be notified */
#define CPC_CAP_OVERFLOW_PRECISE 0x2   /* hardware names the instruction that overflowed */

/* Sub-codes for the error handler. */
#define CPC_INVALID_EVENT 1           /* unknown event */
#define CPC_INVALID_PICNUM 2          /* no such counter */
#define CPC_INVALID_ATTRIBUTE 3       /* unknown attribute */
#define CPC_ATTRIBUTE_OUT_OF_RANGE 4  /* the attribute does not take this value */
#define CPC_RESOURCE_UNAVAIL 5        /* counters, descriptors or memory are used up */
#define CPC_PIC_NOT_CAPABLE 6         /* no counter of this machine can do it */
#define CPC_REQ_INVALID_FLAGS 7       /* flags that are unknown or that exclude each other */
#define CPC_CONFLICTING_REQS 8        /* the requests of the set cannot be counted together */
#define CPC_ATTR_REQUIRES_PRIVILEGE 9 /* a permission is missing; the text names it */
#define CPC_PBIND_FAILED 10           /* no such CPU */
#define CPC_HV_NO_ACCESS 11           /* the hypervisor cannot be counted */

/* How the signal of an overflow is called here. */
#ifndef SIGEMT
#define SIGEMT SIGIO
#endif
#ifndef EMT_CPCOVF
#define EMT_CPCOVF 6 /* POLL_HUP */
#endif

/* ---- the library ---- */

/*
 * A handle, NULL when counters cannot be had: errno EINVAL (`ver` is not CPC_VER_CURRENT), ENOSYS (the kernel has no
 * counters), EACCES or EPERM (a permission is missing), ENOMEM. cpc_open_message() has the text.
 */
CPC_EXPORT cpc_t* cpc_open(int ver);
/* Unbinds and destroys all sets, destroys all buffers. Always 0. */
CPC_EXPORT int cpc_close(cpc_t* cpc);
/* Physical counters of a CPU; 0: none that the kernel lets us have. */
CPC_EXPORT uint_t cpc_npic(cpc_t* cpc);
/* CPC_CAP_ bits. */
CPC_EXPORT uint_t cpc_caps(cpc_t* cpc);
/* What counts, for people: the CPU's counters, or the kernel's. */
CPC_EXPORT const char* cpc_cciname(cpc_t* cpc);
/* Where the events are described, for people. */
CPC_EXPORT const char* cpc_cpuref(cpc_t* cpc);

/* Called with each error: the function that failed, a CPC_ sub-code (-1: none), printf's format and arguments. */
typedef void(cpc_errhndlr_t)(const char* fn, int subcode, const char* fmt, va_list ap);
/* NULL: errors are written to the standard error output. Always 0. */
CPC_EXPORT int cpc_seterrhndlr(cpc_t* cpc, cpc_errhndlr_t* fn);

/* ---- events and attributes ---- */

/* Calls `action` for each event that can be counted here, each once. */
CPC_EXPORT void cpc_walk_events_all(cpc_t* cpc, void* arg, void (*action)(void* arg, const char* event));
/* The same for the events that physical counter `picno` can count; an error with CPC_INVALID_PICNUM when there is none. */
CPC_EXPORT void cpc_walk_events_pic(cpc_t* cpc, uint_t picno, void* arg,
                                    void (*action)(void* arg, uint_t picno, const char* event));
/* The same for names that mean one thing on every machine: PAPI_tot_ins and its like. */
CPC_EXPORT void cpc_walk_generic_events_all(cpc_t* cpc, void* arg, void (*action)(void* arg, const char* event));
CPC_EXPORT void cpc_walk_generic_events_pic(cpc_t* cpc, uint_t picno, void* arg,
                                            void (*action)(void* arg, uint_t picno, const char* event));
/* Calls `action` with the name of each attribute that a request may have. */
CPC_EXPORT void cpc_walk_attrs(cpc_t* cpc, void* arg, void (*action)(void* arg, const char* attr));

/* ---- sets ---- */

CPC_EXPORT cpc_set_t* cpc_set_create(cpc_t* cpc);
/* Unbinds it, if it is bound. EINVAL: not a set of this handle. */
CPC_EXPORT int cpc_set_destroy(cpc_t* cpc, cpc_set_t* set);
/*
 * Adds a request to a set that is not bound; its index, counting from 0, or -1: EINVAL (unknown event, attribute or flag;
 * the set is bound), ENOMEM. `event` is a name of cpc_walk_events_all(), "group:name" of a tracepoint, "rHEX" (a raw code of
 * the CPU), or "pmu/term=value,.../" as the kernel describes it below /sys/bus/event_source/devices. Without CPC_COUNT_USER,
 * _SYSTEM and _HV nothing would be counted: EINVAL.
 */
CPC_EXPORT int cpc_set_add_request(cpc_t* cpc, cpc_set_t* set, const char* event, uint64_t preset, uint_t flags,
                                   uint_t nattrs, const cpc_attr_t* attrs);
/* Gives request `index` another preset, which the next binding or restart begins with. EINVAL: no such request. */
CPC_EXPORT int cpc_set_request_preset(cpc_t* cpc, cpc_set_t* set, int index, uint64_t preset);
/* The same for the set last bound to the calling thread. EINVAL: none is bound. */
CPC_EXPORT int cpc_request_preset(cpc_t* cpc, int index, uint64_t preset);
/* Calls `action` for each request, by index; `attrs` lives until it returns. */
CPC_EXPORT void cpc_walk_requests(cpc_t* cpc, cpc_set_t* set, void* arg,
                                  void (*action)(void* arg, int index, const char* event, uint64_t preset, uint_t flags,
                                                 int nattrs, const cpc_attr_t* attrs));

/* ---- binding: counting begins at once, from the presets. A set that is bound is bound anew. ---- */

/* To the calling thread. `flags`: CPC_BIND_ bits. */
CPC_EXPORT int cpc_bind_curlwp(cpc_t* cpc, cpc_set_t* set, uint_t flags);
/* To thread `id` of the process that `pctx` holds (CPC_ALL_LWPS: to all of its threads). ESRCH: no such thread. */
CPC_EXPORT int cpc_bind_pctx(cpc_t* cpc, pctx_t* pctx, id_t id, cpc_set_t* set, uint_t flags);
/* To a CPU, whatever runs on it. */
CPC_EXPORT int cpc_bind_cpu(cpc_t* cpc, processorid_t id, cpc_set_t* set, uint_t flags);
/* Stops and releases it. EINVAL: it is not bound. */
CPC_EXPORT int cpc_unbind(cpc_t* cpc, cpc_set_t* set);
/* Begins again from the presets, also after an overflow stopped it. EINVAL: it is not bound. */
CPC_EXPORT int cpc_set_restart(cpc_t* cpc, cpc_set_t* set);
/*
 * The values, time and ticks of a bound set, into a buffer of that set. EINVAL: not bound, or a buffer of another set.
 * EAGAIN: bound with CPC_BIND_EXACT, and the kernel could not keep it on the hardware.
 */
CPC_EXPORT int cpc_set_sample(cpc_t* cpc, cpc_set_t* set, cpc_buf_t* buf);
/* All sets that the calling thread bound to itself go on, or stop and keep their values. */
CPC_EXPORT int cpc_enable(cpc_t* cpc);
CPC_EXPORT int cpc_disable(cpc_t* cpc);

/* ---- buffers; two or three of them in one call must be of one set, else nothing is done ---- */

/* A buffer of zeros for the requests that the set has now. */
CPC_EXPORT cpc_buf_t* cpc_buf_create(cpc_t* cpc, cpc_set_t* set);
CPC_EXPORT int cpc_buf_destroy(cpc_t* cpc, cpc_buf_t* buf);
/* The value of request `index`. EINVAL: no such request. */
CPC_EXPORT int cpc_buf_get(cpc_t* cpc, cpc_buf_t* buf, int index, uint64_t* val);
CPC_EXPORT int cpc_buf_set(cpc_t* cpc, cpc_buf_t* buf, int index, uint64_t val);
/* When the sample was taken, ns of the monotonic clock; 0: never. */
CPC_EXPORT hrtime_t cpc_buf_hrtime(cpc_t* cpc, cpc_buf_t* buf);
/* Ticks in which the set counted until the sample. */
CPC_EXPORT uint64_t cpc_buf_tick(cpc_t* cpc, cpc_buf_t* buf);
/* ds = a - b and ds = a + b, of values and ticks; the time is the later of the two. */
CPC_EXPORT void cpc_buf_sub(cpc_t* cpc, cpc_buf_t* ds, cpc_buf_t* a, cpc_buf_t* b);
CPC_EXPORT void cpc_buf_add(cpc_t* cpc, cpc_buf_t* ds, cpc_buf_t* a, cpc_buf_t* b);
CPC_EXPORT void cpc_buf_copy(cpc_t* cpc, cpc_buf_t* ds, cpc_buf_t* src);
CPC_EXPORT void cpc_buf_zero(cpc_t* cpc, cpc_buf_t* buf);

/* ---- other processes, as in <libpctx.h> ---- */

typedef void(pctx_errfn_t)(const char* fn, const char* fmt, va_list ap);
/*
 * A new process that will run `filename` with `argv`, found as execvp(3) finds it, when pctx_run() lets it. What is bound to
 * it counts from its exec on. `arg` is for pctx_run(), `verbose` is not used, `errfn` may be NULL: the standard error
 * output.
 */
CPC_EXPORT pctx_t* pctx_create(const char* filename, char* const* argv, void* arg, int verbose, pctx_errfn_t* errfn);
/* A process that runs. It is not stopped. ESRCH: there is none. */
CPC_EXPORT pctx_t* pctx_capture(pid_t pid, void* arg, int verbose, pctx_errfn_t* errfn);
/*
 * Lets the process run and calls `tick` every `msec` ms, `nsamples` times (0: until it ends), or until `tick` returns other
 * than 0. `msec` 0: returns when the process has ended. 0, or -1 with errno: that of exec for a program that could not be
 * run.
 */
CPC_EXPORT int pctx_run(pctx_t* pctx, uint_t msec, uint_t nsamples,
                        int (*tick)(pctx_t* pctx, pid_t pid, id_t lwpid, void* arg));
/* Forgets the process, which goes on; one that was never let run is ended. Sets bound to it stay bound. */
CPC_EXPORT void pctx_release(pctx_t* pctx);

/* ---- the names of the interface before version 2 that do not name a model of CPU ---- */

/* CPC_VER_CURRENT when that is `ver`, else CPC_VER_NONE. */
CPC_EXPORT uint_t cpc_version(uint_t ver);
/* 0 when counters can be had, -1 with the errno of cpc_open() when not. */
CPC_EXPORT int cpc_access(void);

/* ---- Additions ---- */

#define CPC_BIND_EXACT 0x100    /* refuse a set that cannot be counted all the time, instead of scaling it */
#define CPC_ALL_LWPS ((id_t)-1) /* for cpc_bind_pctx(): all threads of the process, and those that they begin */

/* Why this thread's last cpc_open() failed; "" when it did not. Lives until its next one. */
CPC_EXPORT const char* cpc_open_message(void);
/* What an event of cpc_walk_events_all() counts; "" when that is not known. */
CPC_EXPORT const char* cpc_event_description(cpc_t* cpc, const char* event);
/* Whether an event needs a physical counter: 1, 0 (the kernel counts it), -1 (no such event). */
CPC_EXPORT int cpc_event_needs_pic(cpc_t* cpc, const char* event);
/*
 * ns in which request `index` was to count, and in which it did: where the second is below the first, the value is scaled by
 * their ratio; where it is 0 and the first is not, nothing was counted and the value says nothing.
 */
CPC_EXPORT int cpc_buf_times(cpc_t* cpc, cpc_buf_t* buf, int index, uint64_t* enabled, uint64_t* running);

#ifdef __cplusplus
}
#endif

#endif /* LIBCPC_H_ */
