// SPDX-License-Identifier: BSD-2-Clause
// The configuration of the daemon, with the default of every key. What each key means to a user stands in
// config/memstatd.yaml. Names here are the keys.
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

/// Key `poll`.
struct PollConfig {
  std::chrono::nanoseconds interval = std::chrono::seconds(10);  ///< Between two polls; kMinPollInterval and up.
  std::chrono::nanoseconds timeout = std::chrono::seconds(2);    ///< For one read of one source; never 0.
  /// A scrape has the kernel polled when the last poll is older than this; absent ("off"): scrapes never touch the kernel.
  std::optional<std::chrono::nanoseconds> on_scrape = {};

  bool operator==(const PollConfig&) const = default;
};

/// Key `per_cpu`: a type has per-CPU series when both an allocator's pattern and a type's pattern match; a list that is
/// empty matches all when the other one is not. Both empty: no per-CPU series.
struct PerCpuConfig {
  std::vector<NamePattern> allocators;
  std::vector<NamePattern> types;

  bool operator==(const PerCpuConfig&) const = default;
};

/// One setting that a source has for itself, as its option says: a number (B, ns, 0 and 1 for a switch), or a pattern.
struct SourceSetting {
  std::uint64_t number = 0;
  NamePattern pattern;

  bool operator==(const SourceSetting&) const = default;
};

/// One entry of key `sources`. A source without an entry has these defaults.
struct SourceConfig {
  Switch enabled = Switch::kAuto;
  std::optional<std::chrono::nanoseconds> interval;  ///< At least poll.interval; absent: the source's own.
  bool is_on_by_mode = false;  ///< Not in the file: key events.mode switches it on, where `enabled` leaves that open.
  std::map<std::string, SourceSetting, std::less<>> settings = {};  ///< By the option's name; of a source's options only.

  bool operator==(const SourceConfig&) const = default;
};

/// One entry of the lists under key `filters`: the types whose allocator and name both match.
struct TypePattern {
  NamePattern allocator;
  NamePattern type;

  [[nodiscard]] bool matches(std::string_view allocator_name, std::string_view type_name) const {
    return allocator.matches(allocator_name) && type.matches(type_name);
  }
  bool operator==(const TypePattern&) const = default;
};

/// Key `filters`: which types there are for the daemon's pages.
struct FiltersConfig {
  std::vector<TypePattern> include;  ///< Empty: all; otherwise those that one of these matches.
  std::vector<TypePattern> exclude;  ///< And none of these.

  [[nodiscard]] bool admit(std::string_view allocator_name, std::string_view type_name) const {
    const auto matches = [&](const TypePattern& pattern) { return pattern.matches(allocator_name, type_name); };
    return (include.empty() || std::any_of(include.begin(), include.end(), matches)) &&
           std::none_of(exclude.begin(), exclude.end(), matches);
  }
  bool operator==(const FiltersConfig&) const = default;
};

/// Largest value of key `series_limit`.
inline constexpr std::uint64_t kMaxSeriesLimit = 10'000'000;

/// One entry of key `limits`: a limit for types whose kernel has none. At least one of the two limits is there; none is 0.
struct LimitConfig {
  NamePattern allocator;
  NamePattern type;
  std::optional<std::uint64_t> bytes;
  std::optional<std::uint64_t> objects;

  bool operator==(const LimitConfig&) const = default;
};

/// One entry of key `counters`: events that are counted together on each of some CPUs.
struct CounterSetConfig {
  std::string name;                 ///< A word.
  std::vector<std::string> events;  ///< Never empty after loading; without blanks.
  std::string cpus = "all";         ///< Or a list in the kernel's notation, "0-3,6".

  bool operator==(const CounterSetConfig&) const = default;
};

/// Most entries of key `counters`, and most events of all of them together.
inline constexpr std::size_t kMaxCounterSets = 16;
inline constexpr std::size_t kMaxCounterEvents = 64;

/// Key `capture`.
struct CaptureConfig {
  std::string record;                                         ///< Directory or archive to record to; "": no recording.
  std::uint64_t max_bytes = std::uint64_t{1} << 30;           ///< B, of the recording; oldest polls go first; never 0.
  std::chrono::nanoseconds max_age = std::chrono::hours(24);  ///< Of a recorded poll; never 0.

