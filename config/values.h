// SPDX-License-Identifier: BSD-2-Clause
// The values that a configuration file and a command line share: durations, sizes, addresses and the words of fixed sets;
// and the helpers that put what a user wrote into a message.
//
// Every parser takes the whole text and refuses what it does not fully understand. On failure the Error has code kData and
// its `detail` is one line for people: what is wrong; what would be right. Thread safety of all functions: safe.
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

/// The least severe message that is logged.
enum class LogLevel { kTrace, kDebug, kInfo, kWarning, kError };

/// How a log line is written.
enum class LogFormat { kText, kJson };

/// What is attached to the kernel's allocation events: nothing, what is rare, what counts each of them, or also what costs
/// more. Each has what those before it have.
enum class EventsMode { kOff, kFailures, kCounters, kFull };

/// Whether a source is read. kAuto: when this kernel has it.
enum class Switch { kAuto, kOn, kOff };

/// Shortest and longest time between two polls: faster ones disturb the kernel, slower ones make deltas meaningless.
inline constexpr std::chrono::nanoseconds kMinPollInterval = std::chrono::milliseconds(100);
inline constexpr std::chrono::nanoseconds kMaxPollInterval = std::chrono::hours(24);

/// A duration: whole numbers with the units d, h, m, s, ms, us, ns, largest first, each at most once: "10s", "1m30s".
/// Zero must have a unit, too: "0s". A bare number is refused. At most 292 years.
Result<std::chrono::nanoseconds> parse_duration(std::string_view text);

/// A duration that may be the time between two polls: kMinPollInterval to kMaxPollInterval.
Result<std::chrono::nanoseconds> parse_poll_interval(std::string_view text);

/// The duration in the notation of parse_duration: "1m30s", "0s". Negative durations get a leading '-'.
std::string duration_text(std::chrono::nanoseconds duration);

/// A size in bytes: a whole number, alone or with B, kB, MB, GB, TB, PB (powers of 1000) or KiB, MiB, GiB, TiB, PiB
/// (powers of 1024). 0 is a size; whether it is allowed is the caller's business.
Result<std::uint64_t> parse_size(std::string_view text);

/// "192.0.2.1:8947", "[2001:db8::1]:8947" or "unix:/PATH". Host names are refused: what they resolve to may change.
Result<Endpoint> parse_listen_address(std::string_view text);

/// Whether the daemon may listen there: an address that others can reach needs an access list, because the figures
/// include what the kernel shows to root only. `has_allow`: the key `allow` names at least one network.
Result<void> check_listen_address(const Endpoint& address, bool has_allow);

/// A network, "10.0.0.0/8" or "2001:db8::/32"; its bits below the prefix must be 0 (else it would match no client).
Result<IpNetwork> parse_cidr(std::string_view text);

/// The mode of a file, "0660": four octal digits, of which the last three count.
Result<std::uint32_t> parse_file_mode(std::string_view text);

/// Where to record to: a directory, or an archive by its ending, .tar or .tar.zst. Endings of archives that cannot be
/// written are refused, so that no directory of that name is made instead.
Result<std::string> parse_record_path(std::string_view text);

/// Whether the path is that of an archive that can be written.
bool is_archive_path(std::string_view path);

/// The name of a set of counters: a word of at most 64 letters, digits, hyphens and underscores.
Result<std::string> parse_set_name(std::string_view text);

/// "all", or CPUs in the kernel's notation, "0-3,6".
Result<std::string> parse_cpus(std::string_view text);

/// A hash of bcrypt as htpasswd(1) prints it, "$2y$10$" and 53 characters: cost 4 to 15, beyond which one request takes
/// seconds. The error does not repeat it.
Result<std::string> parse_bcrypt_hash(std::string_view text);

/// Whether two such hashes take as long. True when one of them is "".
bool have_same_cost(std::string_view hash, std::string_view other);

/// The name of a client of basic_auth: without colons and control characters.
Result<std::string> parse_client_name(std::string_view text);

/// "minimal", "default" or "full".
Result<Tier> parse_tier(std::string_view text);

/// "trace", "debug", "info", "warning" or "error".
Result<LogLevel> parse_log_level(std::string_view text);

/// "text" or "json".
Result<LogFormat> parse_log_format(std::string_view text);

/// "off", "failures", "counters" or "full".
Result<EventsMode> parse_events_mode(std::string_view text);
/// The word of a mode, as in the configuration.
std::string_view to_string(EventsMode mode);

/// A part of one CPU in percent, "1%" or "0.25%", as millionths: 0.01% to 6400%, with at most two decimals.
Result<std::uint32_t> parse_cpu_share(std::string_view text);

/// "auto", "on" or "off".
Result<Switch> parse_switch(std::string_view text);

/// Text from a user, fit for one line of a message: as make_label_text() makes it, of its first 60 bytes. Without quotes.
std::string printable(std::string_view text);

/// As printable, in double quotes.
std::string quoted(std::string_view text);
/// Where <iomanip> is seen, std::quoted is found for a std::string, too; this one is the better match.
inline std::string quoted(const std::string& text) { return quoted(std::string_view(text)); }

/// The words with ", " between them; "(none)" when there are none.
std::string listing(std::span<const std::string_view> words);

/// The word of `known` that `word` is a slip of, "" when none is near. For "did you mean".
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> known);

}  // namespace memstat
