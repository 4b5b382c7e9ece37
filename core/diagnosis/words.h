// SPDX-License-Identifier: BSD-2-Clause
// Formats numbers for findings.
#pragma once

#include <string>
#include <string_view>

#include "core/model/inspection.h"

namespace memstat {

/// "512 B", "31 MiB", "1.5 GiB".
std::string bytes_text(double bytes);
/// "1532", "2.5 million".
std::string count_text(double count);
/// bytes_text() or count_text().
std::string amount_text(double amount, bool is_bytes);
/// A share of 1 as "97 %", "0.4 %". Never rounded to nothing or to all: "less than 0.1 %", "99.9 %".
std::string percent_text(double share);
/// "40 s", "12 min", "6 h", "3 d".
std::string duration_words(double seconds);
/// Per minute or hour, whichever is readable: "128/min", "31 MiB/h".
std::string rate_text(double per_second, bool is_bytes);
/// "1 process", "3 processes": `singular` with an s, or `plural`.
std::string counted(double count, std::string_view singular, std::string_view plural = {});

/// "at least " before an amount of an answer that was cut; "" if the answer is whole.
std::string_view at_least(const InspectionAnswer& answer);
/// How much of the machine an answer saw: "7995 of 8400 open files", in digits. "": unknown.
std::string seen_text(const InspectionAnswer& answer);
/// A part of the account in an operator's words: "Kernel objects (unreclaimable slab)". Others: "account NAME".
std::string part_words(std::string_view part);

/// At most `width` characters, truncated with "...". Does not cut UTF-8 characters.
std::string cut_text(std::string_view text, std::size_t width);
/// Shortens a long name in the middle, since names differ at both ends.
std::string short_name(std::string_view name, std::size_t width = 40);

/// `text` as one word of a shell, quoted if necessary: users choose the names of groups and mounts, and commands are pasted.
std::string shell_word(std::string_view text);

}  // namespace memstat
