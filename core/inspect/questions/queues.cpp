// SPDX-License-Identifier: BSD-2-Clause
// Sockets with unread or unsent bytes, in every network namespace with a process: tx_queue and rx_queue of
// /proc/PID/net/{tcp,tcp6,udp,udp6} (net/ipv4/tcp_ipv4.c), Rmem of /proc/PID/net/{netlink,packet}, and unix sockets of our
// own namespace from sock_diag. rx_queue of a listening socket is the number of connections waiting to be accepted.
#include <array>
#include <map>

#include "core/base/text.h"
#include "core/inspect/socket_holders.h"
#include "core/inspect/unix_sockets.h"

namespace memstat::inspections::queues {
namespace {

constexpr std::string_view kListening = "0A";

void add_queue(SocketHolders& holders, std::uint64_t inode, std::string_view uid, const std::string& name,
               std::uint64_t bytes, std::uint64_t count) {
  Holder& sum = holders.row(inode, uid, name);
  sum.count = sum.count.value_or(0) + count;
  if (bytes != 0) sum.bytes = saturating_sum(sum.bytes.value_or(0), bytes);
}

struct SocketLine {
  std::string_view state, uid;
  std::uint64_t send = 0;
  std::uint64_t receive = 0;
  std::uint64_t inode = 0;
};

/// "sl local remote st tx:rx timer:when retransmits uid timeout inode ...", in hexadecimal up to the timer.
std::optional<SocketLine> parse_socket(std::string_view line) {
  std::array<std::string_view, 10> words;
  for (std::string_view& word : words) {
    if (!next_word(line, word)) return std::nullopt;
  }
  const std::size_t colon = words[4].find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto send = parse_hex_u64(words[4].substr(0, colon));
  const auto receive = parse_hex_u64(words[4].substr(colon + 1));
  const auto inode = parse_u64(words[9]);
  if (!send || !receive || !inode) return std::nullopt;
  return SocketLine{words[3], words[7], *send, *receive, *inode};
}

void look_at_table(Inspector& inspector, std::string_view protocol, std::string_view table, const std::string& where,
                   SocketHolders& holders) {
  std::string_view line;
  while (next_line(table, line)) {
    const auto socket = parse_socket(line);
    if (!socket || (socket->send == 0 && socket->receive == 0)) continue;
    if (!inspector.take()) return;
    const auto add = [&](std::string_view which, std::uint64_t bytes, std::uint64_t count) {
      add_queue(holders, socket->inode, socket->uid, std::string(protocol) + std::string(which) + where, bytes, count);
    };
    if (protocol.starts_with("tcp") && socket->state == kListening) {
      if (socket->receive != 0) add(" accept", 0, socket->receive);
      continue;
    }
    if (socket->send != 0) add(" send", socket->send, 1);
    if (socket->receive != 0) add(" receive", socket->receive, 1);
  }
}

/// Packet and netlink sockets, of which only what waits to be read is known.
void look_at_unread(Inspector& inspector, std::string_view family, std::string_view table, const std::string& where,
                    SocketHolders& holders) {
  for_each_row(table, {"Rmem", "Inode"}, [&](const std::vector<std::uint64_t>& row) {
    if (row[0] == 0 || !inspector.take()) return;
    add_queue(holders, row[1], "", std::string(family) + " receive" + where, row[0], 1);
  });
}

/// Adds unread bytes in unix sockets. The receiver of a stream counts them. For datagrams the kernel reports only the first
/// one at the receiver, but all bytes at the sender; they are attributed to the receiver if the sender is connected.
void look_at_unix(Inspector& inspector, SocketHolders& holders) {
  UnixSocketsTable table;
  Buffer text;
  if (!inspector.view().read_table("unix_sockets", table, text)) return;
  std::map<std::uint64_t, std::uint64_t> unread;  // by inode
  for (const UnixSocket& socket : parse_unix_sockets(text.view())) {
    if (!inspector.take()) break;
    if (socket.is_listening) continue;
    if (!socket.is_datagram) {
      if (socket.receive != 0) unread[socket.inode] = std::max(unread[socket.inode], socket.receive);
    } else if (socket.send != 0) {
      if (socket.peer == 0) add_queue(holders, socket.inode, "", "unix send", socket.send, 1);
      if (socket.peer != 0) unread[socket.peer] += std::min(socket.send, UINT64_MAX - unread[socket.peer]);
    }
  }
  for (const auto& [inode, bytes] : unread) add_queue(holders, inode, "", "unix receive", bytes, 1);
}

Result<void> look(Inspector& inspector) {
  SocketHolders holders;
  if (auto found = holders.find(inspector); !found) return found;
  holders.visit_tables(inspector, {"tcp", "tcp6", "udp", "udp6"},
                       [&](std::string_view protocol, std::string_view table, const std::string& where) {
                         look_at_table(inspector, protocol, table, where, holders);
                       });
  holders.visit_tables(inspector, {"netlink", "packet"},
                       [&](std::string_view family, std::string_view table, const std::string& where) {
                         look_at_unread(inspector, family, table, where, holders);
                       });
  look_at_unix(inspector, holders);
  holders.add_rows(inspector);
  return {};
}

}  // namespace

extern const Inspection inspection{.name = "queues",
                                   .question = "Which processes have sockets with unread or unsent bytes",
                                   .things = "sockets",
                                   .parts = "open files",
                                   .needs = "CAP_SYS_PTRACE",
                                   .sees = ViewPart::kProcesses | ViewPart::kNetwork,
                                   .look = look};

}  // namespace memstat::inspections::queues
