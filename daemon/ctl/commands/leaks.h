// SPDX-License-Identifier: BSD-2-Clause
// Which types grow steadily, ranked: over the polls of a capture, or over some seconds of a live kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/ctl/commands/poll_walk.h"
#include "daemon/ctl/commands/trend.h"
#include "daemon/ctl/output/cells.h"
#include "daemon/ctl/output/output.h"
#include "daemon/ctl/output/report_table.h"

namespace memstat::ctl {

/// A type that grows steadily. Thread safety: a plain value.
struct Suspect {
  std::string allocator;
  std::string name;
  bool is_bytes = true;  ///< False: the kernel counts its objects only, and the trend is of those.
  std::uint64_t now = 0;
  Trend trend;
  std::optional<double> limit_seconds = {};   ///< Until its limit, at this pace.
  std::optional<double> memory_seconds = {};  ///< Until the machine's memory is gone, at this pace.
};

/// Collects samples and finds who grows. Control groups, zones of the page allocator and processes are left out: their
/// memory is that of other types. Thread safety: none.
class LeakFinder {
 public:
  void add(const Sample& sample, double seconds);

  /// How many samples there were, and over how long.
  [[nodiscard]] std::size_t samples() const { return samples_; }
  [[nodiscard]] double seconds() const { return seconds_; }
  /// Whether that is enough to tell growth from chance.
  [[nodiscard]] bool is_enough() const { return samples_ >= kLeastTrendPoints && seconds_ > 0; }
  /// Those that grow by the most bytes a second first; then those of which only objects are known.
  [[nodiscard]] std::vector<Suspect> suspects() const;

 private:
  struct Series {
    std::vector<TrendPoint> bytes;
    std::vector<TrendPoint> objects;
    TypeRow last;
  };

  std::map<TypeIdentity, Series> series_;
  std::size_t samples_ = 0;
  double seconds_ = 0;
  std::optional<std::uint64_t> available_;  // B that programs and the kernel can still get
};

/// A row a suspect, in that order; JSON has the window before them.
ReportTable leaks_table(const LeakFinder& finder);

struct LeakOptions {
  WalkOptions walk;
  ReportView view;
};
Report leaks_report(ReportSource& source, const LeakOptions& options);

}  // namespace memstat::ctl
