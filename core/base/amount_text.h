// SPDX-License-Identifier: BSD-2-Clause
// Amounts as people read them: one rule per kind, in prose ("97 %") and in the columns of tables ("97%").
// daemon/web/view.js follows the same rules; tests/fixtures/amounts.txt has examples of both.
#pragma once

#include <string>

namespace memstat {

/// "512 B", "31 MiB", "1.5 GiB".
std::string bytes_text(double bytes);
/// "1532", "2.5 million".
std::string count_text(double count);
/// bytes_text() or count_text().
std::string amount_text(double amount, bool is_bytes);
/// A share of 1 as "97 %", "0.4 %". Never rounded to nothing or to all: "less than 0.1 %", "99.9 %".
std::string percent_text(double share);
/// percent_text() for a column: "97%", "<0.1%".
std::string percent_cell(double share);
/// "40 s", "12 min", "6 h", "3 d", "2 y"; over 100 years: "over 100 y".
std::string duration_words(double seconds);
/// duration_words() for a column: "12m", ">100y".
std::string duration_cell(double seconds);
/// Per second, minute or hour, whichever is readable: "128/min", "31 MiB/h".
std::string rate_text(double per_second, bool is_bytes);

}  // namespace memstat
