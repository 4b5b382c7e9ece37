// SPDX-License-Identifier: BSD-2-Clause
// Sockets with unread, unsent or unacknowledged bytes: so_rcv.sb_cc and so_snd.sb_cc of the tables *.pcblist, of this
// network stack (VNET) only. For a listening socket: connections that wait to be accepted. Bytes sent to a unix socket are
// in the receiver's buffer.
#include <array>
#include <string>

#include "core/base/arithmetic.h"
#include "core/inspect/freebsd_processes.h"

namespace memstat::inspections::freebsd_queues {
namespace {

struct Table {
  std::string_view sysctl;
  std::string_view protocol;
  SocketTable layout;
};
constexpr std::array kTables{Table{"net.inet.tcp.pcblist", "tcp", SocketTable::kTcp},
                             Table{"net.inet.udp.pcblist", "udp", SocketTable::kUdp},
                             Table{"net.local.stream.pcblist", "unix", SocketTable::kLocal},
                             Table{"net.local.dgram.pcblist", "unix", SocketTable::kLocal},
                             Table{"net.local.seqpacket.pcblist", "unix", SocketTable::kLocal}};

struct FullSocket {
  ExportedSocket socket;
  const Table* table = nullptr;
};

using FullSockets = std::vector<FullSocket>;

Result<void> find_full_sockets(Inspector& inspector, const Table& table, FullSockets& found) {
  Buffer bytes;
  if (auto read = inspector.view().read_sysctl(table.sysctl, bytes, 0); !read) {
    return read.error().code == ErrorCode::kNotPresent ? Result<void>() : read;  // a kernel without that protocol
  }
  return for_each_socket(table.sysctl, bytes.view(), table.layout, [&](ExportedSocket socket) {
    if (table.layout == SocketTable::kLocal) socket.unsent = 0;
    if (socket.waiting == 0 && socket.unread == 0 && socket.unsent == 0) return true;
    if (!inspector.take_read()) return false;
    found.push_back({.socket = socket, .table = &table});
    return true;
  });
}

/// The sums of each process, by pid and name.
class Queues {
 public:
  void add(const Holder& process, const FullSocket& one) {
    const ExportedSocket& socket = one.socket;
    const std::string protocol = std::string(one.table->protocol) + (socket.is_v6 ? "6" : "");
    if (socket.waiting != 0) add(process, protocol + " accept", 0, socket.waiting);
    if (socket.unsent != 0) add(process, protocol + " send", socket.unsent, 1);
    if (socket.unread != 0) add(process, protocol + " receive", socket.unread, 1);
  }
  void give(Inspector& inspector) {
    for (auto& [key, holder] : sums_) inspector.add(std::move(holder));
  }

 private:
  void add(const Holder& process, const std::string& name, std::uint64_t bytes, std::uint64_t count) {
    Holder& sum = sums_.try_emplace({process.pid, process.user, name}, process).first->second;
    sum.name = name;
    sum.count = saturating_sum(sum.count.value_or(0), count);
    if (bytes != 0) sum.bytes = saturating_sum(sum.bytes.value_or(0), bytes);
  }
  std::map<std::tuple<std::uint64_t, std::string, std::string>, Holder> sums_;
};

Result<void> look(Inspector& inspector) {
  FullSockets found;
  for (const Table& table : kTables) {
    if (auto walked = find_full_sockets(inspector, table, found); !walked) return walked;
  }
  std::map<std::uint64_t, Holder> holders;  // by the socket's address; the first process that has it
  for (const FullSocket& one : found) {
    if (one.socket.object != 0) holders[one.socket.object].user = std::to_string(one.socket.uid);
  }
  const auto processes = exported_processes(inspector);
  if (!processes) return processes.error();
  auto visited = visit_exported_files(inspector, [&](const ExportedFile& file) {
    if (file.type != DescriptorType::kSocket) return;
    const auto wanted = holders.find(file.object);
    if (wanted != holders.end() && wanted->second.pid == 0) wanted->second = holder_of(*processes, file.pid, file.uid);
  });
  if (!visited) return visited;
  Queues queues;
  for (const FullSocket& one : found) {
    Holder nobody;
    nobody.user = std::to_string(one.socket.uid);
    const auto holder = holders.find(one.socket.object);
    queues.add(holder == holders.end() ? nobody : holder->second, one);
  }
  queues.give(inspector);
  return {};
}

}  // namespace

extern const Inspection inspection{.name = "queues",
                                   .os = OperatingSystem::kFreeBsd,
                                   .question = "Which processes have sockets with unread or unsent bytes",
                                   .things = "sockets",
                                   .needs = kSeeOthers,
                                   .look = look};

}  // namespace memstat::inspections::freebsd_queues
