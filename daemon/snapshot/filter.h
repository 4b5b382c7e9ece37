// SPDX-License-Identifier: BSD-2-Clause
// Selects the requested part of a page: allocators, types and metrics by exact name.
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

/// The words of one request; an empty list does not restrict. If both types and allocators are given, both must match.
struct PageRequest {
  std::vector<std::string> allocators = {};
  std::vector<std::string> types = {};  ///< As in the kernel, not escaped as in labels.
  std::vector<std::string> names = {};  ///< Names of metrics, including the daemon's own. Families, so without `_bucket`.

  [[nodiscard]] bool is_whole() const { return allocators.empty() && types.empty() && names.empty(); }
};

/// A filter made for one snapshot; not valid for another.
class PageFilter {
 public:
  /// Validates the words. Errors: kData with `detail` for a client, naming the first unknown word and alternatives (at most
  /// 40; for metrics, the nearest).
  ///
  /// An allocator is valid if the kernel's system may have it. A type must be listed, unless the wanted allocators list
  /// nothing at all (a source may be down); then any type is accepted. Allocates in proportion to request and snapshot.
  /// Throws std::bad_alloc.
  static Result<PageFilter> make(const Snapshot& snapshot, const PageRequest& wanted);

  [[nodiscard]] bool shows(std::size_t row) const { return rows_[row] != 0; }
  [[nodiscard]] std::size_t count() const { return row_count_; }
  [[nodiscard]] std::size_t label_bytes() const { return label_bytes_; }
  /// `metric` is an index in the catalogue.
  [[nodiscard]] bool shows_metric(std::size_t metric) const { return metrics_.empty() || metrics_[metric] != 0; }
  /// Whether to show figures of the allocator as a whole; never if types are selected.
  [[nodiscard]] bool shows_allocator(Allocator allocator) const { return !has_types_ && has_allocator(allocator); }
  /// Whether to show figures of no type and no allocator: only if neither types nor allocators are selected.
  [[nodiscard]] bool shows_machine() const { return !has_types_ && allocators_ == ~std::uint32_t{0}; }
  /// Whether to show this metric of the daemon. All are shown if no name is selected, since they show the age of the rest.
  [[nodiscard]] bool shows_own(std::string_view name) const;
  [[nodiscard]] bool has_types() const { return has_types_; }

 private:
  Result<void> choose_allocators(const Snapshot& snapshot, const std::vector<std::string>& words);
  Result<void> choose_types(const Snapshot& snapshot, const std::vector<std::string>& types);
  Result<void> choose_names(const std::vector<std::string>& names);
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

/// Checks that a page of only per-CPU figures can show what is wanted; a null `filter` means everything. Only types selected
/// by the key `per_cpu` have per-CPU values, because only theirs are tracked between polls. Errors: kData with `detail` for
/// a client, naming the key, if no wanted row has per-CPU values, or if a type selected by name has none.
Result<void> check_per_cpu(const Snapshot& snapshot, const PageFilter* filter);

}  // namespace memstat
