// SPDX-License-Identifier: BSD-2-Clause
// Decides at each poll which rows of a snapshot are listed, so that no kernel can make the page exceed its limit.
//
// Rules:
// - A type excluded by the configuration's filters is not in the snapshot and counts nowhere.
// - With `min_bytes`, a type is listed once it has that many bytes, and removed after an hour below half of that. Types seen
//   waiting, failing or at their limit remain, and types of unknown size are always listed.
// - An allocator may have its own, larger `min_bytes`, and `top`, the number of its largest types to list. For `top`, a
//   listed type counts as larger (see below) and a type of unknown size as 0 bytes. Types seen in trouble remain and do not
//   count.
// - If the rest exceeds `series_limit`, whole types are dropped, those with the fewest bytes first (ties from the end of the
//   alphabet). A type that does not fit into the remaining room is skipped in favour of smaller ones.
// - A listed type counts as a quarter plus 4 KiB larger, so that jitter does not make series come and go.
// - The limit has no exceptions among types. Metrics of no type (Snapshot::samples) count against it first and remain.
// - Bytes of unlisted types are summed by allocator (Snapshot::Unlisted). Series dropped because of
//   `series_limit` are counted (Snapshot::series_dropped).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "config/config.h"
#include "daemon/snapshot/snapshot.h"

namespace memstat {

struct AllocatorBounds {
  std::uint64_t top = 0;        ///< Maximum number of listed types, without those in trouble; 0: all.
  std::uint64_t min_bytes = 0;  ///< Overrides a smaller Selection::Options::min_bytes; 0: none.
};

/// Number of series on the page that belong to no type and no allocator.
std::uint64_t machine_series_of(const RenderOptions& options, const Snapshot& snapshot);

/// Number of series of a snapshot's row on a page rendered with these options.
std::uint64_t series_of(const RenderOptions& options, const Snapshot& snapshot, std::size_t row);

/// Thread safety: none; confined to the poller's thread. Allocates nothing in the steady state. Takes time proportional to
/// the rows.
class Selection {
 public:
  struct Options {
    std::uint64_t min_bytes = 0;  ///< 0: no minimum.
    std::uint64_t series_limit = ~std::uint64_t{0};
    std::array<AllocatorBounds, kAllocatorCount> allocators{};
  };

  /// Time for which a type remains listed after it last had half of min_bytes.
  static constexpr std::int64_t kStayNs = 3'600'000'000'000;

  /// Takes effect at the next choose(). A different min_bytes re-evaluates every type that it applies to.
  void configure(const Options& options);

  /// Chooses rows of a newly built snapshot, and records there the sums and counts of the others. Returns whether there are
  /// others, which Snapshot::keep_rows(kept()) removes. `listings` are the builder's, one per row. `rendered` are the page's
  /// options. `now_ns` is the monotonic time of the poll.
  [[nodiscard]] bool choose(const RenderOptions& rendered, std::int64_t now_ns, std::span<Listing* const> listings,
                            Snapshot& snapshot);
  [[nodiscard]] std::span<const std::uint8_t> kept() const { return keep_; }

  /// Frees the storage, which choose() takes again.
  void shrink() {
    keep_ = std::vector<std::uint8_t>();
    series_ = std::vector<std::uint64_t>();
    candidates_ = std::vector<Candidate>();
  }

 private:
  struct Candidate {
    double weight = 0;  // bytes, increased for a listed type
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
  std::array<std::uint64_t, kAllocatorCount> min_bytes_{};  // the larger of its own and the global one
  std::array<std::uint32_t, kAllocatorCount> epochs_{};     // version of its min_bytes, from 1
  // By row.
  std::vector<std::uint8_t> keep_;
  std::vector<std::uint64_t> series_;
  std::vector<Candidate> candidates_;
};

}  // namespace memstat
