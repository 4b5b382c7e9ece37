// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/process/out_of_memory.h"

#include <unistd.h>

#include <cstdlib>
#include <new>

#include "daemon/telemetry/log.h"

namespace memstat {
namespace {

// Whether an allocation of this thread has failed. Without memory there may be no exception object to inspect.
thread_local bool has_run_out = false;
std::terminate_handler terminate_before = nullptr;

void note_and_throw() {
  has_run_out = true;
  throw std::bad_alloc();
}

[[noreturn]] void end() {
  if (has_run_out) {
    complain("ended: out of memory");
    _exit(1);
  }
  if (terminate_before != nullptr) terminate_before();
  std::abort();
}

}  // namespace

void end_clearly_when_out_of_memory() {
  std::set_new_handler(note_and_throw);
  terminate_before = std::set_terminate(end);
}

}  // namespace memstat
