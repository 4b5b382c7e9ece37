// SPDX-License-Identifier: BSD-2-Clause
// How each source fares, for people: the poller knows it, pages show it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace memstat {

/// Where a source stands after a poll.
enum class SourceState {
  kUnknown,       ///< Not read yet.
  kOff,           ///< Switched off by the configuration.
  kAbsent,        ///< This kernel does not have it. No failure.
  kSpared,        ///< Not read, because a source that has its types and figures, too, is up.
  kNotPermitted,  ///< It lacks a privilege, and no type is lost without it. No failure.
  kUp,
  kDown,
};
inline std::string_view to_string(SourceState state) {
  switch (state) {
    case SourceState::kUnknown: return "not read yet";
    case SourceState::kOff: return "off";
    case SourceState::kAbsent: return "not present";
    case SourceState::kSpared: return "spared";
    case SourceState::kNotPermitted: return "not permitted";
    case SourceState::kUp: return "up";
    case SourceState::kDown: return "down";
  }
  return "unknown";
}

/// For people: the status page, the log.
struct SourceStatus {
  std::string name;
  std::string origin;
  SourceState state = SourceState::kUnknown;
  std::string error;             ///< Why it is down, not present, not permitted or spared, "" otherwise.
  std::string needs;             ///< The privilege that it lacks where it is not permitted, "" otherwise.
  std::string note;              ///< What it left out although it is up, and why; "" for nothing.
  std::size_t types = 0;         ///< Named in the last good read.
  double read_seconds = 0;       ///< That the last good read took; 0: there was none.
  std::uint64_t read_bytes = 0;  ///< B that it brought.
};

/// The states of the sources. Thread safety: statuses() is safe.
class SourceStatuses {
 public:
  virtual ~SourceStatuses() = default;
  /// All sources of this kernel's system, in the order in which they are read.
  [[nodiscard]] virtual std::vector<SourceStatus> statuses() const = 0;
};

}  // namespace memstat
