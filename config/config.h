// SPDX-License-Identifier: BSD-2-Clause
// The configuration of the daemon, with the default of each key. config/memstatd.yaml describes the keys; the members have
// their names.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/name_pattern.h"
#include "config/values.h"
#include "core/base/ip_address.h"

namespace memstat {

struct PollConfig {
  std::chrono::nanoseconds interval = std::chrono::seconds(10);  ///< at least kMinPollInterval
  std::chrono::nanoseconds timeout = std::chrono::seconds(2);    ///< for one read of one source; never 0
  /// Maximum age of the snapshot that a scrape returns without polling the kernel; absent ("off"): a scrape never polls.
  std::optional<std::chrono::nanoseconds> on_scrape = {};

  bool operator==(const PollConfig&) const = default;
};

/// A type has per-CPU series if both an allocator's and a type's pattern match. If only one list is empty, it matches
/// everything. Both empty: no per-CPU series.
struct PerCpuConfig {
  std::vector<NamePattern> allocators;
  std::vector<NamePattern> types;

  bool operator==(const PerCpuConfig&) const = default;
};

/// The value of a SourceOption: a number (bytes, ns, 0 or 1 for a switch) or a pattern.
struct SourceSetting {
  std::uint64_t number = 0;
  NamePattern pattern;

  bool operator==(const SourceSetting&) const = default;
};

/// A source without an entry has these defaults.
struct SourceConfig {
  Switch enabled = Switch::kAuto;
  std::optional<std::chrono::nanoseconds> interval;  ///< at least poll.interval; absent: the source's own
  bool is_on_by_mode = false;  ///< not in the file: events.mode switches it on, unless `enabled` decides
  std::map<std::string, SourceSetting, std::less<>> settings = {};  ///< by the option's name; only options of the source

  bool operator==(const SourceConfig&) const = default;
};

/// Matches the types whose allocator and name both match.
struct TypePattern {
  NamePattern allocator;
  NamePattern type;

  [[nodiscard]] bool matches(std::string_view allocator_name, std::string_view type_name) const {
    return allocator.matches(allocator_name) && type.matches(type_name);
  }
  bool operator==(const TypePattern&) const = default;
};

struct FiltersConfig {
  std::vector<TypePattern> include;  ///< empty: all; otherwise only types that match one of these
  std::vector<TypePattern> exclude;  ///< types that match none of these

  [[nodiscard]] bool admit(std::string_view allocator_name, std::string_view type_name) const {
    const auto matches = [&](const TypePattern& pattern) { return pattern.matches(allocator_name, type_name); };
    return (include.empty() || std::any_of(include.begin(), include.end(), matches)) &&
           std::none_of(exclude.begin(), exclude.end(), matches);
  }
  bool operator==(const FiltersConfig&) const = default;
};

inline constexpr std::uint64_t kMaxSeriesLimit = 10'000'000;

/// A limit for types that have none in the kernel. At least one of the two limits is set; neither is 0.
struct LimitConfig {
  NamePattern allocator;
  NamePattern type;
  std::optional<std::uint64_t> bytes;
  std::optional<std::uint64_t> objects;

  bool operator==(const LimitConfig&) const = default;
};

/// Events that are counted together on some CPUs.
struct CounterSetConfig {
  std::string name;                 ///< a word
  std::vector<std::string> events;  ///< never empty after loading; without blanks
  std::string cpus = "all";         ///< or a list in the kernel's notation, "0-3,6"

  bool operator==(const CounterSetConfig&) const = default;
};

/// Maximum number of sets, and of events in all of them.
inline constexpr std::size_t kMaxCounterSets = 16;
inline constexpr std::size_t kMaxCounterEvents = 64;

struct CaptureConfig {
  std::string record;                                         ///< directory or archive; "": no recording
  std::uint64_t max_bytes = std::uint64_t{1} << 30;           ///< the oldest polls are deleted first; never 0
  std::chrono::nanoseconds max_age = std::chrono::hours(24);  ///< maximum age of a recorded poll; never 0

  bool operator==(const CaptureConfig&) const = default;
};

/// Where captures of incidents are kept.
struct IncidentsConfig {
#if defined(__FreeBSD__)
  static constexpr std::string_view kDirectory = "/var/db/memstatd/incidents";  // hier(7)
#else
  static constexpr std::string_view kDirectory = "/var/lib/memstatd/incidents";
#endif

  std::string directory{kDirectory};                  ///< "": none are kept
  std::uint64_t max_bytes = std::uint64_t{20} << 20;  ///< of all files; the oldest are deleted first; never 0
  std::uint64_t max_files = 20;                       ///< never 0

