// SPDX-License-Identifier: BSD-2-Clause
// Draws the state of top as lines of the screen.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/base/amount_text.h"
#include "daemon/ctl/output/cells.h"
#include "daemon/ctl/output/report_table.h"
#include "daemon/ctl/source/type_figures.h"
#include "daemon/ctl/top/model.h"
#include "daemon/explain/explain.h"

namespace memstat::ctl {
namespace {

constexpr std::size_t kTrendColumns = 12;
constexpr std::size_t kNameColumns = 16;  // of a name of usual length

/// Exactly `width` columns: padded, or shortened in the middle.
std::string fitted(std::string_view text, std::size_t width) { return to_left(shortened(text, width), width); }
/// At most `width` columns, with an ellipsis at the end if truncated.
std::string ended(std::string_view text, std::size_t width) {
  return width_of(text) <= width || width == 0 ? cut(text, width) : cut(text, width - 1) + "\u2026";
}

std::string growth_text(std::optional<double> growth) {
  if (!growth) return "-";
  const double size = std::min(std::fabs(*growth), 9e18);
  if (size < 0.5) return "0";
  return (*growth < 0 ? "-" : "+") + figure_text(static_cast<std::uint64_t>(std::llround(size)), true, true);
}

/// A column of the types' table. If there is no room, the columns with the highest `rank` are dropped first.
struct TopColumn {
  const char* title;
  std::size_t width;
  int rank;
};
enum ColumnNumber {
  kHost,
  kAllocator,
  kBytes,
  kHeld,
  kUse,
  kSize,
  kObjects,
  kGrowth,
  kUsed,
  kFailed,
  kTrend,
  kRange,
  kColumnCount
};
/// For one host, everything except the trend and its range fits into 80 columns.
constexpr std::array<TopColumn, kColumnCount> kTopColumns{{{"HOST", 12, 0},
                                                           {"ALLOC", 7, 8},
                                                           {"BYTES", 6, 1},
                                                           {"HELD", 6, 4},
                                                           {"USE", 5, 6},
                                                           {"SIZE", 5, 9},
                                                           {"OBJECTS", 7, 5},
                                                           {"GROWTH/s", 8, 3},
                                                           {"LIMIT", 5, 2},
                                                           {"FAILED", 6, 7},
                                                           {"TREND", kTrendColumns, 10},
                                                           {"RANGE", 5, 11}}};

/// How far the lowest of the last `count` amounts is below the highest.
std::string range_text(const std::deque<std::uint64_t>& amounts, std::size_t count) {
  if (amounts.empty()) return {};
  const auto begin = amounts.end() - static_cast<std::ptrdiff_t>(std::min(amounts.size(), count));
  const auto [least, most] = std::minmax_element(begin, amounts.end());
  return *most == 0 ? "0%" : percent_cell(static_cast<double>(*most - *least) / static_cast<double>(*most));
}

/// The columns that fit next to a name of usual length.
std::array<bool, kColumnCount> columns_for(std::size_t width, bool has_hosts) {
  std::array<bool, kColumnCount> are_shown{};
  std::size_t used = kNameColumns;
  for (int rank = 0; rank < kColumnCount; ++rank) {
    for (std::size_t i = 0; i < kColumnCount; ++i) {
      if (kTopColumns[i].rank != rank || (i == kHost && !has_hosts)) continue;
      used += kTopColumns[i].width + 1;
      are_shown[i] = used <= width;
    }
  }
  return are_shown;
}

/// The columns of the table for one screen.
struct TableLayout {
  std::array<bool, kColumnCount> are_shown{};
  std::size_t name = 0;   ///< width
  std::size_t trend = 0;  ///< width
};

/// Names get the room that the longest of them needs, a longer trend what is left.
TableLayout layout_for(std::size_t width, bool has_hosts, std::size_t longest_name) {
  TableLayout layout{.are_shown = columns_for(width, has_hosts), .trend = kTrendColumns};
  std::size_t left = width;
  for (std::size_t i = 0; i < kColumnCount; ++i) {
    left -= layout.are_shown[i] ? std::min(left, kTopColumns[i].width + 1) : 0;
  }
  layout.name = left;
  if (!layout.are_shown[kTrend]) return layout;
  layout.name = std::min(left, std::max(longest_name, kNameColumns));
  layout.trend = std::min(TopModel::kTrendSamples, kTrendColumns + left - layout.name);
  return layout;
}

std::string table_line(const TableLayout& layout, const std::string& name,
                       const std::array<std::string, kColumnCount>& cells) {
  std::string line;
  for (const ColumnNumber i : {kHost, kAllocator}) {
    if (layout.are_shown[i]) line += fitted(cells[i], kTopColumns[i].width) + " ";
  }
  line += fitted(name, layout.name);
  for (std::size_t i = kBytes; i < kColumnCount; ++i) {
    if (!layout.are_shown[i]) continue;
    line += ' ';
    line += i == kTrend ? to_left(cells[i], layout.trend)
                        : to_right(shortened(cells[i], kTopColumns[i].width), kTopColumns[i].width);
  }
  return line;
}

}  // namespace

/// The screen while it is drawn.
struct TopModel::Page {
  std::size_t width;
  std::size_t height;
  bool is_utf8;
  std::vector<TopLine> lines = {};

