// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/source/missing_sources.h"

#include <algorithm>
#include <string_view>

namespace memstat::ctl {
namespace {

bool is_refused(const SourceStatus& source) {
  return source.state == SourceState::kNotPermitted || (source.state == SourceState::kDown && !source.needs.empty());
}

}  // namespace

std::vector<std::string> missing_sources(std::span<const SourceStatus> sources, bool is_replay) {
  std::vector<std::string> lines;
  std::string refused;
  std::string needs;
  for (const SourceStatus& source : sources) {
    if (is_refused(source)) {
      refused += (refused.empty() ? "" : ", ") + source.name;
      if (needs.find(source.needs) == std::string::npos) needs += (needs.empty() ? "" : "; ") + source.needs;
    } else if (source.state == SourceState::kDown) {
      lines.push_back("not in this answer: " + source.error);
    }
  }
  if (!refused.empty() && is_replay) {
    lines.insert(lines.begin(), "not in this capture, because who recorded it could not read them: " + refused +
                                    "; record it as root, or with memstatd --record");
  } else if (!refused.empty()) {
    lines.insert(lines.begin(), "not in this answer, because you may not read them: " + refused +
                                    "; run memstatctl as root" +
                                    (needs.empty() || needs == "root" ? "" : " (they need " + needs + ")") +
                                    ", or ask a running memstatd with --from http://127.0.0.1:8947");
  }
  return lines;
}

std::string why_nothing(std::span<const SourceStatus> sources) {
  const bool is_any_up = std::any_of(sources.begin(), sources.end(),
                                     [](const SourceStatus& source) { return source.state == SourceState::kUp; });
  if (is_any_up) return {};
  const auto down = std::find_if(sources.begin(), sources.end(),
                                 [](const SourceStatus& source) { return source.state == SourceState::kDown; });
  return down != sources.end() ? down->error : "this kernel has no source of memory types";
}

}  // namespace memstat::ctl
