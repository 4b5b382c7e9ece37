// SPDX-License-Identifier: BSD-2-Clause
// Options that several commands share.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "daemon/ctl/commands/option_values.h"
#include "daemon/ctl/commands/options.h"

namespace memstat::ctl {

inline constexpr Option kKernelOption{.name = "--kernel",
                                      .value = "FILE",
                                      .help = "The kernel file of a FreeBSD crash dump, if it is not next to it",
                                      .set = [](CommandLine& line, const std::string& text) { line.kernel = text; }};
inline constexpr Option kFromOption{
    .name = "--from",
    .value = "live|CAPTURE[@POLL]",
    .help =
        "This machine's kernel, or a capture (a directory, .tar or .tar.zst)\nand which poll "
        "of it, from 0; the last by default",
    .set = [](CommandLine& line, const std::string& text) { line.from = text; },
    .check = check_from};
inline constexpr Option kFromAnywhereOption{
    .name = "--from",
    .value = "live|CAPTURE[@POLL]|URL",
    .help =
        "This machine's kernel; a capture (a directory, .tar or .tar.zst) and\nwhich poll of it, from 0, the last by "
        "default; or a running memstatd,\nas http://HOST:PORT",
    .set = [](CommandLine& line, const std::string& text) { line.from = meant_reference(text); },
    .check = check_from_anywhere};

inline constexpr Option kTypeOption{.name = "TYPE",
                                    .help = "ALLOCATOR/TYPE, such as slab/dentry, or a name that only one allocator has",
                                    .set = [](CommandLine& line, const std::string& text) { line.type = text; },
                                    .least = 1};
inline constexpr Option kPatternsOption{.name = "PATTERN",
                                        .help =
                                            "Types whose name, or ALLOCATOR/TYPE, has a part that matches\nthis regular "
                                            "expression: 'dentry|inode'",
                                        .set = add_pattern,
                                        .check = check_pattern,
                                        .most = Option::kAny};
inline constexpr Option kAllocatorOption{.name = "--allocator",
                                         .value = "NAME",
                                         .help = "Types of this allocator; a regular expression for several",
                                         .set = set_allocator,
                                         .check = check_allocator};
inline constexpr Option kSortOption{.name = "--sort",
                                    .value = "COLUMN",
                                    .help = "Sort by this column, largest first",
                                    .set = [](CommandLine& line, const std::string& text) { line.view.sort = text; }};
inline constexpr Option kReverseOption{.name = "--reverse",
                                       .help = "Reverse the order",
                                       .set = [](CommandLine& line, const std::string&) { line.view.is_reversed = true; },
                                       .most = 0};
inline constexpr Option kLimitOption{
    .name = "--limit", .value = "N", .help = "Maximum number of rows; 0: all", .set = set_limit, .check = check_number};
inline constexpr Option kHumanOption{.name = "--human",
                                     .help = "Bytes as 2.3M and times as 2h 10m in text",
                                     .set = [](CommandLine& line, const std::string&) { line.human = true; },
                                     .most = 0};
inline constexpr Option kNoHumanOption{.name = "--no-human",
                                       .help = "Whole numbers in text",
                                       .set = [](CommandLine& line, const std::string&) { line.human = false; },
                                       .most = 0,
                                       .against = "--human"};
inline constexpr Option kCsvOption{.name = "--csv",
                                   .help = "Comma-separated values at full precision; empty where the kernel has no value",
                                   .set = [](CommandLine& line, const std::string&) { line.csv = true; },
                                   .most = 0};
inline constexpr Option kJsonOption{.name = "--json{pretty}",
                                    .help = "JSON, numbers at full precision; =compact: on one line",
                                    .set = [](CommandLine& line, const std::string&) { line.json = true; },
                                    .check = check_json,
                                    .most = 0};
inline constexpr Option kFormatOption{.name = "--format",
                                      .value = "RELEASE",
                                      .help =
                                          "Layout of that release: freebsd-15 (the default), freebsd-13,\nfreebsd-12 or "
                                          "freebsd-10 (which had no JSON)",
                                      .set = set_format,
                                      .check = check_format};

/// `help` describes the meaning, which differs between commands.
constexpr Option interval_option(const char* help) {
  return {.name = "--interval", .value = "DURATION", .help = help, .set = set_interval, .check = check_interval};
}
constexpr Option count_option(const char* help) {
  return {.name = "--count", .value = "N", .help = help, .set = set_count, .check = check_positive};
}
constexpr Option window_option(const char* help) {
  return {.name = "--for,--seconds", .value = "DURATION", .help = help, .set = set_window, .check = check_window};
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
