// SPDX-License-Identifier: BSD-2-Clause
// Tables that FreeBSD's kernel exports as arrays of structures of C, for programs of the same release: processes
// (kern.proc.proc, struct kinfo_proc, sys/sys/user.h), descriptors (kern.file, struct xfile, sys/sys/file.h), and sockets
// (*.pcblist, struct xtcpcb, xinpcb and xunpcb, sys/netinet/tcp_var.h, in_pcb.h, sys/sys/unpcb.h). Each structure begins
// with its own size, by which it is recognized. Those of 64-bit kernels have been the same from 12.0 to 15.0.
//
// Kernel addresses only join the tables: they are compared, and never shown or stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "core/base/result.h"

namespace memstat {

/// A process. Thread safety: a plain value.
struct ExportedProcess {
  std::uint64_t pid = 0;
  std::uint32_t uid = 0;
  std::uint32_t jail = 0;      ///< 0: none.
  std::string_view command;    ///< Borrowed; the kernel cuts it after 19 bytes.
  bool is_kernel = false;      ///< A process of the kernel, without memory of its own.
  std::uint64_t resident = 0;  ///< Pages.
};

/// Type of a descriptor, DTYPE_* of sys/sys/file.h.
enum class DescriptorType : std::uint16_t { kSocket = 2, kPipe = 3, kEventFd = 13, kInotify = 15 };

/// A descriptor of a process. Those of a process follow each other.
struct ExportedFile {
  std::uint64_t pid = 0;
  std::uint32_t uid = 0;
  DescriptorType type{};
  std::uint64_t object = 0;  ///< The address of the socket or of the pipe's end.
};

/// A socket of the network stack or of the local domain.
struct ExportedSocket {
  std::uint64_t object = 0;  ///< As of ExportedFile. 0: a connection that no program has accepted or that ended.
  std::uint32_t uid = 0;
  bool is_v6 = false;
  std::uint64_t waiting = 0;  ///< Connections that wait to be accepted, of a listening socket.
  std::uint64_t unread = 0;   ///< B in the receive buffer.
  std::uint64_t unsent = 0;   ///< B in the send buffer: not sent, or not acknowledged.
};

template <typename Record>
using TakeExported = std::function<bool(const Record&)>;  ///< False: the rest is not wanted.

/// Calls `take` for each record. `name` is the sysctl, for messages. Errors: kVersion for structures of a size that is not
/// known, kData where the bytes end early, both with the offset.
Result<void> for_each_process(std::string_view name, std::string_view bytes, const TakeExported<ExportedProcess>& take);
Result<void> for_each_file(std::string_view name, std::string_view bytes, const TakeExported<ExportedFile>& take);

enum class SocketTable : std::uint8_t { kTcp, kUdp, kLocal };
/// The table begins and ends with a structure of its own (struct xinpgen, xunpgen); one without its end was cut.
Result<void> for_each_socket(std::string_view name, std::string_view bytes, SocketTable table,
                             const TakeExported<ExportedSocket>& take);

}  // namespace memstat
