// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/top/host_model.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "core/base/amount_text.h"

namespace memstat::ctl {
namespace {

constexpr const char* kKeys = "q quit  s order  p pause  arrows scroll";

/// An order of the rows.
struct Order {
  const char* column;  // "": the worst first
  bool is_reversed;
  const char* words;
};
constexpr std::array<Order, 6> kOrders{{{"", false, "the worst first"},
                                        {"available_ratio", true, "least available first"},
                                        {"kernel_ratio", false, "largest kernel share first"},
                                        {"growth_bytes", false, "fastest growth first"},
                                        {"failures", false, "most failures first"},
                                        {"host", false, "by name"}}};

/// The look of a row: that of its severity, which begins at column `at`.
LineStyle look_of(const std::string& row, std::size_t at) {
  const std::string_view rest = at < row.size() ? std::string_view(row).substr(at) : std::string_view();
  if (rest.starts_with("now ")) return LineStyle::kCritical;
  if (rest.starts_with("soon ") || rest.starts_with("silent ")) return LineStyle::kWarning;
  return LineStyle::kPlain;
}

}  // namespace

ReportView HostModel::view(ReportView view, std::size_t width) const {
  view.layout = Layout::kText;
  view.width = width;
  if (const Order& order = kOrders[order_]; *order.column != '\0') {
    view.sort = order.column;
    view.is_reversed = order.is_reversed;
  }
  return view;
}

void HostModel::set_report(const Report& report) {
  problem_ = report.problem;
  for (const std::string& line : report.missing) problem_ += (problem_.empty() ? "" : "; ") + line;
  if (!report.problem.empty()) return;
  rows_.clear();
  std::istringstream text(report.output);
  for (std::string row; std::getline(text, row);) rows_.push_back(row);
  scroll(0);
}

void HostModel::scroll(std::ptrdiff_t rows) {
  const auto last = static_cast<std::ptrdiff_t>(rows_.size()) - 1 - static_cast<std::ptrdiff_t>(page_);
  const std::ptrdiff_t wanted = static_cast<std::ptrdiff_t>(first_row_) + rows;
  first_row_ = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(wanted, 0, std::max<std::ptrdiff_t>(0, last)));
}

TopAction HostModel::press(const KeyPress& press) {
  const auto page = static_cast<std::ptrdiff_t>(page_);
  switch (press.key) {
    case Key::kUp: scroll(-1); return TopAction::kNone;
    case Key::kDown: scroll(1); return TopAction::kNone;
    case Key::kPageUp: scroll(-page); return TopAction::kNone;
    case Key::kPageDown: scroll(page); return TopAction::kNone;
    case Key::kHome: first_row_ = 0; return TopAction::kNone;
    case Key::kEnd: scroll(static_cast<std::ptrdiff_t>(rows_.size())); return TopAction::kNone;
    case Key::kEscape: return TopAction::kQuit;
    case Key::kLeft:
    case Key::kRight:
    case Key::kEnter:
    case Key::kBackspace: return TopAction::kNone;
    case Key::kCharacter: break;
  }
  if (press.character == "q") return TopAction::kQuit;
  if (press.character == "p" || press.character == " ") is_paused_ = !is_paused_;
  if (press.character != "s") return TopAction::kNone;
  order_ = (order_ + 1) % kOrders.size();
  first_row_ = 0;
  return TopAction::kRead;
}

std::string HostModel::title() const {
  std::string text = "top --hosts" + (from_.empty() ? "" : "  " + from_);
  if (rows_.size() > 1) text += "  " + std::to_string(rows_.size() - 1) + (rows_.size() == 2 ? " host" : " hosts");
  text += std::string(", ") + kOrders[order_].words;
  if (is_paused_) return text + ", paused";
  return text + ", every " + duration_words(std::chrono::duration<double>(interval_).count());
}

std::vector<TopLine> HostModel::frame(std::size_t width, std::size_t height) {
  constexpr std::size_t kOtherLines = 3;  // title, heading, keys
  page_ = height > kOtherLines ? height - kOtherLines : 1;
  scroll(0);
  std::vector<TopLine> lines;
  const auto add = [&](std::string text, LineStyle look) {
    text.resize(std::min(text.size(), width));
    lines.push_back({.text = std::move(text), .look = look});
  };
  add(title(), LineStyle::kTitle);
  if (!rows_.empty()) add(rows_.front(), LineStyle::kHeading);
  const std::size_t severity = rows_.empty() ? 0 : rows_.front().find("WORST");
  for (std::size_t i = 1 + first_row_; i < rows_.size() && lines.size() + 1 < height; ++i) {
    lines.push_back({.text = rows_[i], .look = look_of(rows_[i], severity)});
  }
  while (lines.size() + 1 < height) lines.emplace_back();
  if (waiting_s_ >= 2) {
    add("no answer for " + std::to_string(waiting_s_) + " s", LineStyle::kProblem);
  } else if (!problem_.empty()) {
    add(problem_, LineStyle::kProblem);
  } else {
    add(kKeys, LineStyle::kPlain);
  }
  return lines;
}

}  // namespace memstat::ctl