  bool operator==(const IncidentsConfig&) const = default;
};

struct LogConfig {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kText;

  bool operator==(const LogConfig&) const = default;
};

/// Mode and group of the unix sockets in `listen`.
struct UnixSocketConfig {
  std::uint32_t mode = 0660;
  std::string group;  ///< "": the group of the account that the daemon switches to

  bool operator==(const UnixSocketConfig&) const = default;
};

/// The account that the packages create. If it is missing, "nobody" is used.
inline constexpr std::string_view kOwnUser = "_memstatd";

/// The whole configuration; default-constructed, that of an empty file. Copies share compiled patterns.
struct Config {
  std::vector<Endpoint> listen = {{kLoopbackAddress, 8947}};  ///< never empty after loading
  std::vector<IpNetwork> allow;                               ///< networks that may connect, in addition to this machine
  UnixSocketConfig unix_socket;
  /// The account that the daemon switches to after opening its files; "": none.
  std::string user{kOwnUser};
  bool enable_reload = false;  ///< serve POST /-/reload
  /// Names of clients and the bcrypt hashes of their passwords, all of the same cost; empty: no authentication.
  std::map<std::string, std::string, std::less<>> basic_auth;
  PollConfig poll;
  Tier tier = Tier::kDefault;
  PerCpuConfig per_cpu;
  std::map<std::string, SourceConfig, std::less<>> sources;  ///< by source name; only known sources
  FiltersConfig filters;
  std::vector<LimitConfig> limits;         ///< in the order of the file
  std::vector<CounterSetConfig> counters;  ///< empty: none; no event twice on one CPU
  std::uint64_t min_bytes = 0;             ///< smaller types are only included in a sum; 0: none
  std::uint64_t series_limit = 20000;      ///< maximum number of series of memory types on a page; 1 to kMaxSeriesLimit
  bool created_series = false;             ///< OpenMetrics pages have a `_created` sample for each counter and histogram
  std::chrono::nanoseconds growth_window = std::chrono::hours(1);  ///< key growth.window; at least poll.interval
  std::uint32_t retention = 6;                                     ///< polls for which a vanished type is kept; never 0
  /// Key `findings.info`: whether active findings have the series memstat_finding_info.
  bool finding_info = true;
  /// Key `findings.holders`: whether a process asks, when a finding begins, who holds what it is about.
  bool finding_holders = true;
  /// Key `findings.limits`: whether that process counts, in turn, how much of their limits processes and users use.
  bool finding_limits = true;
  /// Key `history`: memory for the history of types, in bytes; 0: none.
  std::uint64_t history_bytes = std::uint64_t{2} << 20;
  CaptureConfig capture;
  IncidentsConfig incidents;
  std::string textfile;  ///< path of the text page written after each poll; "": none
  LogConfig log;
  EventsMode events_mode = EventsMode::kFailures;  ///< key events.mode
  std::uint32_t events_budget_ppm = 10'000;        ///< key events.budget: millionths of one CPU; never 0
  bool sandbox = true;                             ///< restrict system calls and file access after start
  bool lock_memory = true;                         ///< lock memory if the limit allows it

  bool operator==(const Config&) const = default;
};

template <auto... kMembers>
bool differs(const Config& before, const Config& after) {
  return ((before.*kMembers != after.*kMembers) || ...);
}

/// A key that takes effect only at start.
struct RestartKey {
  std::string_view name;  ///< as in the file; for a group of keys, the group's name
  bool (*differs)(const Config& before, const Config& after);
};

/// In the order of the manual page, which marks them.
inline constexpr std::array kRestartKeys{
    RestartKey{"listen", differs<&Config::listen>},
    RestartKey{"allow", differs<&Config::allow>},
    RestartKey{"unix_socket", differs<&Config::unix_socket>},
    RestartKey{"user", differs<&Config::user>},
    RestartKey{"enable_reload", differs<&Config::enable_reload>},
    RestartKey{"capture", differs<&Config::capture>},
    RestartKey{"incidents", differs<&Config::incidents>},
    RestartKey{"textfile", differs<&Config::textfile>},
    RestartKey{"events", differs<&Config::events_mode, &Config::events_budget_ppm>},
    RestartKey{"findings.holders", differs<&Config::finding_holders>},
    RestartKey{"counters", differs<&Config::counters>},
    RestartKey{"sandbox", differs<&Config::sandbox>},
    RestartKey{"lock_memory", differs<&Config::lock_memory>},
};

}  // namespace memstat
