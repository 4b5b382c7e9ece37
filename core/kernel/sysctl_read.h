// SPDX-License-Identifier: BSD-2-Clause
// Reads a sysctl of unknown size, which may grow between two calls. Separate from the system call, so that it can be
// tested on systems without sysctl. libmemstat retries forever if the kernel cannot wire the buffer; this gives up.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <new>
#include <string>
#include <string_view>

#include "core/base/buffer.h"
#include "core/base/result.h"

namespace memstat {

/// `call` behaves like sysctl(3): `int call(void* to, std::size_t* length)` returns 0 or an errno. On entry `*length`
/// is the room at `to`, on return the bytes stored; if `to` is null it returns the estimated size. `size_hint`: in
/// bytes, 0: ask the kernel first. After ENOMEM the room grows by at least an eighth, up to 8 times. Does not allocate
/// if `out` is large enough. Requests no more room than necessary, because the kernel wires all of it. Errors:
/// kNoMemory if it is still too small (ENOMEM) or the process has no memory (errno 0), kData if the kernel reports more
/// than fits, system_error.
template <typename Call>
Result<void> grow_and_retry(std::string_view name, Buffer& out, std::size_t size_hint, Call&& call) {
  constexpr int kMaxRetries = 8;
  constexpr std::size_t kMin = 64;
  constexpr std::size_t kMax = 1UL << 30;
  const auto with_margin = [](std::size_t size) { return size + size / 8 + kMin; };
  out.clear();
  std::size_t room = size_hint;
  if (room == 0) {
    if (const int failure = call(nullptr, &room); failure != 0) return system_error(name, failure);
    room = with_margin(std::min(room, kMax));
  }
  try {
    for (int attempt = 0; attempt <= kMaxRetries; ++attempt) {
      room = std::clamp(room, kMin, kMax);
      out.reserve(room);
      std::size_t length = room;
      const int failure = call(out.data(), &length);
      if (failure == 0) {
        if (length > room) return data_error(name, room, "the kernel reports more bytes than the buffer holds");
        out.resize(length);
        return {};
      }
      if (failure != ENOMEM && failure != EINTR) return system_error(name, failure);
      if (failure == EINTR) continue;
      std::size_t needed = 0;  // a hint may be far too small; the kernel's estimate saves retries
      if (call(nullptr, &needed) != 0) needed = 0;
      room = std::max(with_margin(room), needed < kMax ? with_margin(needed) : kMax);
    }
  } catch (const std::bad_alloc&) {
    return no_memory_error(name, "no memory for " + std::to_string(room) + " bytes");
  }
  return system_error(name, ENOMEM,
                      "the kernel still had no room after " + std::to_string(kMaxRetries) + " retries, at " +
                          std::to_string(out.capacity()) + " bytes; if this persists, raise vm.max_user_wired");
}

}  // namespace memstat
