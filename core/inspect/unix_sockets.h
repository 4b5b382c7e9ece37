// SPDX-License-Identifier: BSD-2-Clause
// Queues of unix sockets. No file of /proc has them; sock_diag(7) reports those of our own network namespace.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/kernel/kernel_view.h"

namespace memstat {

struct UnixSocket {
  std::uint64_t inode = 0;
  std::uint64_t peer = 0;  ///< inode of the peer; 0: none
  std::uint64_t receive = 0;
  std::uint64_t send = 0;
  bool is_datagram = false;
  bool is_listening = false;
};

/// A line "inode peer receive send datagram|stream connected|listening" for each socket.
class UnixSocketsTable final : public TextTableSource {
 public:
  Result<void> open() override { return {}; }
  Result<void> read(Buffer& out) override;
};

/// Damaged lines are left out.
std::vector<UnixSocket> parse_unix_sockets(std::string_view text);

}  // namespace memstat
