// SPDX-License-Identifier: BSD-2-Clause
// The state of memstatctl top: samples and keys in, lines of text out. Independent of the terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/ctl/source/report_source.h"

namespace memstat::ctl {

/// The style of a line.
enum class LineStyle { kPlain, kTitle, kHeading, kCritical, kWarning, kContainer, kProblem };

struct TopLine {
  std::string text;  ///< UTF-8 without control characters, not wider than the screen.
  LineStyle look = LineStyle::kPlain;
  bool is_selected = false;
};

/// A key press for the model.
enum class Key { kCharacter, kUp, kDown, kLeft, kRight, kPageUp, kPageDown, kHome, kEnd, kEnter, kEscape, kBackspace };
struct KeyPress {
  Key key = Key::kCharacter;
  std::string character = {};  ///< For kCharacter: one UTF-8 character.
};

/// The action requested by a key.
enum class TopAction { kNone, kQuit, kRead, kReadSplits, kFaster, kSlower };

enum class SortKey { kBytes, kHeld, kUse, kSize, kObjects, kGrowth, kFailureCount, kLimit, kName };

/// The state of top.
class TopModel {
 public:
  /// The lines above the types. `replay_position`: "poll 2 of 3"; "" for a live kernel.
  struct Heading {
    Machine machine;
    std::string replay_position;
    std::optional<Finding> finding = {};  ///< The most urgent one.
    std::string from = {};                ///< The origin of the figures, as the user wrote it; "" for this machine.
  };

  /// Adds a sample; one with the time of the previous one replaces it.
  void add(Sample sample, Heading heading);
  /// Earlier amounts from a daemon, in the order of the last sample's types, for the trend.
  void seed(const std::vector<AmountHistory>& histories);
  /// The answer to kReadSplits.
  void set_splits(Splits splits) { splits_ = std::move(splits); }

  /// Shows control groups of all levels; otherwise those from the third on are hidden until they are asked for.
  void unfold_all() { folded_from_ = ~std::size_t{0}; }

  /// Seconds without an answer from the source; shown from two on.
  void set_waiting(std::int64_t seconds) { waiting_s_ = seconds; }

  /// The interval between samples, for the title.
  void set_interval(std::chrono::nanoseconds interval) { interval_ = interval; }
  /// Whether sampling is paused.
  [[nodiscard]] bool is_paused() const { return is_paused_; }

  TopAction press(const KeyPress& press);
  /// Draws the screen, at most `height` lines of `width` columns, scrolled so that the selection is visible. `is_utf8`:
  /// the terminal supports more than ASCII.
  [[nodiscard]] std::vector<TopLine> frame(std::size_t width, std::size_t height, bool is_utf8);

  /// The selected type; null if no type is shown. Valid until the next call.
  [[nodiscard]] const TypeRow* selected() const;
  /// Whether the screen shows figures of one type, which must be read again with each sample.
  [[nodiscard]] bool shows_splits() const { return view_ != View::kTypes && view_ != View::kHelp; }

  /// Share of a limit at which a type is near it (kWarning), and at it (kCritical).
  static constexpr double kNear = 0.8;
  static constexpr double kAtLimit = 0.95;
  /// Number of samples in a trend, and of those from which growth is computed.
  static constexpr std::size_t kTrendSamples = 60;
  static constexpr std::size_t kGrowthSamples = 30;

 private:
  enum class View { kTypes, kType, kCpus, kNodes, kHelp };
  struct Page;

  struct Track {
    std::deque<std::uint64_t> amounts;  // bytes, or objects; oldest first
    std::deque<std::int64_t> times_ns;
    std::uint64_t first_failures = 0;
    std::uint64_t failures = 0;  // since the first sample
    bool is_new = true;
  };
  struct Shown {
    const TypeRow* type = nullptr;
    const Track* track = nullptr;
    std::optional<double> growth;  // B/s
    std::optional<double> used;
    LineStyle look = LineStyle::kPlain;
    // Of a control group in the tree:
    std::size_t name_at = 0;  // where its name continues that of the group above it
    std::size_t level = 0;    // number of groups above it in the tree
    std::size_t hidden = 0;   // number of groups below it, if they are folded
  };

  void arrange();
  void arrange_groups();
  [[nodiscard]] bool is_folded(const TypeRow& group) const;
  void fold(bool folds);
  void next_allocator();
  TopAction show_type(View view);
  void move_to(std::size_t index);
  TopAction press_in_filter(const KeyPress& press);
  TopAction press_character(char key);
  [[nodiscard]] bool is_before(const Shown& a, const Shown& b) const;
  [[nodiscard]] Shown shown_of(const TypeRow& type) const;
  [[nodiscard]] std::size_t selected_index() const;
  void add_heading(Page& page) const;
  void add_types(Page& page);
  [[nodiscard]] static std::string name_in_tree(const Shown& one);
  [[nodiscard]] std::string status_text() const;
  bool add_name(Page& page) const;
  void add_type(Page& page) const;
  void add_splits(Page& page);
  static void add_help(Page& page);

  Sample sample_;
  Heading heading_;
  std::map<TypeIdentity, Track> tracks_;
  std::vector<Shown> shown_;
  std::optional<TypeIdentity> selection_;
  std::optional<Splits> splits_;  // empty: requested, but not there yet
  std::string filter_;
  std::set<TypeIdentity> toggled_;  // groups that are folded or unfolded against the rule
  std::size_t folded_from_ = 2;     // groups of this depth and below are folded
  std::string allocator_;           // the only allocator shown; "": all
  std::chrono::nanoseconds interval_{0};
  std::int64_t waiting_s_ = 0;
  std::size_t first_row_ = 0;  // first visible row of the types or of a split
  std::size_t page_ = 10;
  SortKey sort_ = SortKey::kBytes;
  View view_ = View::kTypes;
  bool is_reversed_ = false;
  bool is_typing_ = false;
  bool is_paused_ = false;
  bool is_alarming_only_ = false;  // only types that fail, have failed or are near a limit
};

/// The last `width` amounts as bars of eight heights, the lowest for the minimum; "" for none.
std::string sparkline(const std::deque<std::uint64_t>& amounts, std::size_t width, bool is_utf8);

/// Used, unaccounted and free memory as a bar of `width` columns: "[####??    ]".
std::string memory_bar(const MachineMemory& memory, std::size_t width);

}  // namespace memstat::ctl
