// SPDX-License-Identifier: BSD-2-Clause
// The states of a kernel one after the other: the polls of a capture, or a live kernel at intervals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "daemon/ctl/commands/stop_signals.h"
#include "daemon/ctl/source/report_source.h"

namespace memstat::ctl {

/// How to walk. Thread safety: a plain value.
struct WalkOptions {
  std::size_t first = 0;                    ///< The poll of a capture to begin with.
  std::int64_t interval_ns = 0;             ///< Between two reads of a live kernel.
  std::optional<std::uint64_t> count = {};  ///< States at most; none: all polls, or until a signal comes.
};

/// Throws std::bad_alloc. Thread safety: none.
class PollWalk {
 public:
  /// The source outlives the walk.
  PollWalk(ReportSource& source, const WalkOptions& options);

  /// Reads the next state, of a live kernel when it is due. False after the last, after a signal, and when
  /// nothing could be read: then there is a problem.
  bool next();

  /// Why next() went no further, or "".
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] bool is_capture() const { return poll_count_ != 0; }
  /// How many states there will be; 0: not known.
  [[nodiscard]] std::uint64_t expected() const;
  /// How many there were so far.
  [[nodiscard]] std::uint64_t states() const { return states_; }

  // Of the state that next() read.
  [[nodiscard]] std::size_t poll() const { return options_.first + states_ - 1; }  ///< Its number, from 0.
  [[nodiscard]] double seconds() const { return seconds_; }                        ///< Since the first state.
  [[nodiscard]] const Sample& sample() const { return sample_; }

 private:
  bool select_state();
  bool wait_for_poll(std::int64_t last_ns);

  ReportSource& source_;
  WalkOptions options_;
  StopSignals signals_;
  std::size_t poll_count_;
  std::uint64_t states_ = 0;
  std::int64_t first_ns_ = 0;
  std::int64_t due_ns_ = 0;  // monotonic
  double seconds_ = 0;
  Sample sample_;
  std::string problem_;
};

/// The poll that "CAPTURE@POLL" names; 0 when it names none.
std::size_t first_poll_of(const std::optional<std::string>& from);

}  // namespace memstat::ctl
