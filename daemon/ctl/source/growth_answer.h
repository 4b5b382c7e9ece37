// SPDX-License-Identifier: BSD-2-Clause
// What grows, as reports show it: the document of /api/v1/growth, whether a memstatd sent it or this process made it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memstat::ctl {

/// One amount that is larger than at the start of the window.
struct GrowthRow {
  std::string allocator;  ///< "account" for parts of all memory
  std::string name;
  bool is_bytes = true;  ///< false: objects
  std::int64_t now = 0;
  std::int64_t grew = 0;
  double per_second = 0;
  double confidence = 0;  ///< 1 less the probability that chance alone rises as clearly
  double rising = 0;      ///< share of the changes that are rises
  std::optional<double> limit_seconds = {};
  std::optional<double> memory_seconds = {};
  std::string shape;              ///< "steady", "step", ...
  std::string why;                ///< Why it is set aside, as words that follow "it".
  std::vector<std::string> with;  ///< Types that grow by as many objects.
};

/// Thread safety: a plain value, as all here.
struct GrowthAnswer {
  std::size_t polls = 0;
  double seconds = 0;  ///< from the first poll to the last
  bool is_enough = false;
  std::vector<GrowthRow> growing;
  std::vector<GrowthRow> set_aside;
  std::string problem;  ///< Why there is no answer, for people; "" when there is.
};

/// False when the bytes are no such document. They may come from anybody.
bool parse_growth_answer(std::string_view json, GrowthAnswer& answer);

}  // namespace memstat::ctl
