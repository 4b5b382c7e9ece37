// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/shared_options.h"

#include <unistd.h>

#include <ctime>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "core/base/byte_size.h"
#include "core/base/text.h"
#include "core/model/field.h"
#include "daemon/ctl/output/cells.h"
#include "daemon/ctl/source/http_client.h"
#include "daemon/ctl/source/prometheus.h"
#include "daemon/ctl/source/report_source.h"

namespace memstat::ctl {
/// Whether the text looks like HOST:PORT, without http://.
bool is_host_and_port(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  return colon != std::string::npos && colon != 0 && colon + 1 < text.size() && text.find('/') == std::string::npos &&
         text.find_first_not_of("0123456789", colon + 1) == std::string::npos && ::access(text.c_str(), F_OK) != 0;
}

std::string meant_reference(std::string text) {
  if (is_host_and_port(text)) text.insert(0, "http://");
  if (!is_url(text)) return text;
  for (const std::string_view page : {"/metrics", "/plain", "/api/v1/types", "/"}) {
    if (text.size() > page.size() + std::string_view("http://").size() && text.ends_with(page)) {
      text.resize(text.size() - page.size());
    }
  }
  return text;
}

/// Whether the text is a URL that no command reads, such as ftp://HOST.
bool has_other_scheme(const std::string& text) {
  return text.find("://") != std::string::npos && !is_url(text) && ::access(text.c_str(), F_OK) != 0;
}

std::string check_from(const std::string& text) {
  if (text.empty()) return "must not be empty";
  if (is_url(text) || is_host_and_port(text)) {
    return text + " is a URL; this command reads only a kernel or a capture: give live, CAPTURE or CAPTURE@POLL";
  }
  return {};
}

std::string check_from_anywhere(const std::string& text) {
  if (text.empty()) return "must not be empty";
  const std::string meant = meant_reference(text);
  if (has_other_scheme(meant)) return printable_bytes(text) + " is not a URL of a memstatd: give http://HOST:PORT";
  if (!is_url(meant)) return {};
  const std::string problem = parse_url(meant).problem;
  return problem.empty() ? problem : "URL: " + problem;
}

/// "2h ago", "90m", "2026-11-28T12:00:00Z" or seconds since 1970.
std::optional<double> moment_of(std::string text) {
  if (text.ends_with(" ago")) text.resize(text.size() - 4);
  std::tm parts{};
  const char* const end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (end != nullptr)
    return std::string_view(end) == "Z" ? std::optional(static_cast<double>(::timegm(&parts))) : std::nullopt;
  if (const auto seconds = parse_number(text); seconds && *seconds > 1'000'000'000) return static_cast<double>(*seconds);
  const auto before_ns = parse_duration(text);
  if (!before_ns) return {};
  return static_cast<double>(system_clock().realtime_ns() - static_cast<std::int64_t>(*before_ns)) / 1e9;
}

std::string check_moment(const std::string& text) {
  if (moment_of(text)) return {};
  return "\"" + text + "\" is not a time: give 2h, or 2026-11-28T12:00:00Z, or seconds since 1970";
}

std::string check_match(const std::string& text) {
  if (quoted_matchers(text)) return {};
  return "give label matchers as in a query, without braces: cluster=\"a\",site=~\"x|y\"";
}

std::string check_from_server(const std::string& text) {
  return is_prometheus(text) ? check_prometheus(text) : check_from_anywhere(text);
}

std::string check_json(const std::string& text) {
  if (text == "pretty" || text == kCompact) return {};
  return "unknown layout of JSON \"" + text + "\": give --json, --json=pretty or --json=compact";
}

std::string check_address(const std::string& text) {
  if (parse_number(text)) return {};
  return "\"" + text +
         "\" is not an address: give bytes from the start of physical memory, at most 2^64 - 1, as 0x1a2b or 6699";
}

std::string check_pid(const std::string& text) {
  constexpr std::uint64_t kMax = 0x7FFFFFFF;
  const auto number = parse_number(text);
  const bool is_decimal = text.find_first_not_of("0123456789") == std::string::npos;
  if (number && is_decimal && *number != 0 && *number <= kMax) return {};
  return "\"" + text + "\" is not the number of a process";
}

std::optional<std::uint64_t> parse_duration(const std::string& text) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  static constexpr std::array<std::pair<std::string_view, std::uint64_t>, 6> kUnits{{{"ms", kSecond / 1000},
                                                                                     {"s", kSecond},
                                                                                     {"", kSecond},
                                                                                     {"m", 60 * kSecond},
                                                                                     {"h", 3600 * kSecond},
                                                                                     {"d", 86400 * kSecond}}};
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_u64(std::string_view(text).substr(0, digits));
  for (const auto& [unit, factor] : kUnits) {
    if (number && text.substr(digits) == unit && *number <= (~std::uint64_t{0} >> 1U) / factor) return *number * factor;
  }
  return std::nullopt;
}

std::int64_t duration_of(const std::string& text) { return static_cast<std::int64_t>(parse_duration(text).value_or(0)); }

/// Whether the text is a duration of 100 ms to `most`.
bool is_duration(const std::string& text, std::uint64_t most) {
  const auto duration = parse_duration(text);
  return duration && *duration >= 100'000'000 && *duration <= most;
}

std::string check_interval(const std::string& text) {
  if (is_duration(text, 86'400'000'000'000)) return {};
  return "\"" + text + "\" is not an interval: give 100ms to 24h, as 500ms, 10s, 2m or 1h";
}

std::string check_window(const std::string& text) {
  if (is_duration(text, 30ULL * 86'400'000'000'000)) return {};
  return "\"" + text + "\" is not a duration: give 100ms to 720h, as 30s, 2m, 1h or 3d";
}

std::string check_positive(const std::string& text) {
  const auto number = parse_number(text);
  if (number && *number >= 1 && *number <= 1'000'000'000) return {};
  return "\"" + text + "\" is not a whole number from 1 to 1000000000";
}

std::string check_number(const std::string& text) {
  if (text == "0" || check_positive(text).empty()) return {};
  return "\"" + text + "\" is not a whole number from 0 to 1000000000";
}

Result<NamePattern> search_pattern(const std::string& text) { return NamePattern::compile(".*(" + text + ").*"); }

std::string check_pattern(const std::string& text) {
  if (search_pattern(text)) return {};
  const auto alone = NamePattern::compile(text);
  if (alone) return "\"" + text + "\" is too complex a regular expression";
  return alone.error().detail.substr(0, alone.error().detail.rfind(';'));  // its advice is for patterns of whole names
}

std::string check_allocator(const std::string& text) {
  if (const auto pattern = NamePattern::compile(text); !pattern) return pattern.error().detail;
  if (text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") != std::string::npos) return {};
  std::vector<std::string> known;
  for (std::size_t i = 0; i < kAllocatorCount; ++i) {
    const auto allocator = static_cast<Allocator>(i);
    if (allocator != Allocator::kUnknown) known.emplace_back(to_string(allocator));
  }
  if (std::find(known.begin(), known.end(), text) != known.end()) return {};
  return "there is no allocator \"" + text + "\"" + did_you_mean(text, known, "Allocators: " + separated(known, ", "));
}

std::string check_size(const std::string& text) {
  if (parse_byte_size(text)) return {};
  return "\"" + text + "\" is not a size: give bytes, or a number with KiB, MiB or GiB";
}

std::string check_watch_memory(const std::string& text) {
  const auto size = parse_byte_size(text);
  if (size && *size >= 1ULL << 20U && *size <= 4ULL << 30U) return {};
  return "\"" + text + "\" is out of range: give 1MiB to 4GiB";
}

namespace {

constexpr std::array<std::pair<std::string_view, Format>, 4> kFormats{{{"freebsd-15", Format::kFreeBsd15},
                                                                       {"freebsd-13", Format::kFreeBsd13},
                                                                       {"freebsd-12", Format::kFreeBsd12},
                                                                       {"freebsd-10", Format::kFreeBsd10}}};
const auto* format_of(const std::string& text) {
  return std::find_if(kFormats.begin(), kFormats.end(), [&](const auto& entry) { return text == entry.first; });
}

}  // namespace

std::string check_format(const std::string& text) {
  if (format_of(text) != kFormats.end()) return {};
  return "unknown format " + text + ": give freebsd-15, freebsd-13, freebsd-12 or freebsd-10";
}

void add_pattern(CommandLine& line, const std::string& text) {
  if (auto pattern = search_pattern(text)) line.view.patterns.push_back(*std::move(pattern));
}
void set_allocator(CommandLine& line, const std::string& text) {
  if (auto pattern = NamePattern::compile(text)) line.view.allocator = *std::move(pattern);
}
void set_limit(CommandLine& line, const std::string& text) {
  line.view.limit = parse_number(text).value_or(0);
  line.has_limit = true;
}
void set_format(CommandLine& line, const std::string& text) { line.format = format_of(text)->second; }
void set_interval(CommandLine& line, const std::string& text) { line.interval_ns = duration_of(text); }
void set_window(CommandLine& line, const std::string& text) { line.window_ns = duration_of(text); }
void set_verbose(CommandLine& line, const std::string&) { line.is_verbose = line.server.is_verbose = true; }

}  // namespace memstat::ctl
