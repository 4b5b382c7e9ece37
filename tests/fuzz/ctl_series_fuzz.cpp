// SPDX-License-Identifier: BSD-2-Clause
// Answers of a program that claims to be a Prometheus, and label matchers of a command line: any bytes give finite values,
// and what was quoted is quoted again as it is.
#include <cmath>
#include <cstdlib>

#include "daemon/ctl/source/prometheus.h"
#include "tests/fuzz/fuzz_target.h"

void memstat::fuzz(std::string_view bytes) {
  using namespace ctl;
  for (const bool is_range : {false, true}) {
    SeriesAnswer answer;
    if (parse_series(bytes, is_range, answer) && !answer.problem.empty()) std::abort();
    for (const Series& series : answer.series) {
      if (!std::isfinite(series.value) || is_range == series.points.empty()) std::abort();
      for (const Series::Point& point : series.points) {
        if (!std::isfinite(point.value)) std::abort();
      }
    }
  }
  if (const auto quoted = quoted_matchers(bytes)) {
    if (quoted_matchers(*quoted) != quoted) std::abort();
  }
}
