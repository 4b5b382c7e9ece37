// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshot/history.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace memstat {
namespace {

constexpr std::size_t kMaxEntry = 5 + 10;  // bytes of the gap, and of the difference

std::uint8_t* put(std::uint8_t* out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) *out++ = static_cast<std::uint8_t>(value | 0x80U);
  *out++ = static_cast<std::uint8_t>(value);
  return out;
}

/// Maps a small difference of either sign to a small number.
std::uint64_t folded(std::uint64_t difference) {
  return difference << 1U ^ (static_cast<std::int64_t>(difference) < 0 ? ~std::uint64_t{0} : 0);
}
std::uint64_t unfolded(std::uint64_t number) { return number >> 1U ^ ((number & 1U) != 0 ? ~std::uint64_t{0} : 0); }

/// Bytes per type in addition to the frames: its figures in five arrays, its time of birth, and its share of the scratch
/// space.
constexpr std::size_t kBytesPerType = kHistoryFigures * (5 * sizeof(std::uint64_t) + kMaxEntry) + sizeof(std::int64_t);

}  // namespace

void History::Ring::set_up(std::size_t frames_at_most, std::size_t bytes_at_most) {
  *this = Ring();
  max_frames = frames_at_most;
  max_bytes = bytes_at_most;
  frames.resize(max_frames);
}

template <typename Visit>
void History::Ring::visit(const Frame& frame, Visit take) const {
  const auto next = [this](std::size_t& at, std::size_t& left) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; left != 0; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(bytes.data()[at]);
      at = at + 1 == bytes.size() ? 0 : at + 1;
      --left;
      value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
      if ((byte & 0x80U) == 0) break;
    }
    return value;
  };
  std::size_t at = frame.begin;
  std::size_t left = frame.size;
  for (std::size_t series = 0; left != 0; ++series) {
    series += next(at, left);
    take(series, unfolded(next(at, left)));
  }
}

void History::Ring::drop_oldest() {
  visit(frame(0), [this](std::size_t series, std::uint64_t difference) { base[series] += difference; });
  first = (first + 1) % max_frames;
  --count;
}

void History::Ring::append(std::int64_t now_ns, std::span<const std::uint64_t> current, std::vector<std::uint8_t>& scratch) {
  std::uint8_t* out = scratch.data();
  std::size_t expected = 0;
  for (std::size_t series = 0; series < current.size(); ++series) {
    if (current[series] == last[series]) continue;
    out = put(out, series - expected);
    out = put(out, folded(current[series] - last[series]));
    last[series] = current[series];
    expected = series + 1;
  }
  const auto size = static_cast<std::size_t>(out - scratch.data());
  if (count == max_frames) drop_oldest();
  if (size > bytes.size()) {  // larger than the whole ring: restart the history here
    while (count != 0) drop_oldest();
    std::copy(last.begin(), last.end(), base.begin());
    frames[first] = {.now_ns = now_ns, .begin = 0, .size = 0};
    count = 1;
    return;
  }
  const auto used = [this] {
    std::size_t sum = 0;
    if (count != 0) {
      const Frame& oldest = frame(0);
      const Frame& newest = frame(count - 1);
      const std::size_t end = newest.begin + newest.size;
      sum = end >= oldest.begin ? end - oldest.begin : end + bytes.size() - oldest.begin;
      if (sum > bytes.size()) sum -= bytes.size();
    }
    return sum;
  };
  while (count != 0 && bytes.size() - used() <= size) drop_oldest();  // keep one byte free, so that full differs from empty
  std::size_t begin = 0;
  if (count != 0) begin = (frame(count - 1).begin + frame(count - 1).size) % bytes.size();
  const std::size_t until_end = std::min(size, bytes.size() - begin);
  if (until_end != 0) std::memcpy(bytes.data() + begin, scratch.data(), until_end);
  if (size != until_end) std::memcpy(bytes.data(), scratch.data() + until_end, size - until_end);
  frames[(first + count) % max_frames] = {
      .now_ns = now_ns, .begin = static_cast<std::uint32_t>(begin), .size = static_cast<std::uint32_t>(size)};
  ++count;
}

