// SPDX-License-Identifier: BSD-2-Clause
// The part of a page that one request wants: allocators, types and metrics by their exact words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "daemon/snapshot/snapshot.h"

namespace memstat {

/// What is shown of one snapshot: made for that one, and of no use for another. Thread safety: a plain value.
class PageFilter {
 public:
  /// Words of one request; an empty list is no restriction. Of types and allocators both must match.
  struct Wanted {
    std::span<const std::string_view> allocators;
    std::span<const std::string_view> types;  ///< As in the kernel, not as escaped in a label.
    std::span<const std::string_view> names;  ///< Of metrics, the daemon's own among them. Families: no `_bucket`.
  };

  /// Checks the words. `own_names`: the metrics that the daemon has of itself. Error kData with `detail` for a client: the
  /// first unknown value and the valid alternatives (at most 40 words; of metrics, the nearest). An allocator is
  /// known when the kernel's system may have it. A type must be listed, unless nothing at all is listed of the allocators
  /// that are wanted (a source may be down), and then none is judged. Allocates by the size of request and snapshot. Throws
  /// std::bad_alloc.
  static Result<PageFilter> make(const Snapshot& snapshot, const Wanted& wanted,
                                 std::span<const std::string_view> own_names);

  [[nodiscard]] bool shows_row(std::size_t row) const { return rows_[row] != 0; }
  /// How many rows are shown, and the bytes of their label texts together.
  [[nodiscard]] std::size_t row_count() const { return row_count_; }
  [[nodiscard]] std::size_t label_bytes() const { return label_bytes_; }
  /// `metric`: index in the catalogue.
  [[nodiscard]] bool shows_metric(std::size_t metric) const { return metrics_.empty() || metrics_[metric] != 0; }
  /// Whether figures of the allocator as a whole are shown; never when types are chosen.
  [[nodiscard]] bool shows_allocator(Allocator allocator) const { return !has_types_ && has_allocator(allocator); }
  /// Whether figures are shown that belong to no type and no allocator: unless any of these are chosen.
  [[nodiscard]] bool shows_machine() const { return !has_types_ && allocators_ == ~std::uint32_t{0}; }
  /// Whether this metric of the daemon's own is shown. All are when no name is chosen: they say how old the rest is.
  [[nodiscard]] bool shows_own(std::string_view name) const;
  /// Whether types were chosen by name.
  [[nodiscard]] bool has_types() const { return has_types_; }

 private:
  Result<void> choose_allocators(const Snapshot& snapshot, std::span<const std::string_view> words);
  Result<void> choose_types(const Snapshot& snapshot, std::span<const std::string_view> types);
  Result<void> choose_names(std::span<const std::string_view> names, std::span<const std::string_view> own_names);
  [[nodiscard]] bool has_allocator(Allocator allocator) const {
    return (allocators_ >> static_cast<unsigned>(allocator) & 1U) != 0;
  }

  std::vector<std::uint8_t> rows_;
  std::vector<std::uint8_t> metrics_;  // empty: all
  std::vector<std::string> own_names_;
  std::uint32_t allocators_ = ~std::uint32_t{0};
  std::size_t row_count_ = 0;
  std::size_t label_bytes_ = 0;
  bool has_types_ = false;
  bool has_names_ = false;
};

/// Whether a page of per-CPU figures alone can show what is wanted; `filter` nullptr: everything. Only types that the key
/// `per_cpu` selects have per-CPU values: only theirs are tracked from poll to poll. Error kData with `detail` for
/// a client when no row that is wanted has them, or when a type was chosen by name that has none; it names the key.
Result<void> check_per_cpu(const Snapshot& snapshot, const PageFilter* filter);

}  // namespace memstat
