// SPDX-License-Identifier: BSD-2-Clause
// Tables that FreeBSD's kernel exports as arrays of C structures, for programs of the same release: processes
// (kern.proc.proc, struct kinfo_proc, sys/sys/user.h), descriptors (kern.file, struct xfile, sys/sys/file.h), sockets
// (*.pcblist, struct xtcpcb, xinpcb and xunpcb, sys/netinet/tcp_var.h, in_pcb.h, sys/sys/unpcb.h), and jails
// (security.jail.list, struct xprison, sys/sys/jail.h). Each structure begins with its own size, a jail's with a version, by
// which it is recognized. On 64-bit kernels, the layouts are the same from 12.0 to 15.0.
//
// Kernel addresses only serve to join the tables. They are never shown or stored.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "core/base/result.h"

namespace memstat {

struct ExportedProcess {
  std::uint64_t pid = 0;
  std::uint32_t uid = 0;
  std::uint32_t jail = 0;           ///< 0: none.
  std::string_view command;         ///< Borrowed; the kernel truncates it to 19 bytes.
  bool is_kernel = false;           ///< A kernel process, which has no memory of its own.
  std::uint64_t resident = 0;       ///< Pages.
  std::uint64_t address_space = 0;  ///< B.
  std::uint32_t threads = 0;
};

struct ExportedJail {
  std::uint32_t number = 0;
  std::string_view name;  ///< Borrowed. Of a jail within a jail "OUTER.INNER".
  bool is_alive = false;  ///< False: it has no processes any more, and something, such as a connection, still refers to it.
};

/// Type of a descriptor, DTYPE_* of sys/sys/file.h.
enum class DescriptorType : std::uint16_t { kSocket = 2, kPipe = 3, kKqueue = 5, kEventFd = 13, kInotify = 15 };

/// A descriptor of a process. The descriptors of a process are adjacent.
struct ExportedFile {
  std::uint64_t pid = 0;
  std::uint32_t uid = 0;
  DescriptorType type{};
  std::uint64_t object = 0;  ///< The address of the socket or of the pipe's end.
};

/// A socket of the network stack or of the local domain.
struct ExportedSocket {
  std::uint64_t object = 0;  ///< As of ExportedFile. 0: a connection that is not accepted yet, or has ended.
  std::uint32_t uid = 0;
  bool is_v6 = false;
  std::uint64_t waiting = 0;  ///< Of a listening socket: connections that wait to be accepted.
  std::uint64_t unread = 0;   ///< B in the receive buffer.
  std::uint64_t unsent = 0;   ///< B in the send buffer: not sent, or not acknowledged.
};

template <typename Record>
using TakeExported = std::function<bool(const Record&)>;  ///< Returns false to stop.

/// Calls `take` for each record. `name` is the sysctl, for messages. Errors: kVersion for structures of an unknown size,
/// kData if the bytes end early; both with the offset.
Result<void> for_each_process(std::string_view name, std::string_view bytes, const TakeExported<ExportedProcess>& take);
Result<void> for_each_file(std::string_view name, std::string_view bytes, const TakeExported<ExportedFile>& take);
Result<void> for_each_jail(std::string_view name, std::string_view bytes, const TakeExported<ExportedJail>& take);

enum class SocketTable : std::uint8_t { kTcp, kUdp, kLocal };
/// The table begins and ends with another structure (struct xinpgen, xunpgen). Without the last one, it is truncated.
Result<void> for_each_socket(std::string_view name, std::string_view bytes, SocketTable table,
                             const TakeExported<ExportedSocket>& take);

}  // namespace memstat
