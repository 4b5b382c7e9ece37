// SPDX-License-Identifier: BSD-2-Clause
// Which malloc(9) type of FreeBSD a probe of the DTrace provider dtmalloc belongs to. The provider calls a probe as the type
// is described, with '_' for each blank (sys/cddl/dev/dtmalloc/dtmalloc.c); kern.malloc_stats has the first 31 bytes of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/parse/statistics_stream.h"

namespace memstat {

/// The names of kern.malloc_stats by what their probes are called. Thread safety: const members are safe, take() is not.
class MallocProbeNames {
 public:
  /// Replaces the names by those of the stream kern.malloc_stats. Errors: kData for a name without its end; there are no
  /// names then.
  Result<void> take(const StatisticsStream& stream);

  /// The place of the one type that a probe of this name belongs to; kUnknown: no type has such a name; kShared: several
  /// have, of which the kernel gives one a probe, without saying which.
  [[nodiscard]] std::size_t find(std::string_view probe) const;
  static constexpr std::size_t kUnknown = ~std::size_t{0};
  static constexpr std::size_t kShared = kUnknown - 1;

  /// The type's name as the stream has it. Lives until the next take().
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