  /// Adds a line, truncated at the end.
  void add(std::string_view text, LineStyle look = LineStyle::kPlain) {
    lines.push_back({.text = cut(text, width), .look = look});
  }
  /// The number of lines left for rows; the last line has the keys.
  [[nodiscard]] std::size_t room() const { return height > lines.size() + 1 ? height - lines.size() - 1 : 1; }
};

/// The minimum height of a trend, as a share of its highest amount: 1 % more must not look like a cliff.
constexpr double kMinTrendShare = 0.1;

std::string sparkline(const std::deque<std::uint64_t>& amounts, std::size_t width, bool is_utf8) {
  constexpr std::array<const char*, 8> kBlocks{"\u2581", "\u2582", "\u2583", "\u2584",
                                               "\u2585", "\u2586", "\u2587", "\u2588"};
  constexpr std::array<const char*, 8> kAscii{"_", ".", "-", "~", "=", "+", "*", "#"};
  const std::size_t count = std::min(amounts.size(), width);
  if (count == 0) return {};
  const auto begin = amounts.end() - static_cast<std::ptrdiff_t>(count);
  const auto [least, most] = std::minmax_element(begin, amounts.end());
  const double span = std::max(static_cast<double>(*most - *least), kMinTrendShare * static_cast<double>(*most));
  std::string text;
  for (auto amount = begin; amount != amounts.end(); ++amount) {
    const double part = span == 0 ? 0 : static_cast<double>(*amount - *least) / span;
    const auto height = static_cast<std::size_t>(std::lround(part * 7));
    text += (is_utf8 ? kBlocks : kAscii).at(height);
  }
  return text;
}

std::string memory_bar(const MachineMemory& memory, std::size_t width) {
  if (width < 3 || memory.total == 0) return {};
  const auto inner = static_cast<double>(width - 2);
  const auto total = static_cast<double>(memory.total);
  const double free = std::min(1.0, static_cast<double>(memory.free) / total);
  const double unaccounted = std::min(1.0 - free, std::max(0.0, static_cast<double>(memory.unaccounted) / total));
  const auto free_columns = static_cast<std::size_t>(std::lround(free * inner));
  const auto unaccounted_columns =
      std::min(width - 2 - free_columns, static_cast<std::size_t>(std::lround(unaccounted * inner)));
  return "[" + std::string(width - 2 - free_columns - unaccounted_columns, '#') + std::string(unaccounted_columns, '?') +
         std::string(free_columns, ' ') + "]";
}

void TopModel::add_heading(Page& page) const {
  const Machine& machine = heading_.machine;
  std::string title = "top -";
  for (const std::string* part : {&machine.host, &heading_.from, &machine.os, &machine.release, &machine.machine}) {
    if (!part->empty()) title += " " + printable_bytes(*part);
  }
  const std::string time = sample_.time_ns > 0 ? utc_text(sample_.time_ns, "%Y-%m-%d %H:%M:%S UTC") : std::string();
  const std::size_t room = page.width > time.size() + 1 ? page.width - time.size() - 1 : page.width;
  page.add(room < page.width ? to_left(ended(title, room), room) + " " + time : title, LineStyle::kTitle);
  if (const auto& memory = sample_.memory; memory && memory->total != 0) {
    const std::uint64_t rest = memory->unaccounted < 0 ? 0 : static_cast<std::uint64_t>(memory->unaccounted);
    const std::uint64_t used = memory->total - std::min(memory->total, memory->free + rest);
    page.add(bytes_text(memory->total) + ": " + bytes_text(used) + " used, " + bytes_text(rest) + " unaccounted, " +
             bytes_text(memory->free) + " free" +
             (memory->available ? ", " + bytes_text(*memory->available) + " available" : ""));
    constexpr std::size_t kBarFrom = 14;  // lines
    if (page.height >= kBarFrom) page.add(memory_bar(*memory, page.width));
  }
  if (const auto& finding = heading_.finding) {
    const bool is_urgent = finding->severity <= Severity::kSoon;
    const std::string text = std::string(to_string(finding->severity)) + ": " + printable(finding->headline);
    page.add(ended(text, page.width), is_urgent ? LineStyle::kCritical : LineStyle::kPlain);
  }
  if (!sample_.problem.empty()) {
    page.add(printable_bytes(sample_.problem), LineStyle::kProblem);
  }
  if (waiting_s_ >= 2) {
    page.add("no answer for " + std::to_string(waiting_s_) + " s; these are the last figures", LineStyle::kProblem);
  }
}

std::string TopModel::status_text() const {
  constexpr std::array<const char*, 9> kSorts{"bytes",  "held",     "use",   "size", "objects",
                                              "growth", "failures", "limit", "name"};
  const auto alarming = std::count_if(shown_.begin(), shown_.end(), [](const Shown& one) {
    return one.look == LineStyle::kCritical || one.look == LineStyle::kWarning;
  });
  std::string status = std::to_string(shown_.size()) + (shown_.size() == 1 ? " type" : " types") + ", " +
                       std::to_string(alarming) + " failed or near a limit; by " +
                       kSorts.at(static_cast<std::size_t>(sort_)) + (is_reversed_ ? " reversed" : "");
  if (!heading_.replay_position.empty()) status += "; " + heading_.replay_position;
  if (interval_.count() != 0 && heading_.replay_position.empty()) {
    status += "; every " + duration_words(std::chrono::duration<double>(interval_).count());
  }
  if (is_typing_ || !filter_.empty()) status = "filter: " + printable(filter_) + (is_typing_ ? "_" : "") + "  " + status;
  if (is_alarming_only_) status = "failures and limits only  " + status;
  if (!allocator_.empty()) status = printable_bytes(allocator_) + " only  " + status;
  return (is_paused_ ? "PAUSED  " : "") + status;
}

std::string TopModel::name_in_tree(const Shown& one) {
  const std::string name = std::string(2 * one.level, ' ') + printable(one.type->name.substr(one.name_at));
  return one.hidden == 0 ? name : name + " +" + std::to_string(one.hidden);
}

void TopModel::add_types(Page& page) {
  page.add(status_text(), is_paused_ ? LineStyle::kProblem : LineStyle::kPlain);

  const bool has_hosts =
      std::any_of(sample_.types.begin(), sample_.types.end(), [](const TypeRow& type) { return !type.host.empty(); });
  const std::size_t heading_line = page.lines.size();
  page.add("", LineStyle::kHeading);  // its columns depend on the rows in view
  const std::size_t room = page.room();
  page_ = room;
  const std::size_t at = selected_index();
  first_row_ = std::min(first_row_, at);
  if (at >= first_row_ + room) first_row_ = at - room + 1;
  if (shown_.size() <= first_row_ + room) first_row_ = shown_.size() > room ? shown_.size() - room : 0;
  std::size_t longest = 0;
  for (std::size_t i = first_row_; i < std::min(shown_.size(), first_row_ + room); ++i) {
    longest = std::max(longest, width_of(name_in_tree(shown_[i])));
  }
  const TableLayout layout = layout_for(page.width, has_hosts, longest);
  std::array<std::string, kColumnCount> titles;
  for (std::size_t i = 0; i < kColumnCount; ++i) titles.at(i) = kTopColumns.at(i).title;
  page.lines[heading_line].text = cut(table_line(layout, "TYPE", titles), page.width);
  for (std::size_t i = first_row_; i < std::min(shown_.size(), first_row_ + room); ++i) {
    const Shown& one = shown_[i];
    const TypeRow& type = *one.type;
    std::array<std::string, kColumnCount> cells;
    cells[kHost] = printable_bytes(type.host);
    cells[kAllocator] = printable_bytes(type.allocator);
    cells[kBytes] = cell(type, kBytesInUse, true);
    cells[kHeld] = cell(type, kBytesHeld, true);
    const std::optional<double> use = use_of(type);
    cells[kUse] = use ? percent_cell(*use) : "-";
    cells[kSize] = cell(type, kObjectSize, type.object_size >= 100'000);
    cells[kGrowth] = growth_text(one.growth);
    cells[kObjects] = cell(type, kObjectsInUse, true);
    cells[kUsed] = one.used ? percent_cell(std::min(*one.used, 9.99)) : "-";
    cells[kFailed] = cell(type, kFailures, true);
    cells[kTrend] = one.track == nullptr ? "" : sparkline(one.track->amounts, layout.trend, page.is_utf8);
    cells[kRange] = one.track == nullptr ? "" : range_text(one.track->amounts, layout.trend);
    page.add(table_line(layout, name_in_tree(one), cells), one.look);
    page.lines.back().is_selected = i == at;
  }
  if (shown_.empty()) {
    page.add(sample_.types.empty() ? "no types yet" : "no type matches; Esc shows all");
  }
}

/// Adds the selected type's name. Returns false if it has vanished.
bool TopModel::add_name(Page& page) const {
  const TypeRow* const type = selected();
  if (type == nullptr || (selection_ && identity_of(*type) != *selection_)) {
    page.add("the type is gone; q goes back", LineStyle::kProblem);
    return false;
  }
  const char* const by = view_ == View::kCpus ? " by CPU" : view_ == View::kNodes ? " by node" : "";
  page.add(printable_bytes(type->host.empty() ? "" : type->host + " ") + printable_bytes(type->allocator) + " " +
           printable(type->name) + by + ": " + cell(*type, kBytesInUse, true) + ", " + cell(*type, kObjectsInUse, true) +
           " objects");
  return true;
}

/// Adds all figures of the selected type, and its description.
void TopModel::add_type(Page& page) const {
  if (!add_name(page)) return;
  const Shown& one = shown_[selected_index()];
  const TypeRow& type = *one.type;
  constexpr std::size_t kValueAt = 20;
  const auto add = [&](std::string_view title, std::string_view value, LineStyle look = LineStyle::kPlain) {
    while (page.width > kValueAt && width_of(value) > page.width - kValueAt) {
      const std::string room = cut(value, page.width - kValueAt + 1);
      const std::size_t blank = room.rfind(' ');
      if (blank == std::string::npos || blank == 0) break;
      page.add("  " + to_left(title, kValueAt - 2) + std::string(value.substr(0, blank)), look);
      value.remove_prefix(blank + 1);
      title = {};
    }
    page.add("  " + to_left(title, kValueAt - 2) + std::string(value), look);
  };
  for (const Column* const column : kColumns) {
    if (!has(type, *column)) continue;
    const std::uint64_t value = figure_of(type, *column);
    std::string text = cell(type, *column, true);
    if (text != std::to_string(value)) text += "  (" + std::to_string(value) + (column->is_bytes ? " bytes)" : ")");
    add(column->title, text);
  }
  if (const auto use = use_of(type)) add("use", percent_text(*use) + " of the objects of its slabs");
  if (one.used) add("of its limit", percent_text(*one.used), one.used > kNear ? one.look : LineStyle::kPlain);
  if (one.growth) add("growth", growth_text(one.growth) + "/s");
  if (one.track != nullptr) {
    if (one.track->failures != 0) add("failed since top", std::to_string(one.track->failures), LineStyle::kCritical);
    const auto [least, most] = std::minmax_element(one.track->amounts.begin(), one.track->amounts.end());
    add("trend", sparkline(one.track->amounts, kTrendSamples, page.is_utf8));
    if (least != one.track->amounts.end()) {
      const bool is_bytes = has(type, kBytesInUse);
      add("", "from " + figure_text(*least, is_bytes, true) + " to " + figure_text(*most, is_bytes, true));
    }
  }
  if (!type.also.empty()) add("also the caches", printable_bytes(other_names(type, ", ")));
  for (const Explanation& found : explain(type.allocator + "/" + type.name)) {
    if (found.kind == "type") add("what it is", printable_bytes(found.what));
  }
}

void TopModel::add_splits(Page& page) {
  const bool is_cpu = view_ == View::kCpus;
  if (!add_name(page)) return;
  if (!splits_) {
    page.add("reading the figures by CPU and by node");
    return;
  }
  const std::vector<Split>& splits = is_cpu ? splits_->cpus : splits_->nodes;
  if (splits.empty()) {
    page.add(!splits_->problem.empty() ? printable_bytes(splits_->problem)
             : is_cpu                  ? "no figures by CPU; n shows those by node"
                                       : "no figures by node; c shows those by CPU",
             splits_->problem.empty() ? LineStyle::kPlain : LineStyle::kProblem);
    return;
  }
  constexpr std::size_t kNumber = 5;
  constexpr std::size_t kFigure = 16;
  std::string heading = to_right(is_cpu ? "CPU" : "NODE", kNumber);
  std::size_t places = 0;
  for (const Split& split : splits) {
    heading += " " + to_right(shortened(split.title, kFigure), kFigure);
    places = std::max(places, split.values.size());
  }
  page.add(to_left(heading, page.width), LineStyle::kHeading);
  const std::size_t room = page.room();
  page_ = room;
  first_row_ = std::min(first_row_, places > room ? places - room : 0);
  for (std::size_t place = first_row_; place < std::min(places, first_row_ + room); ++place) {
    std::string text = to_right(place, kNumber);
    for (const Split& split : splits) {
      const auto value = place < split.values.size() ? split.values[place] : std::nullopt;
      text += " " + to_right(value ? figure_text(*value, split.is_bytes, true) : "-", kFigure);
    }
    page.add(text);
  }
}

void TopModel::add_help(Page& page) {
  constexpr std::array kHelp{"b m u s o    sort by bytes, held, use, size, objects,",
                             "g f l n r    growth, failures, limit, name; r: reverse",
                             "/            filter; Enter keeps it, Esc ends it",
                             "a            allocators, one after the other",
                             "!            failures and limits only",
                             "p Space      pause; + slower, - faster",
                             "Up Down j k  select; PgUp PgDn Home End",
                             "Right Left   show or hide the control groups below",
                             "Enter c n    the type; by CPU, by node",
                             "q Ctrl-C     back, quit",
                             "red: fails now, or at its limit",
                             "yellow: failed since boot, or above 80 %",
                             "dim: memory that other types are part of",
                             "TREND: at least 10 % of the amount high; RANGE: its change"};
  for (const char* text : kHelp) {
    if (page.lines.size() + 1 < page.height) page.add(text);
  }
}

std::vector<TopLine> TopModel::frame(std::size_t width, std::size_t height, bool is_utf8) {
  Page page{.width = width, .height = height, .is_utf8 = is_utf8};
  if (view_ == View::kHelp) {
    page.add("memstatctl top: keys", LineStyle::kTitle);
    add_help(page);
  } else {
    add_heading(page);
    if (view_ == View::kTypes) {
      add_types(page);
    } else if (view_ == View::kType) {
      add_type(page);
    } else {
      add_splits(page);
    }
  }
  page.lines.resize(height > 0 ? height - 1 : 0);
  const char* const keys = is_typing_ ? "type to filter  Enter keep  Esc all"
                           : view_ == View::kTypes
                               ? "q quit  h help  / filter  a allocator  ! failures  p pause  Enter the type"
                           : view_ == View::kHelp ? "q back"
                                                  : "q back  t type  c CPUs  n nodes";
  if (height != 0) page.add(keys, LineStyle::kTitle);
  return std::move(page.lines);
}

}  // namespace memstat::ctl
