// SPDX-License-Identifier: BSD-2-Clause
// The state of memstatctl top --hosts: reports and keys in, lines of text out. Independent of the terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "daemon/ctl/output/report_table.h"
#include "daemon/ctl/top/model.h"

namespace memstat::ctl {

/// The state of top --hosts.
class HostModel {
 public:
  /// `from`: the origin of the rows, for display; "" for several.
  HostModel(std::string from, std::chrono::nanoseconds interval) : from_(std::move(from)), interval_(interval) {}

  /// `view` in the chosen order, for a screen of that width.
  [[nodiscard]] ReportView view(ReportView view, std::size_t width) const;
  /// A new report, made with view(). After a failed one the rows of the last remain.
  void set_report(const Report& report);
  /// Seconds without an answer; shown from two on.
  void set_waiting(std::int64_t seconds) { waiting_s_ = seconds; }

  /// kRead: the rows are needed in another order, now.
  TopAction press(const KeyPress& press);
  [[nodiscard]] bool is_paused() const { return is_paused_; }
  [[nodiscard]] std::vector<TopLine> frame(std::size_t width, std::size_t height);

 private:
  [[nodiscard]] std::string title() const;
  void scroll(std::ptrdiff_t rows);

  std::string from_;
  std::chrono::nanoseconds interval_;
  std::vector<std::string> rows_;  // the first is the heading
  std::string problem_;
  std::int64_t waiting_s_ = 0;
  std::size_t order_ = 0;
  std::size_t first_row_ = 0;
  std::size_t page_ = 10;
  bool is_paused_ = false;
};

}  // namespace memstat::ctl
