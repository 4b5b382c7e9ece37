// SPDX-License-Identifier: BSD-2-Clause
// The questions of rctl(8) to FreeBSD's kernel, whose answers have no size that is known before.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace memstat {

/// The answer of rctl_get_rules(2) or rctl_get_racct(2) to `filter`, with `separator` between its entries.
template <typename Call>
Result<std::string> ask_rctl(Call call, std::string_view name, const std::string& filter, char separator = '\n') {
  constexpr std::size_t kMaxAnswer = std::size_t{1} << 20U;
  std::string answer(std::size_t{4} << 10U, '\0');
  while (call(filter.c_str(), filter.size() + 1, answer.data(), answer.size()) != 0) {
    // Without kern.racct.enable, or the option, there is no such call.
    if (errno == ENOSYS) return system_error(name, ENOENT, "kern.racct.enable is 0");
    if (errno != ERANGE || answer.size() >= kMaxAnswer) return system_error(name, errno);
    answer.resize(4 * answer.size());
  }
  answer.resize(std::strlen(answer.c_str()));
  std::replace(answer.begin(), answer.end(), ',', separator);
  return answer;
}

}  // namespace memstat
