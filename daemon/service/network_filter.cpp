// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/service/network_filter.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/base/text.h"
#include "core/base/unique_fd.h"
#include "core/kernel/posix_files.h"

namespace memstat {
namespace {

/// No host has the first or last address of the whole Internet. This address belongs to no host (RFC 5737), but packets may
/// be sent to it.
constexpr std::uint32_t kDocumentationAddress = 0xC0000201;  // 192.0.2.1

std::vector<std::uint32_t> samples_of(const IpNetwork& network, std::span<const std::uint32_t> own) {
  const std::uint32_t first = network.address.v4_number();
  if (network.prefix >= 31) return {first};
  const std::uint32_t last = first | 0xFFFFFFFFU >> network.prefix;
  std::vector<std::uint32_t> samples = {first + 1, last - 1};
  if (network.holds(IpAddress::v4(kDocumentationAddress))) samples.push_back(kDocumentationAddress);
  for (const std::uint32_t address : own) {
    if (network.holds(IpAddress::v4(address))) samples.push_back(address);
  }
  return samples;
}

bool is_denied(const IpNetwork& network, std::span<const std::uint32_t> own,
               const std::function<PacketFate(std::uint32_t)>& fate_of) {
  bool any_denied = false;
  for (const std::uint32_t address : samples_of(network, own)) {
    const PacketFate fate = fate_of(address);
    if (fate == PacketFate::kSent) return false;
    any_denied = any_denied || fate == PacketFate::kDenied;
  }
  return any_denied;
}

std::string format_network(const IpNetwork& network) {
  return format_ip(network.address) + "/" + std::to_string(network.prefix);
}

}  // namespace

#if defined(__linux__)
PacketFate try_packet(std::uint32_t address) {
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const unsigned loopback = ::if_nametoindex("lo");
  if (!socket || loopback == 0) return PacketFate::kUnknown;
  constexpr std::uint16_t kDiscardPort = 9;
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(address);
  to.sin_port = htons(kDiscardPort);
  // Set the interface in a control message, because SO_BINDTODEVICE needs CAP_NET_RAW before Linux 5.7.
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(in_pktinfo))> control{};
  msghdr message{};
  message.msg_name = &to;
  message.msg_namelen = sizeof to;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = IPPROTO_IP;
  header->cmsg_type = IP_PKTINFO;
  header->cmsg_len = CMSG_LEN(sizeof(in_pktinfo));
  in_pktinfo way{};
  way.ipi_ifindex = static_cast<int>(loopback);
  std::memcpy(CMSG_DATA(header), &way, sizeof way);
  if (::sendmsg(socket.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return PacketFate::kSent;
  return errno == EPERM ? PacketFate::kDenied : PacketFate::kUnknown;
}
#else
PacketFate try_packet(std::uint32_t /*address*/) { return PacketFate::kUnknown; }
#endif

std::vector<std::uint32_t> own_addresses() {
  std::vector<std::uint32_t> addresses;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return addresses;
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    sockaddr_in address{};
    std::memcpy(&address, each->ifa_addr, sizeof address);
    const std::uint32_t number = ntohl(address.sin_addr.s_addr);
    if (!is_loopback(IpAddress::v4(number))) addresses.push_back(number);
  }
  ::freeifaddrs(list);
  return addresses;
}

std::vector<IpNetwork> denied_networks(std::span<const IpNetwork> allow, std::span<const std::uint32_t> own,
                                       const std::function<PacketFate(std::uint32_t)>& fate_of) {
  std::vector<IpNetwork> denied;
  for (const IpNetwork& network : allow) {
    if (network.address.is_v4() && is_denied(network, own, fate_of)) denied.push_back(network);
  }
  return denied;
}

std::string_view unit_in(std::string_view cgroup_file) {
  for (std::string_view line; next_line(cgroup_file, line);) {
    // "0::/system.slice/memstatd.service", or in version 1 "1:name=systemd:/...".
    if (!line.starts_with("0::") && line.find(":name=systemd:") == std::string_view::npos) continue;
    const std::string_view name = line.substr(line.rfind('/') + 1);
    if (name.ends_with(".service")) return name;
  }
  return {};
}

std::string network_filter_warning(std::span<const Endpoint> listen, std::span<const IpNetwork> allow) {
  const bool is_remote =
      std::any_of(listen.begin(), listen.end(), [](const Endpoint& endpoint) { return !endpoint.is_local(); });
  if (!is_remote || allow.empty()) return {};
  const std::vector<IpNetwork> denied = denied_networks(allow, own_addresses(), try_packet);
  if (denied.empty()) return {};
  const std::string networks = separated(denied, " ", format_network);
  Buffer groups;
  std::string unit;
  if (PosixFiles().read_file("/proc/self/cgroup", groups, ReadManner::kToTheEnd)) unit = unit_in(groups.view());
  const std::string which = unit.empty() ? "the systemd unit" : unit;
  return "clients in " + networks + " (key allow) cannot connect: " + (unit.empty() ? "a filter" : "the filter of " + unit) +
         " drops packets to them, so Prometheus times out; add IPAddressAllow=" + networks +
         " to the section [Service] of " + which + " (systemctl edit; examples/network.conf) and restart it";
}

}  // namespace memstat