void History::configure(std::size_t max_bytes) {
  max_bytes = std::min<std::size_t>(max_bytes, std::numeric_limits<std::uint32_t>::max());
  const MutexLock lock(mutex_);
  if (max_bytes == max_bytes_) return;
  constexpr std::size_t kFrames = (kMaxPolls + kMaxMinutes) * sizeof(Frame);
  max_bytes_ = max_bytes;
  const std::size_t room = max_bytes > kFrames ? max_bytes - kFrames : 0;
  // Limits the memory of types outside the frames. This suffices for more types than a page of 20 000 series has.
  const std::size_t for_types = room / 8 * 3;
  max_types_ = for_types / kBytesPerType;
  current_ = std::vector<std::uint64_t>();  // frees the storage, which {} does not
  born_ns_ = std::vector<std::int64_t>();
  scratch_ = std::vector<std::uint8_t>();
  polls_ = Ring();
  minutes_ = Ring();
  names_.clear();
  if (max_types_ == 0) return;
  // There are twice as many minutes as polls, and more types change in a minute than between polls.
  const std::size_t for_polls = room / 10;
  polls_.set_up(kMaxPolls, for_polls);
  minutes_.set_up(kMaxMinutes, room - for_types - for_polls);
}

void History::clear() {
  const std::size_t max_bytes = max_bytes_;
  configure(0);
  configure(max_bytes);
}

void History::grow(std::uint32_t type) {
  if (type >= max_types_) return;
  const std::size_t types = std::min(max_types_, std::max<std::size_t>(64, std::size_t{type} + 1 + type / 4));
  const std::size_t series = types * kHistoryFigures;
  const MutexLock lock(mutex_);
  for (Ring* ring : {&polls_, &minutes_}) {
    if (ring->bytes.empty()) ring->bytes.resize(ring->max_bytes);
    ring->base.reserve(series);
    ring->last.reserve(series);
    ring->base.resize(series);
    ring->last.resize(series);
  }
  scratch_ = std::vector<std::uint8_t>(series * kMaxEntry);
  born_ns_.reserve(types);
  born_ns_.resize(types, std::numeric_limits<std::int64_t>::min());
  current_.reserve(series);
  current_.resize(series);  // last, so that an earlier failure changes nothing
}

void History::begin(std::int64_t now_ns, std::int64_t realtime_ns) {
  const MutexLock lock(mutex_);
  now_ns_ = now_ns;
  realtime_ns_ = realtime_ns;
}

void History::add_named(std::string_view name, std::uint64_t value) {
  std::size_t number = 0;
  {
    const MutexLock lock(mutex_);
    while (number < names_.size() && names_[number] != name) ++number;
    if (number == names_.size()) {
      if (number == kNamedSeries) return;
      names_.reserve(kNamedSeries);
      names_.emplace_back(name);
    }
  }
  add(static_cast<std::uint32_t>(number), HistoryFigure::kAmount, value);
}

void History::finish() {
  if (current_.empty()) return;
  const MutexLock lock(mutex_);
  polls_.append(now_ns_, current_, scratch_);
  if (minutes_.count == 0 || now_ns_ - minutes_.frame(minutes_.count - 1).now_ns >= kCoarseStepNs) {
    minutes_.append(now_ns_, current_, scratch_);
  }
  std::fill(current_.begin(), current_.end(), 0);
}

void History::forget(std::uint32_t type) {
  const MutexLock lock(mutex_);
  if (type < born_ns_.size()) born_ns_[type] = now_ns_ + 1;
}

std::size_t History::bytes() const {
  const MutexLock lock(mutex_);
  std::size_t sum =
      current_.capacity() * sizeof(std::uint64_t) + born_ns_.capacity() * sizeof(std::int64_t) + scratch_.capacity();
  for (const Ring* ring : {&polls_, &minutes_}) {
    sum += ring->bytes.capacity() + ring->frames.capacity() * sizeof(Frame) +
           (ring->base.capacity() + ring->last.capacity()) * sizeof(std::uint64_t);
  }
  return sum;
}

std::vector<HistoryPoint> History::points(std::uint32_t type, HistoryFigure figure) const {
  std::vector<HistoryPoint> points;
  const std::size_t wanted = std::size_t{type} * kHistoryFigures + static_cast<std::size_t>(figure);
  const MutexLock lock(mutex_);
  if (wanted >= polls_.last.size() || polls_.count == 0) return points;
  points.reserve(polls_.count + minutes_.count);
  const std::int64_t polls_begin_ns = polls_.frame(0).now_ns;
  const auto walk = [&](const Ring& ring, std::int64_t until_ns) MEMSTAT_REQUIRES(mutex_) {
    std::uint64_t value = ring.base[wanted];
    for (std::size_t i = 0; i < ring.count; ++i) {
      const Frame& frame = ring.frame(i);
      if (frame.now_ns >= until_ns) break;
      ring.visit(frame, [&](std::size_t series, std::uint64_t difference) { value += series == wanted ? difference : 0; });
      if (value == 0 || frame.now_ns < born_ns_[type]) continue;
      points.push_back({.time_ns = since_1970(frame.now_ns, now_ns_, realtime_ns_), .value = value - 1});
    }
  };
  walk(minutes_, polls_begin_ns);
  walk(polls_, std::numeric_limits<std::int64_t>::max());
  return points;
}

