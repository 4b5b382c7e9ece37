// SPDX-License-Identifier: BSD-2-Clause
#include "config/values.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <vector>

#include "core/base/ascii.h"
#include "core/base/text.h"
#include "core/base/utf8.h"

namespace memstat {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kShownBytes = 60;

Error wrong(std::string_view text, std::string_view what) {
  return make_error(ErrorCode::kData, {}, quoted(text) + " " + std::string(what));
}

constexpr std::string_view kDigits = "0123456789";

/// Removes what comes before `end`, and returns it.
std::string_view cut_before(std::size_t end, std::string_view& rest) {
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(part.size());
  return part;
}
std::string_view cut_digits(std::string_view& rest) { return cut_before(rest.find_first_not_of(kDigits), rest); }
std::string_view cut_unit(std::string_view& rest) { return cut_before(rest.find_first_of(kDigits), rest); }

/// `count` x `factor`; empty if that exceeds `limit`.
std::optional<std::uint64_t> multiply(std::string_view count, std::uint64_t factor, std::uint64_t limit) {
  const auto number = parse_u64(count);
  if (!number || *number > limit / factor) return std::nullopt;
  return *number * factor;
}

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr Unit kDurationUnits[] = {{"d", 86'400'000'000'000},
                                   {"h", 3'600'000'000'000},
                                   {"m", 60'000'000'000},
                                   {"s", 1'000'000'000},
                                   {"ms", 1'000'000},
                                   {"us", 1'000},
                                   {"ns", 1}};
constexpr Unit kSizeUnits[] = {{"", 1},
                               {"B", 1},
                               {"kB", 1'000},
                               {"MB", 1'000'000},
                               {"GB", 1'000'000'000},
                               {"TB", 1'000'000'000'000},
                               {"PB", 1'000'000'000'000'000},
                               {"KiB", std::uint64_t{1} << 10},
                               {"MiB", std::uint64_t{1} << 20},
                               {"GiB", std::uint64_t{1} << 30},
                               {"TiB", std::uint64_t{1} << 40},
                               {"PiB", std::uint64_t{1} << 50}};

const Unit* find_unit(std::span<const Unit> units, std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

/// The enumerator, counted from 0, that is called like this.
template <typename T>
Result<T> parse_word(std::string_view text, std::span<const std::string_view> words) {
  const auto found = std::find(words.begin(), words.end(), text);
  if (found != words.end()) return static_cast<T>(found - words.begin());
  const std::string_view near = nearest_word(text, words);
  if (!near.empty()) return wrong(text, "is not a known value; did you mean " + std::string(near) + "?");
  return wrong(text, "is not a known value; write " + join_words(words, " or "));
}

constexpr std::string_view kTiers[] = {"minimal", "default", "full"};
constexpr std::string_view kLogLevels[] = {"trace", "debug", "info", "warning", "error"};
constexpr std::string_view kLogFormats[] = {"text", "json"};
constexpr std::string_view kEventsModes[] = {"off", "failures", "counters", "full"};
constexpr std::string_view kSwitches[] = {"auto", "on", "off"};

}  // namespace

Result<nanoseconds> parse_duration(std::string_view text) {
  constexpr std::uint64_t kLimit = std::numeric_limits<std::int64_t>::max();
  if (text.empty()) return wrong(text, "is not a duration; write a number and a unit, such as 10s");
  if (text.front() == '-') return wrong(text, "is negative; write a duration from 0s up, such as 10s");
  std::uint64_t total = 0;
  const Unit* next_allowed = kDurationUnits;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view digits = cut_digits(rest);
    if (digits.empty()) return wrong(text, "is not a duration; write a number and a unit, such as 10s");
    const std::string_view name = cut_unit(rest);
    if (name.empty()) {
      if (digits.size() != text.size()) return wrong(text, "ends in a number without a unit; write it like 1m30s");
      if (digits.find_first_not_of('0') == std::string_view::npos)
        return wrong(text, "has no unit; write one with it, such as 10s");
      return wrong(text, "has no unit; write " + shortened(text) + "s if seconds are meant");
    }
    if (name == ".") return wrong(text, "has a fraction; write whole numbers, such as 1s500ms");
    const Unit* unit = find_unit(kDurationUnits, name);
    if (unit == nullptr) {
      return wrong(text, "has the unknown unit " + quoted(name) + "; the units are d, h, m, s, ms, us, ns, as in 1m30s");
    }
    if (unit < next_allowed) return wrong(text, "has its units out of order or twice; write the largest first, as in 1h30m");
    next_allowed = unit + 1;
    const auto part = multiply(digits, unit->factor, kLimit - total);
    if (!part) return wrong(text, "is longer than 292 years; write a shorter duration");
    total += *part;
  }
  return nanoseconds(static_cast<std::int64_t>(total));
}

Result<nanoseconds> parse_poll_interval(std::string_view text) {
  auto interval = parse_duration(text);
  if (!interval) return interval;
  if (*interval < kMinPollInterval) {
    return wrong(text, "is too short; write at least " + duration_text(kMinPollInterval));
  }
  if (*interval > kMaxPollInterval) {
    return wrong(text, "is too long; write at most " + duration_text(kMaxPollInterval));
  }
  return interval;
}

std::string duration_text(nanoseconds duration) {
  std::string text = duration.count() < 0 ? "-" : "";
  // Unsigned, because the most negative count has no positive counterpart.
  auto rest = static_cast<std::uint64_t>(duration.count());
  if (duration.count() < 0) rest = 0 - rest;
  if (rest == 0) return "0s";
  for (const Unit& unit : kDurationUnits) {
    // 24h is more familiar than 1d.
    if (unit.name == "d" && rest < 2 * unit.factor) continue;
    if (rest >= unit.factor) text += std::to_string(rest / unit.factor) + std::string(unit.name);
    rest %= unit.factor;
  }
  return text;
}

Result<std::uint64_t> parse_size(std::string_view text) {
  std::string_view rest = text;
  const std::string_view digits = cut_digits(rest);
  if (!text.empty() && text.front() == '-') return wrong(text, "is negative; write a size from 0 up, such as 64MiB");
  if (digits.empty()) return wrong(text, "is not a size; write a whole number of bytes or a unit with it, such as 64MiB");
  if (!rest.empty() && rest.front() == '.') {
    return wrong(text, "has a fraction; write a whole number of a smaller unit, such as 1536MiB");
  }
  const Unit* unit = find_unit(kSizeUnits, rest);
  if (unit == nullptr) {
    return wrong(text, "has the unknown unit " + quoted(rest) +
                           "; the units are B, kB, MB, GB, TB, PB (1000) and KiB, MiB, GiB, TiB, PiB (1024), as in 64MiB");
  }
  const auto bytes = multiply(digits, unit->factor, std::numeric_limits<std::uint64_t>::max());
  if (!bytes) return wrong(text, "is more than 64 bits can count; write at most 16383PiB");
  return *bytes;
}

Result<std::uint64_t> parse_history_size(std::string_view text) {
  auto size = parse_size(text);
  if (size && *size > kMaxHistoryBytes) return wrong(text, "is more than any history needs; write at most 1GiB");
  return size;
}

Result<Endpoint> parse_listen_address(std::string_view text) {
  constexpr std::string_view kUnix = "unix:";
  if (text.starts_with(kUnix)) {
    const std::string_view path = text.substr(kUnix.size());
    constexpr std::size_t kMaxPath = 103;  // FreeBSD's maximum; Linux permits four more
    if (!path.starts_with('/') || path.ends_with('/')) {
      return wrong(text, "is not the absolute path of a socket; write one such as unix:/run/memstatd/memstatd.sock");
    }
    if (path.size() > kMaxPath) return wrong(text, "is longer than the 103 bytes that a socket's path may have");
    if (path.find('\0') != std::string_view::npos) return wrong(text, "has a NUL byte, which no path can contain");
    return Endpoint{.address = {}, .port = 0, .path = std::string(path)};
  }
  if (text.find(':') == std::string_view::npos) {
    if (parse_u64(text)) return wrong(text, "is a port without an address; write 127.0.0.1:" + shortened(text));
    if (parse_ip(text)) return wrong(text, "has no port; write " + shortened(text) + ":8947");
    return wrong(text, "is not an address with a port; write one such as 127.0.0.1:8947");
  }
  if (parse_ip(text)) return wrong(text, "has no port; write [" + shortened(text) + "]:8947");
  const std::size_t colon = text.rfind(':');
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  if (host.empty()) {
    return wrong(text, "has no address before the port; write 127.0.0.1" + shortened(text) + ", or 0.0.0.0" +
                           shortened(text) + " and the key allow");
  }
  if (host == "localhost") return wrong(text, "names its host; write 127.0.0.1:" + shortened(digits));
  const bool is_v6 = host.starts_with('[') && host.ends_with(']');
  if (is_v6) host = host.substr(1, host.size() - 2);
  const auto address = parse_ip(host);
  if (!address || is_v6 != (host.find(':') != std::string_view::npos)) {
    return wrong(text, "has a host that is not an IP address; write one such as 127.0.0.1:8947 or [::1]:8947");
  }
  const auto port = parse_u64(digits);
  if (!port || *port > 65535) {
    return wrong(text, "has a port that is not a number from 0 (any) to 65535; write one such as 127.0.0.1:8947");
  }
  return Endpoint{*address, static_cast<std::uint16_t>(*port)};
}

Result<void> check_listen_address(const Endpoint& address, bool has_allow) {
  if (has_allow || address.is_local()) return {};
  return wrong(format_endpoint(address),
               "can be reached from other machines, and no list of clients is set: "
               "the page has values that the kernel shows to root only (/proc/slabinfo is mode 0400); "
               "add allow: [\"192.0.2.0/24\"] with the networks of your Prometheus, or listen on 127.0.0.1");
}

Result<IpNetwork> parse_cidr(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto address = parse_ip(text.substr(0, slash));
  if (!address) return wrong(text, "is not a network; write one such as 10.0.0.0/8 or 2001:db8::/32");
  const std::string width = std::to_string(address->width());
  if (slash == std::string_view::npos) {
    return wrong(text, "has no prefix length; write " + shortened(text) + "/" + width + " for this one address");
  }
  const auto prefix = parse_u64(text.substr(slash + 1));
  if (!prefix || *prefix > address->width()) {
    return wrong(text, "has a prefix length that is not a number from 0 to " + width + "; write one such as " +
                           (address->is_v4() ? "10.0.0.0/8" : "2001:db8::/32"));
  }
  const IpAddress network = address->masked(static_cast<unsigned>(*prefix));
  if (network != *address) {
    return wrong(text, "has bits set beyond its prefix, so it would match no address; write " + format_ip(network) + "/" +
                           std::to_string(*prefix));
  }
  return IpNetwork{*address, static_cast<unsigned>(*prefix)};
}

Result<std::uint32_t> parse_file_mode(std::string_view text) {
  std::uint32_t mode = 0;
  for (const char digit : text) mode = mode * 8 + static_cast<std::uint32_t>(digit - '0');
  const bool is_octal = text.size() == 4 && text[0] == '0' && text.find_first_not_of("01234567") == std::string_view::npos;
  if (!is_octal) return wrong(text, "is not the mode of a file; write four octal digits, such as \"0660\"");
  return mode;
}

bool is_archive_path(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.size() > 4 && (name.ends_with(".tar") || (name.size() > 8 && name.ends_with(".tar.zst")));
}

Result<std::string> parse_record_path(std::string_view text) {
  constexpr std::string_view kArchives[] = {"tar", "zst", "tzst", "tgz", "gz", "txz", "xz",   "tbz", "tbz2",
                                            "bz2", "lz4", "lzma", "zip", "7z", "rar", "cpio", "deb", "rpm"};
  if (is_archive_path(text)) return std::string(text);
  const std::string_view name = text.substr(text.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  std::string ending(dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1));
  for (char& c : ending) c = ascii_lower(c);
  if (std::find(std::begin(kArchives), std::end(kArchives), ending) == std::end(kArchives)) return std::string(text);
  return wrong(text,
               "names an archive format that memstatd cannot write; "
               "write a name that ends in .tar.zst or .tar, or the name of a directory");
}

Result<std::string> parse_incidents_path(std::string_view text) {
  if (text.empty() || text.starts_with('/')) return std::string(text);
  return wrong(text, "is not an absolute path, and memstatd may run in any directory; write one that begins with /");
}

Result<std::string> parse_set_name(std::string_view text) {
  constexpr std::size_t kMaxSize = 64;
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  if (text.empty() || text.size() > kMaxSize || text.find_first_not_of(kAllowed) != std::string_view::npos) {
    return wrong(text, "is not the name of a set; write a word such as memory");
  }
  return std::string(text);
}

Result<std::string> parse_cpus(std::string_view text) {
  constexpr std::size_t kMaxSize = 1024;
  constexpr std::uint32_t kMaxCpu = 65535;
  if (text == "all") return std::string(text);
  const bool is_list = text.size() <= kMaxSize && text.find_first_not_of("0123456789,-") == std::string_view::npos;
  const auto highest = is_list ? highest_of_list(text) : std::nullopt;
  if (!highest || *highest > kMaxCpu) return wrong(text, "is not a list of CPUs; write all, or numbers such as 0-3,6");
  return std::string(text);
}

Result<std::string> parse_bcrypt_hash(std::string_view text) {
  constexpr std::size_t kBytes = 60;
  constexpr unsigned kMaxCost = 15;
  constexpr std::string_view kLetters = "./0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const bool has_scheme = text.starts_with("$2a$") || text.starts_with("$2b$") || text.starts_with("$2y$");
  if (text.size() == kBytes && has_scheme && text[6] == '$' &&
      text.find_first_not_of(kLetters, 7) == std::string_view::npos) {
    const auto cost = parse_u64(text.substr(text[4] == '0' ? 5 : 4, text[4] == '0' ? 1 : 2));
    if (cost && *cost >= 4 && *cost <= kMaxCost) return std::string(text);
  }
  return make_error(ErrorCode::kData, {},
                    "is not a hash of bcrypt with a cost of 4 to 15; htpasswd -nBC 10 NAME prints one");
}

bool have_same_cost(std::string_view hash, std::string_view other) {
  return hash.empty() || other.empty() || hash.substr(4, 2) == other.substr(4, 2);
}

Result<std::string> parse_client_name(std::string_view text) {
  const auto is_bad = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == ':' || c == '\x7F'; };
  if (!text.empty() && text.size() <= 255 && std::none_of(text.begin(), text.end(), is_bad)) return std::string(text);
  return wrong(text, "is not the name of a client; write one without colons, such as prometheus");
}

Result<Tier> parse_tier(std::string_view text) { return parse_word<Tier>(text, kTiers); }
Result<LogLevel> parse_log_level(std::string_view text) { return parse_word<LogLevel>(text, kLogLevels); }
Result<LogFormat> parse_log_format(std::string_view text) { return parse_word<LogFormat>(text, kLogFormats); }
Result<EventsMode> parse_events_mode(std::string_view text) { return parse_word<EventsMode>(text, kEventsModes); }
Result<Switch> parse_switch(std::string_view text) { return parse_word<Switch>(text, kSwitches); }

std::string_view to_string(EventsMode mode) { return kEventsModes[static_cast<std::size_t>(mode)]; }

Result<std::uint32_t> parse_cpu_share(std::string_view text) {
  constexpr std::uint64_t kMaxPercent = 6400;
  std::string_view number = text;
  if (!number.ends_with('%')) return wrong(text, "is not a percentage; write a share of one CPU, such as 1%");
  number.remove_suffix(1);
  const std::size_t point = number.find('.');
  std::string decimals(point == std::string_view::npos ? "" : number.substr(point + 1));
  const bool is_long = decimals.size() > 2 || (point != std::string_view::npos && decimals.empty());
  decimals.resize(2, '0');
  const auto whole = parse_u64(number.substr(0, point));
  const auto hundredths = parse_u64(decimals);
  if (is_long || !whole || !hundredths) {
    return wrong(text, "is not a percentage with at most two decimals; write one such as 1% or 0.25%");
  }
  const std::uint64_t all = std::min(*whole, kMaxPercent) * 100 + *hundredths;
  if (*whole > kMaxPercent || all > kMaxPercent * 100 || all == 0) {
    return wrong(text, "is out of range; write 0.01% to 6400%, or remove the key for 1%");
  }
  return static_cast<std::uint32_t>(all * 100);
}

std::string shortened(std::string_view text) {
  const std::string_view first = utf8_prefix(text, kShownBytes);
  return make_label_text(first) + (first.size() < text.size() ? "..." : "");
}

std::string listing(std::span<const std::string_view> words) { return words.empty() ? "(none)" : separated(words, ", "); }

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> known) {
  constexpr std::size_t kMaxWordSize = 64;
  if (word.size() > kMaxWordSize) return {};
  std::size_t limit = std::max<std::size_t>(1, word.size() / 3) + 1;
  std::string_view nearest;
  for (const std::string_view candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance >= limit || distance >= candidate.size()) continue;
    limit = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string quoted(std::string_view text) { return "\"" + shortened(text) + "\""; }

}  // namespace memstat
