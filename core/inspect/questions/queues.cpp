// SPDX-License-Identifier: BSD-2-Clause
// Sockets with unread or unsent bytes, in every network namespace with a process: tx_queue and rx_queue of
// /proc/PID/net/{tcp,tcp6,udp,udp6} (net/ipv4/tcp_ipv4.c), and unix sockets of our own namespace from sock_diag. rx_queue of
// a listening socket is the number of connections waiting to be accepted.
#include <array>
#include <limits>
#include <map>

#include "core/base/text.h"
#include "core/inspect/processes.h"
#include "core/inspect/unix_sockets.h"

namespace memstat::inspections::queues {
namespace {

constexpr std::array<std::string_view, 4> kProtocols = {"tcp", "tcp6", "udp", "udp6"};
constexpr std::string_view kListening = "0A";

/// Holders of sockets, a process for each network namespace, and the results.
struct Machine {
  std::map<std::uint64_t, Process> holders;  ///< by inode; the first holder of a shared socket
  std::map<std::string, Process> spaces;     ///< by the link of ns/net
  std::string own_space;
  std::map<std::pair<std::uint64_t, std::string>, Holder> found;  ///< by pid and name
};

void add_queue(Machine& machine, std::uint64_t inode, std::string_view uid, const std::string& name, std::uint64_t bytes,
               std::uint64_t count) {
  const auto process = machine.holders.find(inode);
  Holder holder = process == machine.holders.end() ? Holder{} : holder_of(process->second);
  if (holder.pid == 0) holder.user = uid;
  holder.name = name;
  Holder& sum = machine.found.try_emplace({holder.pid, name}, holder).first->second;
  sum.count = sum.count.value_or(0) + count;
  std::uint64_t total = 0;
  if (__builtin_add_overflow(sum.bytes.value_or(0), bytes, &total)) total = std::numeric_limits<std::uint64_t>::max();
  if (bytes != 0) sum.bytes = total;
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

void look_at_table(Inspector& inspector, std::string_view protocol, const std::string& space, std::string_view table,
                   Machine& machine) {
  std::string_view line;
  while (next_line(table, line)) {
    const auto socket = parse_socket(line);
    if (!socket || (socket->send == 0 && socket->receive == 0)) continue;
    if (!inspector.take()) return;
    const std::string where = space == machine.own_space ? "" : " in " + space;
    const auto add = [&](std::string_view which, std::uint64_t bytes, std::uint64_t count) {
      add_queue(machine, socket->inode, socket->uid, std::string(protocol) + std::string(which) + where, bytes, count);
    };
    if (protocol.starts_with("tcp") && socket->state == kListening) {
      if (socket->receive != 0) add(" accept", 0, socket->receive);
      continue;
    }
    if (socket->send != 0) add(" send", socket->send, 1);
    if (socket->receive != 0) add(" receive", socket->receive, 1);
  }
}

/// Adds unread bytes in unix sockets. The receiver of a stream counts them. For datagrams the kernel reports only the first
/// one at the receiver, but all bytes at the sender; they are attributed to the receiver if the sender is connected.
void look_at_unix(Inspector& inspector, Machine& machine) {
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
      if (socket.peer == 0) add_queue(machine, socket.inode, "", "unix send", socket.send, 1);
      if (socket.peer != 0) unread[socket.peer] += std::min(socket.send, UINT64_MAX - unread[socket.peer]);
    }
  }
  for (const auto& [inode, bytes] : unread) add_queue(machine, inode, "", "unix receive", bytes, 1);
}

/// The tables have the queues, so half of the time is theirs.
Result<void> find_holders(Inspector& inspector, Machine& machine) {
  const HalfOfTheRest half(inspector);
  return walk_descriptors(
      inspector,
      [&](const Process& process, std::string_view, std::string_view target) {
        if (const auto inode = inode_of(target, "socket")) machine.holders.try_emplace(*inode, process);
      },
      [&](const Process& process) {
        const auto space = inspector.view().read_link(path_of(process, "ns/net"));
        if (space) machine.spaces.try_emplace(*space, process);
      });
}

Result<void> look(Inspector& inspector) {
  Machine machine;
  const auto own = inspector.view().read_link("/proc/self/ns/net");
  if (own) machine.own_space = *own;
  auto walked = find_holders(inspector, machine);
  if (!walked) return walked;
  machine.spaces.try_emplace(machine.own_space, Process{});
  for (const auto& [space, process] : machine.spaces) {
    const bool is_own = space == machine.own_space;
    const std::string directory = is_own ? "/proc/self" : "/proc/" + std::to_string(process.pid);
    for (const std::string_view protocol : kProtocols) {
      const std::string_view table = inspector.read(directory + "/net/" + std::string(protocol));
      look_at_table(inspector, protocol, space, table, machine);
    }
  }
  look_at_unix(inspector, machine);
  for (auto& [key, holder] : machine.found) inspector.add(std::move(holder));
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
