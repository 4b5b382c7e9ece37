// SPDX-License-Identifier: BSD-2-Clause
// The words of findings.
#pragma once

#include <string>
#include <string_view>

#include "core/base/amount_text.h"  // IWYU pragma: export
#include "core/model/inspection.h"

namespace memstat {

/// "1003 of 1024"; "1040, above the limit of 1024": some limits bind only new entries, as pid_max, whose first 300 numbers
/// are given once. Digits of counts that would otherwise look equal.
std::string of_limit_text(double used, double limit, bool is_bytes = false);
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
