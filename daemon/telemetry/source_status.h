// SPDX-License-Identifier: BSD-2-Clause
// The state of each source, for people: written by the poller, shown on pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/text.h"

namespace memstat {

enum class SourceState {
  kUnknown,       ///< Not read yet.
  kOff,           ///< Off in the configuration.
  kAbsent,        ///< Not provided by this kernel. Not a failure.
  kReplaced,      ///< Not read, because a source that replaces it is up.
  kNotPermitted,  ///< A privilege is missing, but no type is lost. Not a failure.
  kUp,
  kDown,
};
inline std::string_view to_string(SourceState state) {
  switch (state) {
    case SourceState::kUnknown: return "not read yet";
    case SourceState::kOff: return "off";
    case SourceState::kAbsent: return "not present";
    case SourceState::kReplaced: return "replaced";
    case SourceState::kNotPermitted: return "not permitted";
    case SourceState::kUp: return "up";
    case SourceState::kDown: return "down";
  }
  return "unknown";
}

/// For the status page and the log.
struct SourceStatus {
  std::string name;
  std::string origin;
  SourceState state = SourceState::kUnknown;
  std::string error;             ///< Why it is down, absent, not permitted or replaced; otherwise "".
  std::string needs;             ///< The missing privilege if it is not permitted; otherwise "".
  std::string note;              ///< Figures that it omitted while up, and why; "" for none.
  std::size_t types = 0;         ///< In the last successful read.
  double read_seconds = 0;       ///< Duration of the last successful read; 0: none.
  std::uint64_t read_bytes = 0;  ///< Size of the last successful read.
};

/// "2 sources are not permitted, linux_slabinfo and linux_vmalloc: ..." with what to type; "" if none is refused.
inline std::string refused_sources_line(std::span<const SourceStatus> sources) {
  std::vector<std::string_view> refused;
  for (const SourceStatus& source : sources) {
    if (!source.needs.empty()) refused.push_back(source.name);
  }
  if (refused.empty()) return {};
  return std::to_string(refused.size()) + (refused.size() == 1 ? " source is" : " sources are") + " not permitted, " +
         join_words(refused, " and ") + ": type `memstatctl doctor` to see what would permit them";
}

/// Thread safety: statuses() is safe.
class SourceStatuses {
 public:
  virtual ~SourceStatuses() = default;
  /// All sources of this kernel's system, in reading order.
  [[nodiscard]] virtual std::vector<SourceStatus> statuses() const = 0;
};

}  // namespace memstat
