// SPDX-License-Identifier: BSD-2-Clause
// Maps probes of the DTrace provider dtmalloc to FreeBSD malloc(9) types. The provider names a probe after the type's
// description, with '_' for each blank (sys/cddl/dev/dtmalloc/dtmalloc.c). kern.malloc_stats contains the first 31 bytes of
// the description.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/parse/statistics_stream.h"

namespace memstat {

/// The names of kern.malloc_stats, indexed by probe name. Thread safety: const members are safe, take() is not.
class MallocProbeNames {
 public:
  /// Replaces the names with those of the stream kern.malloc_stats. Errors: kData for an unterminated name; the set is then
  /// empty.
  Result<void> take(const StatisticsStream& stream);

  /// The place of the type that a probe of this name belongs to. kUnknown if there is none. kShared if there are several:
  /// the kernel gives only one of them a probe, and does not report which.
  [[nodiscard]] std::size_t find(std::string_view probe) const;
  static constexpr std::size_t kUnknown = ~std::size_t{0};
  static constexpr std::size_t kShared = kUnknown - 1;

  /// The type's name in the stream. Valid until the next take().
  [[nodiscard]] std::string_view name(std::size_t place) const { return names_[place].type; }
  [[nodiscard]] std::size_t size() const { return names_.size(); }

 private:
  struct Name {
    std::string probe;
    std::string type;
  };
  std::vector<Name> names_;  // ordered by probe
};

}  // namespace memstat
