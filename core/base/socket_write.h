// SPDX-License-Identifier: BSD-2-Clause
// How much may be written to a socket at once.
#pragma once

#include <cstddef>

namespace memstat {

#if defined(__FreeBSD__)
/// Maximum size of one write to a socket, in bytes. FreeBSD waits for network buffers even if the socket is non-blocking.
/// This much fits into an mbuf (MHLEN is 168); more takes a cluster, of which there may be none left.
inline constexpr std::size_t kMaxSocketWrite = 160;
#else
/// Maximum size of one write to a socket, in bytes.
inline constexpr std::size_t kMaxSocketWrite = std::size_t{64} * 1024;
#endif

}  // namespace memstat
