// SPDX-License-Identifier: BSD-2-Clause
// The samples of memstatctl top, read while the keys work: a daemon that hangs holds up a thread and nothing else.
#pragma once

#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/unique_fd.h"
#include "daemon/ctl/source/report_source.h"
#include "daemon/ctl/top/model.h"

namespace memstat::ctl {

/// What one read brought. Thread safety: a plain value.
struct TopReading {
  std::optional<Sample> sample;  ///< None: none was wanted, or the capture is at its end.
  TopModel::Heading heading = {};
  std::vector<AmountHistory> histories = {};  ///< With the first sample that could be read.
  std::optional<TypeIdentity> split_of = {};  ///< Whose `splits` these are.
  Splits splits = {};
};

/// Puts it into the model.
void apply(TopReading reading, TopModel& model);

/// Reads a source, of a capture poll by poll. One read at a time. Thread safety: none.
class TopReader {
 public:
  struct Wish {
    bool wants_sample = false;
    std::optional<TypeRow> split_of = {};  ///< Apart by CPU and by node, too.
  };

  /// `first_poll`: of a capture, where it begins. `from`: the source as the title has it.
  TopReader(std::unique_ptr<ReportSource> source, std::size_t first_poll, std::string from = {});
  TopReader(const TopReader&) = delete;
  TopReader& operator=(const TopReader&) = delete;
  /// Does not wait: a read that is under way ends by itself, or with the process.
  ~TopReader() = default;

  /// Polls of the capture; 0: it is none.
  [[nodiscard]] std::size_t poll_count() const;
  /// Whether there will be nothing new: the capture is at its end. Not to be asked while it is busy.
  [[nodiscard]] bool is_at_end() const;

  /// Reads now. Not while it is busy.
  TopReading read(const Wish& wish);
  /// Begins to read; take() gives the result. Not while it is busy.
  void start(Wish wish);
  [[nodiscard]] bool is_busy() const { return under_way_.valid(); }
  /// Readable when take() has something; -1: take() is to be called after start().
  [[nodiscard]] int wake_fd() const { return wake_.get(); }
  /// What was read; none: it is not there yet, or nothing was started.
  std::optional<TopReading> take();

 private:
  struct State;
  std::shared_ptr<State> state_;  // with the thread that reads
  std::future<TopReading> under_way_;
  std::optional<TopReading> done_;
  UniqueFd wake_;
};

}  // namespace memstat::ctl
