// SPDX-License-Identifier: BSD-2-Clause
// Sockets that have lost messages because their program does not read them, in every network namespace with a process: the
// drops of /proc/PID/net/{udp,udp6} (net/ipv4/udp.c, udp4_format_sock) and of netlink (net/netlink/af_netlink.c,
// netlink_native_seq_show), since the socket was created.
#include <array>

#include "core/base/arithmetic.h"
#include "core/base/text.h"
#include "core/inspect/socket_holders.h"

namespace memstat::inspections::losses {
namespace {

void add_loss(SocketHolders& holders, std::uint64_t inode, std::string_view uid, const std::string& name,
              std::uint64_t lost) {
  Holder& sum = holders.row(inode, uid, name);
  sum.count = saturating_sum(sum.count.value_or(0), lost);
}

/// "sl local remote st tx:rx timer:when retransmits uid timeout inode ref pointer drops"
void look_at_datagrams(Inspector& inspector, std::string_view table, const std::string& name, SocketHolders& holders) {
  constexpr std::size_t kUid = 7;
  constexpr std::size_t kInode = 9;
  constexpr std::size_t kDrops = 12;
  std::string_view line;
  while (next_line(table, line)) {
    std::array<std::string_view, kDrops + 1> words;
    std::size_t count = 0;
    while (count < words.size() && next_word(line, words[count])) ++count;
    const auto inode = parse_u64(words[kInode]);
    const auto drops = parse_u64(words[kDrops]);
    if (count < words.size() || !inode || drops.value_or(0) == 0) continue;
    if (!inspector.take()) return;
    add_loss(holders, *inode, words[kUid], name, *drops);
  }
}

Result<void> look(Inspector& inspector) {
  SocketHolders holders;
  if (auto found = holders.find(inspector); !found) return found;
  holders.visit_tables(inspector, {"udp", "udp6", "netlink"},
                       [&](std::string_view protocol, std::string_view table, const std::string& where) {
                         const std::string name = std::string(protocol) + where;
                         if (protocol != "netlink") return look_at_datagrams(inspector, table, name, holders);
                         for_each_row(table, {"Drops", "Inode"}, [&](const std::vector<std::uint64_t>& row) {
                           if (row[0] != 0 && inspector.take()) add_loss(holders, row[1], "", name, row[0]);
                         });
                       });
  holders.add_rows(inspector);
  return {};
}

}  // namespace

extern const Inspection inspection{.name = "losses",
                                   .question = "Which processes have sockets that lost messages",
                                   .things = "lost messages",
                                   .parts = "open files",
                                   .needs = "CAP_SYS_PTRACE",
                                   .sees = ViewPart::kProcesses | ViewPart::kNetwork,
                                   .look = look};

}  // namespace memstat::inspections::losses
