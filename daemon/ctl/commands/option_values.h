// SPDX-License-Identifier: BSD-2-Clause
// Parses and checks the values of memstatctl's options. Each check returns "" or an error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/name_pattern.h"

namespace memstat::ctl {

struct CommandLine;

/// Normalizes the argument of --from: HOST:PORT, or the URL of one of memstatd's pages, becomes memstatd's URL.
std::string meant_reference(std::string text);

/// Check the argument of --from for commands that do not accept a memstatd, and for those that do.
std::string check_from(const std::string& text);
std::string check_from_anywhere(const std::string& text);

std::string check_json(const std::string& text);

/// Parses all of `text` as a number: decimal, or hexadecimal after 0x.
std::optional<std::uint64_t> parse_number(std::string_view text);
std::string check_positive(const std::string& text);
/// Same, where 0 means all.
std::string check_number(const std::string& text);
std::string check_address(const std::string& text);
std::string check_pid(const std::string& text);

/// "500ms", "10s", "2m", "1h", or seconds without a unit. Returns nanoseconds.
std::optional<std::uint64_t> parse_duration(const std::string& text);
/// Same, for a text that was checked.
std::int64_t duration_of(const std::string& text);
std::string check_interval(const std::string& text);
std::string check_window(const std::string& text);

/// "300MiB" or bytes.
std::optional<std::uint64_t> parse_size(const std::string& text);
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
void set_count(CommandLine& line, const std::string& text);
void set_window(CommandLine& line, const std::string& text);

}  // namespace memstat::ctl
