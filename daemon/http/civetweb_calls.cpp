// SPDX-License-Identifier: BSD-2-Clause
// civetweb serves only connections that it accepts itself: it has no public function that takes one. This file defines
// bind(2), listen(2) and accept(2) for the process, and gives civetweb links (civetweb_links.h).
//
// Only for civetweb's object: each function first compares the object of its caller with the object that defines mg_start2.
// Calls from anywhere else become the system's, with the same arguments. The test
// HttpServerTest.CallsOfOtherObjectsAreTheSystems verifies both; README.md describes the alternatives.
#include <civetweb.h>
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/http/civetweb_links.h"

namespace memstat {
namespace {

thread_local CivetwebLinks* links = nullptr;

// The thread's links, if the call comes from civetweb.
CivetwebLinks* links_for(const void* return_address) {
  Dl_info caller{};
  Dl_info civetweb{};
  if (links == nullptr) return nullptr;
  const void* start = ::dlsym(RTLD_DEFAULT, "mg_start2");
  if (start == nullptr) start = reinterpret_cast<const void*>(&mg_start2);  // statically linked, so dlsym does not find it
  const bool is_civetweb =
      ::dladdr(return_address, &caller) != 0 && ::dladdr(start, &civetweb) != 0 && caller.dli_fbase == civetweb.dli_fbase;
  return is_civetweb ? links : nullptr;
}

}  // namespace

void use_for_civetweb(CivetwebLinks* of_thread) { links = of_thread; }

}  // namespace memstat

#define LINKS() memstat::links_for(__builtin_return_address(0))
#define SAME_AS(call) noexcept(noexcept(call))  // the declarations differ between systems
#define EXPORTED __attribute__((visibility("default")))

extern "C" {
EXPORTED int bind(int descriptor, const sockaddr* address, socklen_t length) SAME_AS(::bind(0, nullptr, 0)) {
  return LINKS() != nullptr ? 0 : static_cast<int>(::syscall(SYS_bind, descriptor, address, length));
}
EXPORTED int listen(int descriptor, int backlog) SAME_AS(::listen(0, 0)) {
  if (memstat::CivetwebLinks* const links = LINKS()) return links->listen(descriptor);
  return static_cast<int>(::syscall(SYS_listen, descriptor, backlog));
}
EXPORTED int accept(int descriptor, sockaddr* __restrict address, socklen_t* __restrict length)
    SAME_AS(::accept(0, nullptr, nullptr)) {
  if (memstat::CivetwebLinks* const links = LINKS()) return links->next(address, length);
  return ::accept4(descriptor, address, length, 0);
}
}
