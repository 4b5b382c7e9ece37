// SPDX-License-Identifier: BSD-2-Clause
// Earlier figures of memory types in bounded memory: two hours of polls, and a day of minutes.
//
// Each resolution is a ring of frames, one per poll or minute. A frame has the differences from the previous frame, as
// varints. Most types change rarely, and an unchanged figure takes no room. A reader starts with the figures before the
// oldest frame and adds the differences. When the ring is full, the oldest frame is added to those figures. So if many types
// change at every poll, the history becomes shorter, never larger.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/mutex.h"

namespace memstat {

enum class HistoryFigure : std::uint8_t {
  kAmount,     ///< B in use, or objects in use if the kernel has no bytes
  kFailures,   ///< failed allocations, total
  kLimitHits,  ///< times that the limit was hit, total
};
inline constexpr std::size_t kHistoryFigures = 3;

struct HistoryPoint {
  std::int64_t time_ns = 0;  ///< since 1970, by the clock as of the newest poll
  std::uint64_t value = 0;
};

/// The history of all types. Types have small, reused numbers from kNamedSeries on, assigned by the caller. Lower numbers
/// are named series that belong to no type (parts of the account). Thread safety: readers are safe; changes belong to the
/// poller's thread.
class History {
 public:
  static constexpr std::size_t kDefaultBytes = std::size_t{2} << 20;
  static constexpr std::size_t kMaxPolls = 720;     ///< two hours at 10 s
  static constexpr std::size_t kMaxMinutes = 1440;  ///< a day
  static constexpr std::int64_t kCoarseStepNs = 60'000'000'000;
  static constexpr std::uint32_t kNamedSeries = 40;

  /// `max_bytes` limits all memory of the history; 0: nothing is recorded.
  explicit History(std::size_t max_bytes = kDefaultBytes) { configure(max_bytes); }

  /// Changes the limit. A different limit discards the history.
  void configure(std::size_t max_bytes);
  [[nodiscard]] bool is_on() const { return max_types_ != 0; }
  /// Discards everything, for a replay that starts over.
  void clear();

  /// Starts a poll at monotonic time `now_ns`, which was `realtime_ns` since 1970.
  void begin(std::int64_t now_ns, std::int64_t realtime_ns);
  /// Adds a figure of the type with this number. Ignores types beyond max_types().
  void add(std::uint32_t type, HistoryFigure figure, std::uint64_t value) {
    const std::size_t series = std::size_t{type} * kHistoryFigures + static_cast<std::size_t>(figure);
    if (series >= current_.size()) grow(type);
    if (series < current_.size()) current_[series] = value == UINT64_MAX ? value : value + 1;
  }
  /// Adds the amount of a named series. Ignores names beyond kNamedSeries. `value` may be a negative number.
  void add_named(std::string_view name, std::uint64_t value);
  /// Ends the poll. Types without figures are absent. Allocates nothing in the steady state.
  void finish();
  /// The number is about to be reused for another type.
  void forget(std::uint32_t type);

  /// Current memory use in bytes, at most the configured limit.
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] std::size_t max_types() const { return max_types_; }

  /// All points of one figure of a type, oldest first: minutes, then polls from where those begin. Allocates.
  [[nodiscard]] std::vector<HistoryPoint> points(std::uint32_t type, HistoryFigure figure) const;

  /// Amounts of all types at individual polls, without repetition.
  struct Samples {
    std::vector<std::int64_t> times_ns;  ///< monotonic, oldest first
    /// [type number x times + time]; 0: type absent, else the amount + 1.
    std::vector<std::uint64_t> amounts;
    std::vector<std::string> names;  ///< Names of the named series, by number.

    /// Empty for a number without records.
    [[nodiscard]] std::span<const std::uint64_t> of(std::size_t number) const {
      const std::size_t points = times_ns.size();
      return (number + 1) * points > amounts.size() ? std::span<const std::uint64_t>()
                                                    : std::span(amounts).subspan(number * points, points);
    }
  };
  /// Polls of the last `seconds`, or minutes if only those reach back that far: the first, the last, and evenly spaced ones
  /// between, at most `max_points` (2 or more). Empty without a history. Allocates.
  [[nodiscard]] Samples samples(std::int64_t seconds, std::size_t max_points) const;

  /// Figures of all types at `times.size()` evenly spaced times over the last `seconds`, or the whole history if shorter;
  /// the newest poll is last.
  struct Overview {
    std::vector<std::int64_t> times_ns;  ///< since 1970, oldest first
    /// [type number][time]; 0: type absent, else the amount + 1.
    std::vector<std::uint64_t> amounts;
    /// [type number]: failures and limit hits between the first and the last time.
    std::vector<std::uint64_t> failures;
    std::vector<std::uint64_t> limit_hits;
  };
  /// `points` must be at least 2. Empty without a history. Allocates.
  [[nodiscard]] Overview overview(std::int64_t seconds, std::size_t points) const;

 private:
  struct Frame {
    std::int64_t now_ns = 0;
    std::uint32_t begin = 0;  // offset in the ring
    std::uint32_t size = 0;
  };
  struct Ring {
    std::size_t max_frames = 0;
    std::size_t max_bytes = 0;
    Buffer bytes;                     // data of the frames, oldest at frames[first]; takes memory as it fills
    std::vector<Frame> frames;        // at most max_frames
    std::size_t first = 0;            // the oldest frame
    std::size_t count = 0;            // number of frames
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
  /// The polls, or the minutes if they reach back further and that is wanted. Requires a poll.
  [[nodiscard]] const Ring& ring_since(std::int64_t begin_ns) const MEMSTAT_REQUIRES(mutex_);
  [[nodiscard]] static std::int64_t since_1970(std::int64_t now_ns, std::int64_t newest_ns,
                                               std::int64_t newest_realtime_ns) {
    return newest_realtime_ns - (newest_ns - now_ns);
  }

  mutable Mutex mutex_;  // held by the poller's thread while it changes what readers use
  std::size_t max_bytes_ = 0;
  std::size_t max_types_ = 0;
  Ring polls_ MEMSTAT_GUARDED_BY(mutex_);
  Ring minutes_ MEMSTAT_GUARDED_BY(mutex_);
  std::vector<std::uint64_t> current_;  // the current poll: 0 none, else the figure + 1; used only by the poller
  std::vector<std::string> names_ MEMSTAT_GUARDED_BY(mutex_);     // names of series, by number
  std::vector<std::int64_t> born_ns_ MEMSTAT_GUARDED_BY(mutex_);  // by type: earlier points belong to another type
  std::vector<std::uint8_t> scratch_;                             // used only by the poller
  std::int64_t now_ns_ MEMSTAT_GUARDED_BY(mutex_) = 0;
  std::int64_t realtime_ns_ MEMSTAT_GUARDED_BY(mutex_) = 0;
};

}  // namespace memstat