  bool operator==(const CaptureConfig&) const = default;
};

/// Key `log`.
struct LogConfig {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kText;

  bool operator==(const LogConfig&) const = default;
};

/// Key `unix_socket`: what the unix sockets of key `listen` have.
struct UnixSocketConfig {
  std::uint32_t mode = 0660;
  std::string group;  ///< "": the group of the account that the daemon switches to.

  bool operator==(const UnixSocketConfig&) const = default;
};

/// The account that the packages make for memstatd. Where it is missing, "nobody" takes its place.
inline constexpr std::string_view kOwnUser = "_memstatd";

/// The whole configuration; default-constructed, it is what an empty file gives. Copies share compiled patterns.
struct Config {
  std::vector<Endpoint> listen = {{kLoopbackAddress, 8947}};  ///< Never empty after loading.
  std::vector<IpNetwork> allow;                               ///< Whose clients may connect, beside this machine's.
  UnixSocketConfig unix_socket;
  /// The account that the daemon switches to after it opened its files; "": it keeps its own.
  std::string user{kOwnUser};
  bool enable_reload = false;  ///< Serve POST /-/reload.
  /// Names of clients, and the hashes (bcrypt) of their passwords, all of the same cost; empty: everyone may ask.
  std::map<std::string, std::string, std::less<>> basic_auth;
  PollConfig poll;
  Tier tier = Tier::kDefault;
  PerCpuConfig per_cpu;
  std::map<std::string, SourceConfig, std::less<>> sources;  ///< By source name; every name is a known one.
  FiltersConfig filters;
  std::vector<LimitConfig> limits;         ///< In the file's order.
  std::vector<CounterSetConfig> counters;  ///< Empty: none. No event twice on one CPU.
  std::uint64_t min_bytes = 0;             ///< B; types that stay below are shown as a sum only; 0: none.
  std::uint64_t series_limit = 20000;      ///< Most series of memory types on a page; 1 to kMaxSeriesLimit.
  bool created_series = false;             ///< OpenMetrics pages have a `_created` sample beside each counter and histogram.
  std::chrono::nanoseconds growth_window = std::chrono::hours(1);  ///< Key growth.window; at least poll.interval.
  std::uint32_t retention = 6;                                     ///< Polls a vanished type keeps its slots; never 0.
  /// Key `history`: B of memory for what types had at the polls before, which the status page draws; 0: none.
  std::uint64_t history_bytes = std::uint64_t{2} << 20;
  CaptureConfig capture;
  std::string textfile;  ///< Where the text page is written after each poll; "": nowhere.
  LogConfig log;
  EventsMode events_mode = EventsMode::kFailures;  ///< Key events.mode.
  std::uint32_t events_budget_ppm = 10'000;        ///< Key events.budget: millionths of one CPU; never 0.
  bool sandbox = true;                             ///< Filter system calls and file access after start.
  bool lock_memory = true;                         ///< Lock our memory where the limit allows.

  bool operator==(const Config&) const = default;
};

template <auto... kMembers>
bool differs(const Config& before, const Config& after) {
  return ((before.*kMembers != after.*kMembers) || ...);
}

/// A key that takes effect at start only.
struct RestartKey {
  std::string_view name;  ///< As in the file; of a group of keys, the group's.
  bool (*differs)(const Config& before, const Config& after);
};

/// All of them, in the order of the manual page, which marks each.
inline constexpr std::array kRestartKeys{
    RestartKey{"listen", differs<&Config::listen>},
    RestartKey{"allow", differs<&Config::allow>},
    RestartKey{"unix_socket", differs<&Config::unix_socket>},
    RestartKey{"user", differs<&Config::user>},
    RestartKey{"enable_reload", differs<&Config::enable_reload>},
    RestartKey{"capture", differs<&Config::capture>},
    RestartKey{"textfile", differs<&Config::textfile>},
    RestartKey{"events", differs<&Config::events_mode, &Config::events_budget_ppm>},
    RestartKey{"counters", differs<&Config::counters>},
    RestartKey{"sandbox", differs<&Config::sandbox>},
    RestartKey{"lock_memory", differs<&Config::lock_memory>},
};

}  // namespace memstat
