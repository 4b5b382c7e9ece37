// SPDX-License-Identifier: BSD-2-Clause
#include "core/counters/libcpc_handle.h"

#include <cerrno>
#include <cstdio>

namespace memstat::counters {
namespace {

/// The handler takes a va_list, so this must be a variadic function.
__attribute__((format(printf, 4, 5))) void call(cpc_errhndlr_t* handler, const char* function, int subcode,
                                                const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  handler(function, subcode, format, arguments);
  va_end(arguments);
}

}  // namespace

int report(cpc_t* cpc, const char* function, Refusal refusal, int system_errno, const char* text) {
  if (cpc_errhndlr_t* const handler = cpc->handler.load(std::memory_order_acquire)) {
    call(handler, function, static_cast<int>(refusal), "%s", text);
  } else {
    std::fprintf(stderr, "libcpc: %s: %s\n", function, text);
  }
  errno = system_errno;
  return -1;
}

int report(cpc_t* cpc, const char* function, const Refused& refused) {
  return report(cpc, function, refused.refusal, refused.system_errno, refused.text.c_str());
}

}  // namespace memstat::counters
