// SPDX-License-Identifier: BSD-2-Clause
// Which rows of a snapshot are listed, decided once a poll, so that no kernel can make the page larger than its limit.
//
// Rules. A type that the configuration filters out is not in the snapshot at all and counts nowhere. With `min_bytes`, a
// type is listed as soon as it has that many bytes, and removed once it was below half of that for an hour. One that was
// seen waiting, failing or at its limit stays, and types of unknown size are always listed. An allocator may have bounds
// of its own: a larger `min_bytes`, and `top`, the number of its largest types to list. For `top`, a type that was listed
// before counts as larger (below), a type of unknown size counts as 0 bytes, and a type that was seen in trouble stays and
// takes no other type's place. When the rest has more series than `series_limit`, whole types go, those of the fewest bytes
// first (equal ones from the end of the alphabet); a type that does not fit into the rest of the limit is skipped for
// smaller ones. A type that was listed before counts as a quarter and 4 KiB larger, so that jitter does not make series come
// and go. The limit has no exceptions among types; metrics that belong to no type (Snapshot::samples) count against it first
// and stay. Bytes of all that is not listed are summed by allocator (AllocatorFigure::kUnlistedBytes); the series that
// `series_limit` took are counted (Snapshot::series_dropped).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "config/config.h"
#include "daemon/snapshot/render_options.h"
#include "daemon/snapshot/snapshot.h"

namespace memstat {

/// Bounds of one allocator.
struct AllocatorBounds {
  std::uint64_t top = 0;        ///< Types listed at most, except those in trouble; 0: all.
  std::uint64_t min_bytes = 0;  ///< As Selection::Options::min_bytes, where that is less; 0: none of its own.
};

/// How many series the page has that belong to no type and no allocator.
std::uint64_t machine_series_of(const RenderOptions& options, const Snapshot& snapshot);

/// How many series a row of a snapshot has on a page rendered so.
std::uint64_t series_of(const RenderOptions& options, const Snapshot& snapshot, std::size_t row);

/// Thread safety: none; confined to the poller's thread. Steady state: no allocation, time proportional to the rows.
class Selection {
 public:
  struct Options {
    std::uint64_t min_bytes = 0;  ///< 0: none is too small.
    std::uint64_t series_limit = ~std::uint64_t{0};
    std::array<AllocatorBounds, kAllocatorCount> allocators{};
  };

  /// How long a listed type stays after it was last at half of min_bytes.
  static constexpr std::int64_t kStayNs = 3'600'000'000'000;

  /// In force from the next apply() on. With another min_bytes every type that it holds for is judged anew.
  void configure(const Options& options);

  /// Takes rows off a snapshot that was just built, and adds what there is to say of them. `listings`: the builder's, a row
  /// each. `rendered`: how the page will be rendered. `now_ns`: monotonic time of the poll.
  void apply(const RenderOptions& rendered, std::int64_t now_ns, std::span<Listing* const> listings, Snapshot& snapshot);

 private:
  struct Candidate {
    double weight = 0;  // bytes, more for a type that was listed before
    std::uint64_t series = 0;
    std::uint32_t row = 0;
    bool was_listed = false;
  };

  [[nodiscard]] bool is_large(const Snapshot& snapshot, std::size_t row, std::int64_t now_ns, Listing& listing) const;
  [[nodiscard]] static bool comes_before(const Snapshot& snapshot, const Candidate& a, const Candidate& b);
  [[nodiscard]] static Candidate candidate(const Snapshot& snapshot, std::size_t row, const Listing& listing);
  [[nodiscard]] bool hide_beyond_top(const Snapshot& snapshot, std::span<Listing* const> listings);
  void take_what_fits(const Snapshot& snapshot, std::span<Candidate> candidates, std::uint64_t& room);

  Options options_;
  // By allocator.
  std::array<std::uint64_t, kAllocatorCount> min_bytes_{};  // the larger of its own and of all
  std::array<std::uint32_t, kAllocatorCount> epochs_{};     // of its min_bytes, from 1 on
  // By row.
  std::vector<std::uint8_t> keep_;
  std::vector<std::uint64_t> series_;
  std::vector<Candidate> candidates_;
};

}  // namespace memstat
