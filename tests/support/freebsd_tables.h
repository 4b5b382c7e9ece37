// SPDX-License-Identifier: BSD-2-Clause
// Tables of processes, descriptors and sockets as FreeBSD's kernel exports them, handwritten (core/parse/freebsd_exports.h).
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "core/parse/freebsd_exports.h"
#include "tests/support/sysctl_kernel.h"

namespace memstat {

class BytesOfStructure {
 public:
  explicit BytesOfStructure(std::size_t size) : bytes_(size, '\0') {}
  template <typename T>
  BytesOfStructure& put(std::size_t offset, T value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof value);
    return *this;
  }
  BytesOfStructure& text(std::size_t offset, std::string_view text) {
    text.copy(bytes_.data() + offset, text.size());
    return *this;
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// struct kinfo_proc
inline std::string exported_process(std::uint32_t pid, std::string_view command, std::uint64_t resident = 1,
                                    std::uint32_t jail = 0, std::uint64_t flags = 0) {
  return BytesOfStructure(1088)
      .put<std::int32_t>(0, 1088)
      .put(72, pid)
      .put<std::uint32_t>(168, 1000 + pid)
      .put<std::uint64_t>(256, 1000)
      .put(264, resident)
      .put(368, flags)
      .text(447, command)
      .put(592, jail)
      .put<std::uint32_t>(596, 2)
      .bytes();
}

/// struct xprison, and that many addresses of IPv4.
inline std::string exported_jail(std::uint32_t number, std::string_view name, std::uint32_t state = 1,
                                 std::uint32_t addresses = 0) {
  return BytesOfStructure(1560 + 4 * std::size_t{addresses})
      .put<std::uint32_t>(0, 3)
      .put(4, number)
      .put(8, state)
      .text(1296, name)
      .put(1552, addresses)
      .bytes();
}

/// struct xfile
inline std::string exported_file(std::uint32_t pid, std::uint16_t type, std::uint64_t object = 0) {
  return BytesOfStructure(128)
      .put<std::uint64_t>(0, 128)
      .put(8, pid)
      .put<std::uint32_t>(12, 1000 + pid)
      .put(32, type)
      .put(56, object)
      .bytes();
}

struct SocketFigures {
  std::uint64_t object = 0;
  std::uint32_t waiting = 0;
  std::uint32_t unread = 0;
  std::uint32_t unsent = 0;
  bool is_v6 = false;
};

/// struct xtcpcb, xinpcb or xunpcb
inline std::string exported_socket(SocketTable table, const SocketFigures& figures) {
  const bool is_local = table == SocketTable::kLocal;
  const std::size_t size = table == SocketTable::kTcp ? 744 : is_local ? 904 : 400;
  const std::size_t at = table == SocketTable::kTcp ? 16 : is_local ? 664 : 8;
  return BytesOfStructure(size)
      .put<std::uint64_t>(0, size)
      .put<std::uint64_t>(at, 240)
      .put(at + 8, figures.object)
      .put<std::uint32_t>(at + 100, figures.is_v6 ? 28 : 2)
      .put(at + 104, figures.waiting)
      .put<std::uint32_t>(at + 120, 77)
      .put(at + 168, figures.unread)
      .put(at + 204, figures.unsent)
      .bytes();
}

/// The table with its structures at both ends.
inline std::string exported_sockets(SocketTable table, const std::string& records) {
  const std::size_t size = table == SocketTable::kLocal ? 32 : 64;
  const std::string end = BytesOfStructure(size).put<std::uint64_t>(0, size).bytes();
  return end + records + end;
}

}  // namespace memstat
