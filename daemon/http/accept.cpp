// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/http/accept.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/http/front.h"

namespace memstat {
namespace {

// What the calls below do on this thread.
thread_local HttpFront* starting = nullptr;
thread_local HttpFront* accepting = nullptr;

}  // namespace

CivetwebStart::CivetwebStart(HttpFront& front) { starting = &front; }
CivetwebStart::~CivetwebStart() { starting = nullptr; }

void become_accepting_thread(HttpFront& front) {
  front.ring_at_listener();
  accepting = &front;
}

}  // namespace memstat

// The exception specifications are those of the system's headers, which differ from system to system.
#define SAME_AS(call) noexcept(noexcept(call))

extern "C" {

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
__attribute__((visibility("default"))) int bind(int descriptor, const sockaddr* address, socklen_t length)
    SAME_AS(::bind(0, nullptr, 0)) {
  if (memstat::starting != nullptr) return 0;
  return static_cast<int>(::syscall(SYS_bind, descriptor, address, length));
}

__attribute__((visibility("default"))) int listen(int descriptor, int backlog) SAME_AS(::listen(0, 0)) {
  if (memstat::starting != nullptr) return memstat::starting->take_listener(descriptor) ? 0 : -1;
  return static_cast<int>(::syscall(SYS_listen, descriptor, backlog));
}

__attribute__((visibility("default"))) int accept(int descriptor, sockaddr* __restrict address, socklen_t* __restrict length)
    SAME_AS(::accept(0, nullptr, nullptr)) {
  if (memstat::accepting != nullptr && memstat::accepting->is_listener(descriptor)) {
    return memstat::accepting->next(address, length);
  }
  return ::accept4(descriptor, address, length, 0);
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)

}  // extern "C"
