// SPDX-License-Identifier: BSD-2-Clause
// The types behind libcpc.h's handles. Thread safety: as in libcpc.h.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <memory>
#include <vector>

#include "core/base/mutex.h"
#include "core/counters/counter_system.h"
#include "core/include/libcpc.h"

struct cpc_handle_set {
  std::vector<memstat::counters::Request> requests;
  std::unique_ptr<memstat::counters::BoundSet> bound;  // null: not bound
  pthread_t thread{};                                  // the thread that it is bound to, if any
  bool is_of_thread = false;
};

struct cpc_handle_buf {
  const cpc_set_t* set = nullptr;  // only compared
  std::vector<memstat::counters::Count> counts;
  hrtime_t time = 0;
  std::uint64_t ticks = 0;
};

struct cpc_handle {
  std::unique_ptr<memstat::counters::CounterSystem> system;
  std::atomic<cpc_errhndlr_t*> handler{nullptr};
  memstat::Mutex mutex;
  std::vector<std::unique_ptr<cpc_set_t>> sets MEMSTAT_GUARDED_BY(mutex);
  std::vector<std::unique_ptr<cpc_buf_t>> buffers MEMSTAT_GUARDED_BY(mutex);
};

struct pctx_handle {
  pid_t pid = 0;
  void* arg = nullptr;
  pctx_errfn_t* handler = nullptr;
  int start_fd = -1;  // a byte starts the new process's exec, whose errno is the answer; -1: it runs
};

namespace memstat::counters {

/// Calls the handle's error handler, or writes to standard error, and sets errno. Returns -1.
int report(cpc_t* cpc, const char* function, const Refused& refused);
/// Same, for a constant text.
int report(cpc_t* cpc, const char* function, Refusal refusal, int system_errno, const char* text);

/// A handle for counters created by a test.
cpc_t* open_handle(std::unique_ptr<CounterSystem> system);

}  // namespace memstat::counters
