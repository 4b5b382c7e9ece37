// SPDX-License-Identifier: BSD-2-Clause
// Compares the growth of types between hosts, to find leaks of a few hosts and of a kernel release. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace memstat::ctl {

/// Parts of the window that is judged, and of the time before it that shows how much an amount usually moves.
inline constexpr std::size_t kWindowParts = 3;
inline constexpr std::size_t kPastParts = 6;
/// Each series has its amount at the end of each part, and one at the start of the first.
inline constexpr std::size_t kFleetTimes = kPastParts + kWindowParts + 1;

/// The bytes of one type on one host; empty where the host had none, and before it booted.
struct FleetSeries {
  std::size_t host = 0;
  std::array<std::optional<double>, kFleetTimes> amounts = {};
  std::optional<double> drift = {};      ///< Standard deviation of its growth in windows of the day before; empty: unknown.
  std::optional<double> yesterday = {};  ///< A day before the last of them; empty also for windows of a day or more.
};

/// One type on all hosts.
struct FleetType {
  std::string allocator;  ///< "account" for unaccounted memory
  std::string name;
  std::vector<FleetSeries> series = {};
};

/// A type that grows on some hosts as it does not on their peers.
struct FleetLeak {
  std::size_t type = 0;
  std::string group = {};               ///< Of its hosts; "": of no group, or not grouped
  bool is_of_group = false;             ///< The group as a whole grows
  std::vector<std::size_t> hosts = {};  ///< That grow, the fastest first
  std::size_t compared = 0;             ///< Hosts of the group with the type; all hosts if not grouped
  double bytes_per_hour = 0;            ///< Their median
  double clarity = 0;                   ///< Growth beyond the peers' in multiples of its usual movement
  std::vector<std::size_t> with = {};   ///< Types that grow on the same hosts, and less
};

struct FleetQuestion {
  std::span<const FleetType> types;
  std::span<const std::string> groups;  ///< Of each host; empty: not grouped.
  double part_seconds = 0;
};

/// In no order. A host is named if the logarithm of the amount grew more than the median of its peers,
/// in each part of the window, and by more than its own past and that of its peers explain; a group of at least five hosts
/// likewise, by its median. Growth in one step, growth that the time of day explains, and a few MiB an hour are not named.
std::vector<FleetLeak> find_fleet_leaks(const FleetQuestion& question);
/// Groups first, the fastest first. Rows whose hosts all have a larger leak become part of that one: one leak shows as slab,
/// as socket and in the account.
std::vector<FleetLeak> joined_fleet_leaks(std::vector<FleetLeak> leaks);

}  // namespace memstat::ctl
