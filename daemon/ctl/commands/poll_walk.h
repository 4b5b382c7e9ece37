// SPDX-License-Identifier: BSD-2-Clause
// The states of a kernel in sequence: the polls of a capture, or a live kernel at intervals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "daemon/ctl/output/progress.h"
#include "daemon/ctl/source/report_source.h"

namespace memstat::ctl {

/// Options of a walk.
struct WalkOptions {
  std::size_t first = 0;                    ///< The first poll of a capture to read.
  std::int64_t interval_ns = 0;             ///< Between two reads of a live kernel.
  std::optional<std::uint64_t> count = {};  ///< Maximum number of states; empty: all polls, or until a signal.
};

/// Visits the polls of a capture, or a live kernel at intervals. Throws std::bad_alloc.
class PollWalk {
 public:
  /// The source must outlive this object.
  PollWalk(ReportSource& source, const WalkOptions& options);

  /// Reads the next state; for a live kernel, waits until it is due. Returns false after the last state, after a
  /// signal, and if nothing could be read, which sets a problem.
  bool next();

  /// Why next() stopped; "" without a problem.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] bool is_capture() const { return poll_count_ != 0; }
  /// The number of states to come in total; 0: unknown.
  [[nodiscard]] std::uint64_t expected() const;
  /// The number of states so far.
  [[nodiscard]] std::uint64_t states() const { return states_; }

  // About the state read by next().
  [[nodiscard]] std::size_t poll() const { return options_.first + states_ - 1; }  ///< Its index, from 0.
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

/// The poll in "CAPTURE@POLL"; 0 if there is none.
std::size_t first_poll_of(const std::optional<std::string>& from);

}  // namespace memstat::ctl
