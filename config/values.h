// SPDX-License-Identifier: BSD-2-Clause
// The values that configuration files and command lines share: durations, sizes, addresses and the words of fixed sets; and
// helpers for quoting user input in messages.
//
// Every parser takes the whole text and rejects what it does not fully understand. On failure the Error has code kData and
// its `detail` is one line: what is wrong; what would be right.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/ip_address.h"
#include "core/base/result.h"
#include "core/model/metric.h"

namespace memstat {

/// Minimum severity to log.
enum class LogLevel { kTrace, kDebug, kInfo, kWarning, kError };

/// The format of a log line.
enum class LogFormat { kText, kJson };

/// The allocation events to attach to: none, rare ones, all of them, or all with expensive details. Each mode includes
/// the previous ones.
enum class EventsMode { kOff, kFailures, kCounters, kFull };

/// Whether a source is read. kAuto: if this kernel has it.
enum class Switch { kAuto, kOn, kOff };

/// Limits of the poll interval: faster polls disturb the kernel, slower ones make deltas meaningless.
inline constexpr std::chrono::nanoseconds kMinPollInterval = std::chrono::milliseconds(100);
inline constexpr std::chrono::nanoseconds kMaxPollInterval = std::chrono::hours(24);

/// A duration: whole numbers with the units d, h, m, s, ms, us, ns, largest first, each at most once: "10s", "1m30s".
/// Zero needs a unit, too: "0s". A number without a unit is an error. At most 292 years.
Result<std::chrono::nanoseconds> parse_duration(std::string_view text);

/// A valid poll interval: kMinPollInterval to kMaxPollInterval.
Result<std::chrono::nanoseconds> parse_poll_interval(std::string_view text);

/// Formats a duration for parse_duration: "1m30s", "0s". Negative durations get a leading '-'.
std::string duration_text(std::chrono::nanoseconds duration);

/// A size in bytes: a whole number, alone or with B, kB, MB, GB, TB, PB (powers of 1000) or KiB, MiB, GiB, TiB, PiB
/// (powers of 1024). Accepts 0; callers decide whether it is allowed.
Result<std::uint64_t> parse_size(std::string_view text);

/// Two hours of polls and a day of minutes take about 1 KiB a type, so no machine has types for more.
inline constexpr std::uint64_t kMaxHistoryBytes = std::uint64_t{1} << 30U;

/// A size up to kMaxHistoryBytes, for the key `history`.
Result<std::uint64_t> parse_history_size(std::string_view text);

/// "192.0.2.1:8947", "[2001:db8::1]:8947" or "unix:/PATH". Host names are errors, because they may resolve differently
/// later.
Result<Endpoint> parse_listen_address(std::string_view text);

/// Whether the daemon may listen on this address. One that other hosts can reach needs an access list, because the
/// figures include what the kernel shows only to root. `has_allow`: the key `allow` names at least one network.
Result<void> check_listen_address(const Endpoint& address, bool has_allow);

/// A network, "10.0.0.0/8" or "2001:db8::/32". Bits after the prefix must be 0; otherwise it would match no client.
Result<IpNetwork> parse_cidr(std::string_view text);

/// A file mode, "0660": four octal digits, the first of which is 0.
Result<std::uint32_t> parse_file_mode(std::string_view text);

/// The path of a recording: a directory, or an archive ending in .tar or .tar.zst. Other archive endings are errors, so
/// that no directory of that name is created.
Result<std::string> parse_record_path(std::string_view text);

/// An absolute path of a directory, or "".
Result<std::string> parse_incidents_path(std::string_view text);

bool is_archive_path(std::string_view path);

/// The name of a set of counters: up to 64 letters, digits, hyphens and underscores.
Result<std::string> parse_set_name(std::string_view text);

/// "all", or CPUs in the kernel's notation, "0-3,6".
Result<std::string> parse_cpus(std::string_view text);

/// A bcrypt hash as printed by htpasswd(1), "$2y$10$" and 53 characters, with a cost of 4 to 15; above that a request
/// would take seconds. The error does not repeat the hash.
Result<std::string> parse_bcrypt_hash(std::string_view text);

/// Whether two such hashes have the same cost. True if one of them is "".
bool have_same_cost(std::string_view hash, std::string_view other);

/// A client name for basic_auth: without colons and control characters.
Result<std::string> parse_client_name(std::string_view text);

Result<Tier> parse_tier(std::string_view text);

Result<LogLevel> parse_log_level(std::string_view text);

Result<LogFormat> parse_log_format(std::string_view text);

Result<EventsMode> parse_events_mode(std::string_view text);
/// The mode's word in the configuration.
std::string_view to_string(EventsMode mode);

/// A share of one CPU in percent, "1%" or "0.25%", in millionths: 0.01% to 6400%, with at most two decimals.
Result<std::uint32_t> parse_cpu_share(std::string_view text);

Result<Switch> parse_switch(std::string_view text);

/// A user's text, made safe for one line of a message: the first 60 bytes as in make_label_text(). Without quotes.
std::string shortened(std::string_view text);

/// Same as shortened, in double quotes.
std::string quoted(std::string_view text);
/// If <iomanip> is included, std::quoted is a candidate for a std::string, too; this overload is the better match.
inline std::string quoted(const std::string& text) { return quoted(std::string_view(text)); }

/// The words separated by ", "; "(none)" if there are none.
std::string listing(std::span<const std::string_view> words);

/// The word in `known` of which `word` is probably a misspelling; "" if none is close. For "did you mean".
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> known);

}  // namespace memstat
