// SPDX-License-Identifier: BSD-2-Clause
// Clients that the access list admits and a filter of this process's control group keeps out: IPAddressDeny= of a systemd
// unit drops their packets without a word, so that they time out.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ip_address.h"

namespace memstat {

/// What becomes of a packet.
enum class PacketFate : std::uint8_t {
  kSent,
  kDenied,   ///< Refused on its way out: EPERM.
  kUnknown,  ///< Not sent for another reason, such as an address that no packet may have.
};

/// Sends an empty datagram for that address by the loopback interface, so that no network sees it and no host gets it.
/// systemd's filter judges packets in both directions by the address of the other end, so one that may not be sent shows
/// that none is received. kUnknown on other systems than Linux. Thread safety: safe.
PacketFate try_packet(std::uint32_t address);

/// The IPv4 addresses of this machine's interfaces, without loopback; none where they cannot be listed.
std::vector<std::uint32_t> own_addresses();

/// The IPv4 networks of `allow` no address of which could be reached: their ends, and those of `own` within them, are tried.
/// A network of which some could be reached, or nothing is known, is not among them. Thread safety: a function of its
/// arguments.
std::vector<IpNetwork> denied_networks(std::span<const IpNetwork> allow, std::span<const std::uint32_t> own,
                                       const std::function<PacketFate(std::uint32_t)>& fate_of);

/// The unit of systemd that a process belongs to, from its /proc/PID/cgroup; "" for none.
std::string_view unit_in(std::string_view cgroup_file);

/// For the log and doctor: which clients cannot connect and what to do; "" when nothing is wrong, nothing can be seen, or
/// only this machine is listened to. Sends packets; for the start, before the sandbox forbids it.
std::string network_filter_warning(std::span<const Endpoint> listen, std::span<const IpNetwork> allow);

}  // namespace memstat
