// SPDX-License-Identifier: BSD-2-Clause
// What memory types had at the polls before: two hours at the rate of polls and a day at a minute, in bounded memory.
//
// Each resolution is a ring of frames, one a poll or a minute. A frame has what differs from the frame before, as numbers of
// variable length; most types change rarely, and a figure that stays takes no room. A reader begins with the figures as they
// were at the oldest frame and adds the differences. When the ring is full the oldest frame goes into those figures, so that
// many types that change at each poll make the history shorter, never larger.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/mutex.h"

namespace memstat {

/// What is kept of a memory type.
enum class HistoryFigure : std::uint8_t {
  kAmount,     ///< B in use; objects in use where the kernel does not have the bytes
  kFailures,   ///< allocations that failed, total
  kLimitHits,  ///< times that the limit was felt, total
};
inline constexpr std::size_t kHistoryFigures = 3;

/// A figure at one time.
struct HistoryPoint {
  std::int64_t time_ns = 0;  ///< since 1970, by the clock as it was at the newest poll
  std::uint64_t value = 0;
};

/// The history of all types. Types have numbers from kNamedSeries on, given out by whoever adds them, small and used again.
/// Numbers below belong to amounts that are no type's (parts of the account), by their names.
/// Thread safety: the readers are safe; all that changes it belongs to the poller's thread.
class History {
 public:
  static constexpr std::size_t kDefaultBytes = std::size_t{2} << 20;
  static constexpr std::size_t kMaxPolls = 720;     ///< two hours at 10 s
  static constexpr std::size_t kMaxMinutes = 1440;  ///< a day
  static constexpr std::int64_t kCoarseStepNs = 60'000'000'000;
  static constexpr std::uint32_t kNamedSeries = 40;

  /// `max_bytes`: all that this keeps, in B; 0: nothing is kept.
  explicit History(std::size_t max_bytes = kDefaultBytes) { configure(max_bytes); }

  /// Another bound; the same one changes nothing, another one forgets what was kept.
  void configure(std::size_t max_bytes);
  [[nodiscard]] bool is_on() const { return max_types_ != 0; }
  /// Forgets all: a replay starts over.
  void clear();

  /// Begins a poll: its figures are of `now_ns` (monotonic), which was `realtime_ns` since 1970.
  void begin(std::int64_t now_ns, std::int64_t realtime_ns);
  /// A figure of the type with this number. Of types beyond max_types() nothing is kept.
  void add(std::uint32_t type, HistoryFigure figure, std::uint64_t value) {
    const std::size_t series = std::size_t{type} * kHistoryFigures + static_cast<std::size_t>(figure);
    if (series >= current_.size()) grow(type);
    if (series < current_.size()) current_[series] = value == UINT64_MAX ? value : value + 1;
  }
  /// Adds the amount of a series with a name; of names beyond kNamedSeries nothing is kept. `value` may be a negative
  /// number.
  void add_named(std::string_view name, std::uint64_t value);
  /// Ends the poll; types that nothing was added of are away. Steady state: no allocation.
  void finish();
  /// The number belongs to another type from now on.
  void forget(std::uint32_t type);

  /// Memory that is taken now, in B, at most what configure() was given.
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] std::size_t max_types() const { return max_types_; }

  /// All points of one figure of one type, oldest first: of minutes, and from where the polls begin, of polls. Allocates.
  [[nodiscard]] std::vector<HistoryPoint> points(std::uint32_t type, HistoryFigure figure) const;

  /// Amounts of all types at the polls themselves, none twice.
  struct Samples {
    std::vector<std::int64_t> times_ns;  ///< monotonic, oldest first
    /// [type number x times + time]; 0: the type was not there, else the amount + 1.
    std::vector<std::uint64_t> amounts;
    std::vector<std::string> names;  ///< Of the series with names, by number.

    /// Empty for a number that nothing was kept of.
    [[nodiscard]] std::span<const std::uint64_t> of(std::size_t number) const {
      const std::size_t points = times_ns.size();
      return (number + 1) * points > amounts.size() ? std::span<const std::uint64_t>()
                                                    : std::span(amounts).subspan(number * points, points);
    }
  };
  /// Polls of the last `seconds`, or minutes where only these reach back so far: the first, the last, and evenly spread
  /// ones between them, at most `max_points` (2 or more). Empty while there is no history. Allocates.
  [[nodiscard]] Samples samples(std::int64_t seconds, std::size_t max_points) const;

  /// Figures of all types at `times.size()` times, evenly spaced over the last `seconds` (or what there is), the newest poll
  /// last.
  struct Overview {
    std::vector<std::int64_t> times_ns;  ///< since 1970, oldest first
    /// [type number][time]; 0: the type was not there, else the amount + 1.
    std::vector<std::uint64_t> amounts;
    /// [type number]: how many failures and limit hits there were between the first and the last time.
    std::vector<std::uint64_t> failures;
    std::vector<std::uint64_t> limit_hits;
  };
  /// `points`: 2 or more. Empty while there is no history. Allocates.
  [[nodiscard]] Overview overview(std::int64_t seconds, std::size_t points) const;

 private:
  struct Frame {
    std::int64_t now_ns = 0;
    std::uint32_t begin = 0;  // in the ring
    std::uint32_t size = 0;
  };
  /// One resolution.
  struct Ring {
    std::size_t max_frames = 0;
    std::size_t max_bytes = 0;
    std::vector<std::uint8_t> bytes;  // of the frames, oldest at frames[first]
    std::vector<Frame> frames;        // max_frames places at most
    std::size_t first = 0;            // the oldest frame
    std::size_t count = 0;            // frames that there are
    std::vector<std::uint64_t> base;  // figures before the oldest frame
    std::vector<std::uint64_t> last;  // figures at the newest frame

    [[nodiscard]] const Frame& frame(std::size_t index) const { return frames[(first + index) % max_frames]; }
    void set_up(std::size_t frames_at_most, std::size_t bytes_at_most);
    void drop_oldest();
    void append(std::int64_t now_ns, std::span<const std::uint64_t> current, std::vector<std::uint8_t>& scratch);
    template <typename Visit>
    void visit(const Frame& frame, Visit visit) const;
  };

  void grow(std::uint32_t type);
  /// The polls, unless the minutes reach back further and that far is wanted. Requires a poll.
  [[nodiscard]] const Ring& ring_since(std::int64_t begin_ns) const MEMSTAT_REQUIRES(mutex_);
  [[nodiscard]] static std::int64_t since_1970(std::int64_t now_ns, std::int64_t newest_ns,
                                               std::int64_t newest_realtime_ns) {
    return newest_realtime_ns - (newest_ns - now_ns);
  }

  mutable Mutex mutex_;  // the poller's thread takes it to change what readers look at
  std::size_t max_bytes_ = 0;
  std::size_t max_types_ = 0;
  Ring polls_ MEMSTAT_GUARDED_BY(mutex_);
  Ring minutes_ MEMSTAT_GUARDED_BY(mutex_);
  std::vector<std::uint64_t> current_;  // the poll under way: 0 none, else the figure + 1; the poller's own
  std::vector<std::string> names_ MEMSTAT_GUARDED_BY(mutex_);     // of series with names, by number
  std::vector<std::int64_t> born_ns_ MEMSTAT_GUARDED_BY(mutex_);  // by type: points before are another type's
  std::vector<std::uint8_t> scratch_;                             // the poller's own
  std::int64_t now_ns_ MEMSTAT_GUARDED_BY(mutex_) = 0;
  std::int64_t realtime_ns_ MEMSTAT_GUARDED_BY(mutex_) = 0;
};

}  // namespace memstat
