// SPDX-License-Identifier: BSD-2-Clause
// Reads samples for memstatctl top in the background, so that a daemon that hangs does not block the keys.
#pragma once

#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/not_copyable.h"
#include "core/base/unique_fd.h"
#include "daemon/ctl/source/report_source.h"
#include "daemon/ctl/top/model.h"

namespace memstat::ctl {

/// The result of a read.
struct TopReading {
  std::optional<Sample> sample;  ///< Empty: none was requested, or the capture has ended.
  TopModel::Heading heading = {};
  std::vector<AmountHistory> histories = {};  ///< With the first successful sample.
  std::optional<TypeIdentity> split_of = {};  ///< The type of `splits`.
  Splits splits = {};
};

/// Stores it in the model.
void apply(TopReading reading, TopModel& model);

/// Reads a source; a capture poll by poll. One read at a time.
class TopReader : NotCopyable {
 public:
  struct Wish {
    bool wants_sample = false;
    std::optional<TypeRow> split_of = {};  ///< Also read this type's figures by CPU and by node.
  };

  /// `first_poll`: where a capture begins. `from`: the source's name for the title.
  TopReader(std::unique_ptr<ReportSource> source, std::size_t first_poll, std::string from = {});
  /// Does not wait: a running read ends on its own, or with the process.
  ~TopReader() = default;

  /// Number of polls in the capture; 0: not a capture.
  [[nodiscard]] std::size_t poll_count() const;
  /// Whether a capture has ended. Do not call while busy.
  [[nodiscard]] bool is_at_end() const;

  /// Reads now. Do not call while busy.
  TopReading read(const Wish& wish);
  /// Starts a read; take() returns the result. Do not call while busy.
  void start(Wish wish);
  [[nodiscard]] bool is_busy() const { return under_way_.valid(); }
  /// Readable when take() has a result; -1: call take() right after start().
  [[nodiscard]] int wake_fd() const { return wake_.get(); }
  /// The result; empty: not there yet, or nothing was started.
  std::optional<TopReading> take();

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the reading thread
  std::future<TopReading> under_way_;
  std::optional<TopReading> done_;
  UniqueFd wake_;
};

}  // namespace memstat::ctl
