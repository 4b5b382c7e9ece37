// SPDX-License-Identifier: BSD-2-Clause
// Which processes hold the sockets of the tables in /proc/PID/net, of every network namespace with a process.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/inspect/processes.h"

namespace memstat {

class SocketHolders {
 public:
  /// Walks all descriptors. The tables have the queues, so half of the time is left for them.
  Result<void> find(Inspector& inspector);

  /// Calls `visit(protocol, table, where)` with the content of each of these files of /proc/PID/net, once for each network
  /// namespace. `where`: " in net:[4026531840]", "" for memstatd's own.
  using VisitTable = std::function<void(std::string_view, std::string_view, const std::string&)>;
  void visit_tables(Inspector& inspector, std::initializer_list<std::string_view> files, const VisitTable& visit) const;

  /// The row of the socket's holder with this name; of nobody with this user if the holder is unknown.
  Holder& row(std::uint64_t inode, std::string_view uid, const std::string& name);
  /// Moves the rows to the answer.
  void add_rows(Inspector& inspector);

 private:
  std::map<std::uint64_t, Process> holders_;  // by inode; the first holder of a shared socket
  std::map<std::string, Process> spaces_;     // by the link of ns/net
  std::string own_space_;
  std::map<std::pair<std::uint64_t, std::string>, Holder> rows_;  // by pid and name
};

/// Calls `visit` with the numbers of these columns, of each row that has them: /proc/net/netlink and /proc/net/packet.
using VisitColumns = std::function<void(const std::vector<std::uint64_t>&)>;
void for_each_row(std::string_view table, std::initializer_list<std::string_view> columns, const VisitColumns& visit);

}  // namespace memstat
