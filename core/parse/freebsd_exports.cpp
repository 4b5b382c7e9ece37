// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/freebsd_exports.h"

#include <string>

#include "core/base/text.h"

namespace memstat {
namespace {

// Offsets in bytes, of kernels with 64-bit pointers.
struct KinfoProc {
  static constexpr std::size_t kSize = 1088;  // KINFO_PROC_SIZE; ki_structsize, an int
  static constexpr std::size_t kPidAt = 72;
  static constexpr std::size_t kUidAt = 168;
  static constexpr std::size_t kSizeAt = 256;      // ki_size
  static constexpr std::size_t kResidentAt = 264;  // ki_rssize
  static constexpr std::size_t kFlagAt = 368;
  static constexpr std::size_t kCommandAt = 447;
  static constexpr std::size_t kCommandRoom = 20;
  static constexpr std::size_t kJailAt = 592;
  static constexpr std::size_t kThreadsAt = 596;
  static constexpr std::uint64_t kKernelFlag = 4;  // P_KPROC, sys/sys/proc.h
};

struct Xfile {
  static constexpr std::size_t kSize = 128;
  static constexpr std::size_t kPidAt = 8;
  static constexpr std::size_t kUidAt = 12;
  static constexpr std::size_t kTypeAt = 32;
  static constexpr std::size_t kObjectAt = 56;  // xf_data
};

/// Its addresses follow it: of 4 bytes, then of 16.
struct Xprison {
  static constexpr std::size_t kSize = 1560;
  static constexpr std::uint32_t kVersion = 3;  // XPRISON_VERSION
  static constexpr std::size_t kNumberAt = 4;
  static constexpr std::size_t kStateAt = 8;
  static constexpr std::uint32_t kAlive = 1;  // PRISON_STATE_ALIVE
  static constexpr std::size_t kNameAt = 1296;
  static constexpr std::size_t kNameRoom = 256;
  static constexpr std::size_t kAddressesAt = 1552;
};

/// struct xsocket (sys/sys/socketvar.h), which is part of each record of a socket.
struct Xsocket {
  static constexpr std::size_t kSize = 240;
  static constexpr std::size_t kObjectAt = 8;
  static constexpr std::size_t kFamilyAt = 100;
  static constexpr std::size_t kWaitingAt = 104;  // so_qlen
  static constexpr std::size_t kUidAt = 120;
  static constexpr std::size_t kReceivedAt = 168;  // so_rcv.sb_cc
  static constexpr std::size_t kToSendAt = 204;    // so_snd.sb_cc
  static constexpr std::uint32_t kInet6 = 28;      // AF_INET6
};

struct SocketLayout {
  std::size_t ends;  ///< Size of the structure at both ends.
  std::size_t record;
  std::size_t socket;  ///< Offset of the xsocket in a record.
};

constexpr SocketLayout layout_of(SocketTable table) {
  switch (table) {
    case SocketTable::kTcp: return {.ends = 64, .record = 744, .socket = 16};  // xt_inp.xi_socket
    case SocketTable::kUdp: return {.ends = 64, .record = 400, .socket = 8};
    case SocketTable::kLocal: return {.ends = 32, .record = 904, .socket = 664};
  }
  return {};
}

Error unknown_structure(std::string_view name, std::size_t offset, std::uint64_t size) {
  return data_error(name, offset, "the kernel's structure of " + std::to_string(size) + " bytes is not known",
                    ErrorCode::kVersion);
}

/// Checks the structure at `offset`, which begins with its size.
template <typename Size>
Result<void> check_structure(std::string_view name, std::string_view bytes, std::size_t offset, std::size_t wanted) {
  if (bytes.size() - offset < sizeof(Size)) return data_error(name, offset, "the data ends early");
  const auto size = load<Size>(bytes, offset);
  if (size != wanted) return unknown_structure(name, offset, size);
  if (bytes.size() - offset < wanted) return data_error(name, offset, "the data ends early");
  return {};
}

ExportedProcess read_process(std::string_view record) {
  const std::string_view command = record.substr(KinfoProc::kCommandAt, KinfoProc::kCommandRoom);
  return {.pid = load<std::uint32_t>(record, KinfoProc::kPidAt),
          .uid = load<std::uint32_t>(record, KinfoProc::kUidAt),
          .jail = load<std::uint32_t>(record, KinfoProc::kJailAt),
          .command = command.substr(0, command.find('\0')),
          .is_kernel = (load<std::uint64_t>(record, KinfoProc::kFlagAt) & KinfoProc::kKernelFlag) != 0,
          .resident = load<std::uint64_t>(record, KinfoProc::kResidentAt),
          .address_space = load<std::uint64_t>(record, KinfoProc::kSizeAt),
          .threads = load<std::uint32_t>(record, KinfoProc::kThreadsAt)};
}

ExportedFile read_file_record(std::string_view record) {
  return {.pid = load<std::uint32_t>(record, Xfile::kPidAt),
          .uid = load<std::uint32_t>(record, Xfile::kUidAt),
          .type = static_cast<DescriptorType>(load<std::uint16_t>(record, Xfile::kTypeAt)),
          .object = load<std::uint64_t>(record, Xfile::kObjectAt)};
}

ExportedSocket read_socket(std::string_view socket) {
  return {.object = load<std::uint64_t>(socket, Xsocket::kObjectAt),
          .uid = load<std::uint32_t>(socket, Xsocket::kUidAt),
          .is_v6 = load<std::uint32_t>(socket, Xsocket::kFamilyAt) == Xsocket::kInet6,
          .waiting = load<std::uint32_t>(socket, Xsocket::kWaitingAt),
          .unread = load<std::uint32_t>(socket, Xsocket::kReceivedAt),
          .unsent = load<std::uint32_t>(socket, Xsocket::kToSendAt)};
}

}  // namespace

Result<void> for_each_process(std::string_view name, std::string_view bytes, const TakeExported<ExportedProcess>& take) {
  for (std::size_t at = 0; at < bytes.size(); at += KinfoProc::kSize) {
    if (auto known = check_structure<std::uint32_t>(name, bytes, at, KinfoProc::kSize); !known) return known;
    if (!take(read_process(bytes.substr(at, KinfoProc::kSize)))) break;
  }
  return {};
}

Result<void> for_each_file(std::string_view name, std::string_view bytes, const TakeExported<ExportedFile>& take) {
  for (std::size_t at = 0; at < bytes.size(); at += Xfile::kSize) {
    if (auto known = check_structure<std::uint64_t>(name, bytes, at, Xfile::kSize); !known) return known;
    if (!take(read_file_record(bytes.substr(at, Xfile::kSize)))) break;
  }
  return {};
}

Result<void> for_each_jail(std::string_view name, std::string_view bytes, const TakeExported<ExportedJail>& take) {
  for (std::size_t at = 0; at < bytes.size();) {
    if (bytes.size() - at < Xprison::kSize) return data_error(name, at, "the data ends early");
    const auto version = load<std::uint32_t>(bytes, at);
    if (version != Xprison::kVersion) {
      return data_error(name, at, "the kernel's structure of version " + std::to_string(version) + " is not known",
                        ErrorCode::kVersion);
    }
    const std::string_view record = bytes.substr(at, Xprison::kSize);
    const std::string_view text = record.substr(Xprison::kNameAt, Xprison::kNameRoom);
    const ExportedJail jail{.number = load<std::uint32_t>(record, Xprison::kNumberAt),
                            .name = text.substr(0, text.find('\0')),
                            .is_alive = load<std::uint32_t>(record, Xprison::kStateAt) == Xprison::kAlive};
    const std::uint64_t addresses = 4 * std::uint64_t{load<std::uint32_t>(record, Xprison::kAddressesAt)} +
                                    16 * std::uint64_t{load<std::uint32_t>(record, Xprison::kAddressesAt + 4)};
    at += Xprison::kSize;
    if (addresses > bytes.size() - at) return data_error(name, at, "the data ends early");
    at += addresses;
    if (!take(jail)) break;
  }
  return {};
}

Result<void> for_each_socket(std::string_view name, std::string_view bytes, SocketTable table,
                             const TakeExported<ExportedSocket>& take) {
  const SocketLayout layout = layout_of(table);
  if (auto known = check_structure<std::uint64_t>(name, bytes, 0, layout.ends); !known) return known;
  std::size_t at = layout.ends;
  while (bytes.size() - at >= sizeof(std::uint64_t) && load<std::uint64_t>(bytes, at) != layout.ends) {
    if (auto known = check_structure<std::uint64_t>(name, bytes, at, layout.record); !known) return known;
    const std::string_view socket = bytes.substr(at + layout.socket, Xsocket::kSize);
    if (auto known = check_structure<std::uint64_t>(name, socket, 0, Xsocket::kSize); !known) return known;
    if (!take(read_socket(socket))) return {};
    at += layout.record;
  }
  return check_structure<std::uint64_t>(name, bytes, at, layout.ends);
}

}  // namespace memstat
