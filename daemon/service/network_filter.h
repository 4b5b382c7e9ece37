// SPDX-License-Identifier: BSD-2-Clause
// Detects clients that the access list admits but a filter of this process's control group blocks: IPAddressDeny= of a
// systemd unit drops their packets silently, so that they time out.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ip_address.h"

namespace memstat {

enum class PacketFate : std::uint8_t {
  kSent,
  kDenied,   ///< Rejected on its way out: EPERM.
  kUnknown,  ///< Not sent for another reason, such as an invalid destination address.
};

/// Sends an empty datagram to that address through the loopback interface, so that it reaches no network and no host.
/// systemd's filter checks packets in both directions against the remote address, so if sending is denied, receiving is
/// denied too. kUnknown on systems other than Linux.
PacketFate try_packet(std::uint32_t address);

/// The IPv4 addresses of this machine's interfaces, without loopback; empty if they cannot be listed.
std::vector<std::uint32_t> own_addresses();

/// The IPv4 networks of `allow` in which every tested address was denied. Tests the ends of each network, and the addresses
/// of `own` inside it. Excludes networks that are partly reachable or unknown.
std::vector<IpNetwork> denied_networks(std::span<const IpNetwork> allow, std::span<const std::uint32_t> own,
                                       const std::function<PacketFate(std::uint32_t)>& fate_of);

/// The systemd unit of a process, from its /proc/PID/cgroup; "" for none.
std::string_view unit_in(std::string_view cgroup_file);

/// The clients that cannot connect, and what to do, for the log and doctor; "" if nothing is wrong, nothing can be
/// determined, or only this machine can connect. Sends packets, so call it at startup, before the sandbox forbids that.
std::string network_filter_warning(std::span<const Endpoint> listen, std::span<const IpNetwork> allow);

}  // namespace memstat