const History::Ring& History::ring_since(std::int64_t begin_ns) const {
  return begin_ns < polls_.frame(0).now_ns && minutes_.frame(0).now_ns < polls_.frame(0).now_ns ? minutes_ : polls_;
}

History::Samples History::samples(std::int64_t seconds, std::size_t max_points) const {
  Samples samples;
  const MutexLock lock(mutex_);
  if (polls_.count == 0) return samples;
  const std::int64_t begin = polls_.frame(polls_.count - 1).now_ns - seconds * 1'000'000'000;
  const Ring& ring = ring_since(begin);
  std::size_t first = 0;
  while (ring.frame(first).now_ns < begin && first + 1 < ring.count) ++first;
  const std::size_t frames = ring.count - first;
  const std::size_t points = std::min(frames, max_points);
  const std::size_t types = born_ns_.size();
  samples.times_ns.reserve(points);
  samples.amounts.resize(types * points);
  samples.names = names_;
  std::vector<std::uint64_t> values(ring.base);
  for (std::size_t i = 0; i < ring.count; ++i) {
    const Frame& frame = ring.frame(i);
    ring.visit(frame, [&](std::size_t series, std::uint64_t difference) { values[series] += difference; });
    const std::size_t point = samples.times_ns.size();
    const std::size_t wanted = points < 2 ? 0 : point * (frames - 1) / (points - 1);
    if (i < first || point == points || i - first != wanted) continue;
    samples.times_ns.push_back(frame.now_ns);
    for (std::size_t type = 0; type < types; ++type) {
      samples.amounts[type * points + point] = frame.now_ns >= born_ns_[type] ? values[type * kHistoryFigures] : 0;
    }
  }
  return samples;
}

History::Overview History::overview(std::int64_t seconds, std::size_t points) const {
  Overview overview;
  const MutexLock lock(mutex_);
  if (polls_.count == 0) return overview;
  const std::int64_t newest = polls_.frame(polls_.count - 1).now_ns;
  const std::int64_t wanted = newest - seconds * 1'000'000'000;
  const Ring& ring = ring_since(wanted);
  const std::int64_t begin = std::clamp(ring.frame(0).now_ns, wanted, newest);
  const std::size_t types = born_ns_.size();
  std::vector<std::uint64_t> values(ring.base);
  overview.times_ns.resize(points);
  overview.amounts.resize(types * points);
  overview.failures.resize(types);
  overview.limit_hits.resize(types);
  std::size_t next = 0;
  const auto time_of = [&](std::size_t index) {
    return begin + static_cast<std::int64_t>(static_cast<double>(newest - begin) * static_cast<double>(index) /
                                             static_cast<double>(points - 1));
  };
  const auto take = [&](std::int64_t until_ns) MEMSTAT_REQUIRES(mutex_) {
    for (; next < points && time_of(next) < until_ns; ++next) {
      overview.times_ns[next] = since_1970(time_of(next), now_ns_, realtime_ns_);
      for (std::size_t type = 0; type < types; ++type) {
        const bool is_its_own = time_of(next) >= born_ns_[type];
        overview.amounts[type * points + next] = is_its_own ? values[type * kHistoryFigures] : 0;
      }
    }
  };
  const auto gain = [&](std::size_t series, std::uint64_t difference, std::int64_t now_ns) {
    const std::size_t figure = series % kHistoryFigures;
    const std::uint64_t before = values[series];
    values[series] += difference;
    if (figure == 0 || before == 0 || values[series] <= before || now_ns <= begin) return;
    (figure == 1 ? overview.failures : overview.limit_hits)[series / kHistoryFigures] += difference;
  };
  for (std::size_t i = 0; i < ring.count; ++i) {
    const Frame& frame = ring.frame(i);
    take(frame.now_ns);
    ring.visit(frame, [&](std::size_t series, std::uint64_t difference) { gain(series, difference, frame.now_ns); });
  }
  if (&ring == &minutes_) {  // the current minute
    std::copy(polls_.last.begin(), polls_.last.end(), values.begin());
  }
  take(std::numeric_limits<std::int64_t>::max());
  return overview;
}

}  // namespace memstat
