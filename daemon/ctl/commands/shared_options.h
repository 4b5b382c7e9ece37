// SPDX-License-Identifier: BSD-2-Clause
// Included by every command: the options that several share, and the values of options.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "config/name_pattern.h"
#include "daemon/ctl/commands/options.h"

namespace memstat::ctl {

// ---- values: each check returns "" or an error ----

/// Normalizes the argument of --from: HOST:PORT, or the URL of one of memstatd's pages, becomes memstatd's URL.
std::string meant_reference(std::string text);

/// Check the argument of --from for commands that do not accept a memstatd, and for those that do.
std::string check_from(const std::string& text);
std::string check_from_anywhere(const std::string& text);
/// The same, and prometheus:URL.
std::string check_from_server(const std::string& text);

/// "2h ago", "90m", "2026-11-28T12:00:00Z" or seconds since 1970. Returns seconds since 1970.
std::optional<double> moment_of(std::string text);
std::string check_moment(const std::string& text);
/// Label matchers, as in a query.
std::string check_match(const std::string& text);

std::string check_json(const std::string& text);

std::string check_positive(const std::string& text);
/// Same, where 0 means all.
std::string check_number(const std::string& text);
std::string check_address(const std::string& text);
std::string check_pid(const std::string& text);

/// "500ms", "10s", "2m", "1h", "3d", or seconds without a unit. Returns nanoseconds.
std::optional<std::uint64_t> parse_duration(const std::string& text);
/// Same, for a text that was checked.
std::int64_t duration_of(const std::string& text);
std::string check_interval(const std::string& text);
std::string check_window(const std::string& text);

/// "300MiB" or bytes: what parse_byte_size() accepts.
std::string check_size(const std::string& text);
std::string check_watch_memory(const std::string& text);

/// A pattern that matches names in which any part matches the regular expression.
Result<NamePattern> search_pattern(const std::string& text);
std::string check_pattern(const std::string& text);
std::string check_allocator(const std::string& text);
std::string check_format(const std::string& text);

// Setters for checked values.
void add_pattern(CommandLine& line, const std::string& text);
void set_allocator(CommandLine& line, const std::string& text);
void set_limit(CommandLine& line, const std::string& text);
void set_format(CommandLine& line, const std::string& text);
void set_interval(CommandLine& line, const std::string& text);
void set_window(CommandLine& line, const std::string& text);
void set_verbose(CommandLine& line, const std::string&);

// ---- options ----

inline constexpr Option kKernelOption = valued(
    "--kernel", "FILE", "The kernel file of a FreeBSD crash dump, if it is not next to it", store<&CommandLine::kernel>);
inline constexpr Option kFromOption =
    valued("--from", "live|CAPTURE[@POLL]",
           "This machine's kernel, or a capture (a directory, .tar or .tar.zst)\nand which poll "
           "of it, from 0; the last by default",
           store<&CommandLine::from>, check_from);
inline constexpr Option kFromAnywhereOption = valued(
    "--from", "live|CAPTURE[@POLL]|URL",
    "This machine's kernel; a capture (a directory, .tar or .tar.zst) and\nwhich poll of it, from 0, the last by "
    "default; or a running memstatd,\nas http://HOST:PORT",
    [](CommandLine& line, const std::string& text) { line.from = meant_reference(text); }, check_from_anywhere);

/// The same, and a Prometheus.
inline constexpr Option kFromServerOption = valued(
    "--from", "live|CAPTURE[@POLL]|URL|prometheus:URL",
    "This machine's kernel; a capture (a directory, .tar or .tar.zst) and\nwhich poll of it, from 0, the last by default; "
    "a running memstatd, as\nhttp://HOST:PORT; or a Prometheus-compatible server that scrapes memstatd",
    [](CommandLine& line, const std::string& text) { line.from = meant_reference(text); }, check_from_server);

/// The same, where several memstatds are one report.
inline constexpr Option kFromHostsOption = valued(
    "--from", "live|CAPTURE[@POLL]|URL|prometheus:URL",
    "This machine's kernel; a capture (a directory, .tar or .tar.zst) and\nwhich poll of it, from 0, the last by default; "
    "a running memstatd, as\nhttp://HOST:PORT, several of which are one report; or a Prometheus-compatible\nserver that "
    "scrapes memstatd",
    [](CommandLine& line, const std::string& text) {
      line.hosts.push_back(meant_reference(text));
      line.from = line.hosts.front();
    },
    check_from_server, "", Option::kAny);

/// For prometheus:URL.
inline constexpr std::array kServerOptions{
    valued("--host", "REGEX", "Of a server: the host whose instance is matched as a whole",
           store<&CommandLine::server, &ServerOptions::host>, check_pattern),
    valued("--match", "MATCHERS", "Of a server: hosts with these labels, as cluster=\"a\",site=~\"x|y\"",
           store<&CommandLine::server, &ServerOptions::match>, check_match),
    valued(
        "--at", "TIME", "Of a server or a capture: at a past time, as 2h or 2026-11-28T12:00:00Z",
        [](CommandLine& line, const std::string& text) { line.server.at = moment_of(text); }, check_moment),
    valued("--headers", "FILE",
           "Of a server: lines of the request from this file: bearer: TOKEN,\nbasic: USER:PASSWORD, or X-Scope-OrgID: a; "
           "the variable MEMSTAT_HEADERS\nnames it, too",
           store<&CommandLine::server, &ServerOptions::headers>)};
inline constexpr Option kVerboseOption = flag("--verbose", "Of a server: print the queries, too", set_verbose);
inline constexpr Option kGroupByOption =
    valued("--group-by", "LABEL", "A row for each kernel release, os, or value of a label", store<&CommandLine::group_by>);

inline constexpr Option kTypeOption = argument(
    "TYPE", {1, 1}, "ALLOCATOR/TYPE, such as slab/dentry, or a name that only one allocator has", store<&CommandLine::type>);
inline constexpr Option kPatternsOption =
    argument("PATTERN", {0, Option::kAny},
             "Types whose name, or ALLOCATOR/TYPE, has a part that matches\nthis regular "
             "expression: 'dentry|inode'",
             add_pattern, check_pattern);
inline constexpr Option kAllocatorOption = valued(
    "--allocator", "NAME", "Types of this allocator; a regular expression for several", set_allocator, check_allocator);
inline constexpr Option kSortOption =
    valued("--sort", "COLUMN", "Sort by this column, largest first", store<&CommandLine::view, &ReportView::sort>);
inline constexpr Option kReverseOption =
    flag("--reverse", "Reverse the order", store<&CommandLine::view, &ReportView::is_reversed>);
inline constexpr Option kLimitOption = valued("--limit", "N", "Maximum number of rows; 0: all", set_limit, check_number);
inline constexpr Option kHumanOption = flag("--human", "Bytes as 2.3M and times as 2.2h in text",
                                            [](CommandLine& line, const std::string&) { line.human = true; });
inline constexpr Option kNoHumanOption = flag(
    "--no-human", "Whole numbers in text", [](CommandLine& line, const std::string&) { line.human = false; }, nullptr,
    "--human");
inline constexpr Option kCsvOption =
    flag("--csv", "Comma-separated values at full precision; empty where the kernel has no value", store<&CommandLine::csv>);
inline constexpr Option kJsonOption =
    flag("--json{pretty}", "JSON, numbers at full precision; =compact: on one line", store<&CommandLine::json>, check_json);
inline constexpr Option kFormatOption =
    valued("--format", "RELEASE",
           "Layout of that release: freebsd-15 (the default), freebsd-13,\nfreebsd-12 or "
           "freebsd-10 (which had no JSON)",
           set_format, check_format);

/// `help` describes the meaning, which differs between commands.
constexpr Option interval_option(const char* help) {
  return valued("--interval", "DURATION", help, set_interval, check_interval);
}
constexpr Option count_option(const char* help) {
  return valued("--count", "N", help, store<&CommandLine::count>, check_positive);
}
constexpr Option window_option(const char* help) {
  return valued("--for,--seconds", "DURATION", help, set_window, check_window);
}

/// Options of every report, and of a report of types.
inline constexpr std::array kReportOptions{kSortOption,    kReverseOption, kLimitOption, kHumanOption,
                                           kNoHumanOption, kCsvOption,     kJsonOption};
inline constexpr std::array kTypeReportOptions{kPatternsOption, kAllocatorOption, kSortOption, kReverseOption, kLimitOption,
                                               kHumanOption,    kNoHumanOption,   kCsvOption,  kJsonOption};

/// A command's own options followed by those of a report.
template <std::size_t N, std::size_t M>
constexpr std::array<Option, N + M> joined(const std::array<Option, N>& own, const std::array<Option, M>& report) {
  return [&]<std::size_t... I, std::size_t... J>(std::index_sequence<I...>, std::index_sequence<J...>) {
    return std::array<Option, N + M>{own[I]..., report[J]...};
  }
  (std::make_index_sequence<N>(), std::make_index_sequence<M>());
}

}  // namespace memstat::ctl
