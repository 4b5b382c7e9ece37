// SPDX-License-Identifier: BSD-2-Clause
// The indices of fragmentation of this machine's kernel against those that it computes itself. All other figures of zones:
// tests/guests/checker.py.
#include <cmath>

#include "core/query.h"
#include "tests/support/source_reading.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/test.h"

namespace memstat::linux_page_live_test {
namespace {

const SourceDescriptor& source() { return *find_source("linux_page"); }

class LivePage : public LiveSource<source> {
 protected:
  /// Whether figures that other processes change all the time agree in one of many tries.
  bool agrees(const std::function<bool()>& try_once) {
    for (int tries = 0; tries < 200; ++tries) {
      EXPECT_TRUE(refreshes());
      statistics_ = statistics_of(reader_.staging);
      if (HasFailure() || try_once()) return !HasFailure();
    }
    return false;
  }
  std::map<std::string, std::uint64_t> statistics_;
};

TEST_F(LivePage, HasTheIndicesThatTheKernelComputes) {
  const std::string directory = "/sys/kernel/debug/extfrag/";
  if (!std::ifstream(directory + "unusable_index")) {
    GTEST_SKIP() << directory << "unusable_index cannot be read: not root, or no debugfs mounted";
  }
  /// "Node 0, zone Normal 0.000 0.107 ..." of a file, as labels and values.
  const auto indices = [&](const std::string& file) {
    std::ifstream text(directory + file);
    std::map<std::string, double> values;
    for (std::string line; std::getline(text, line);) {
      std::istringstream words(line);
      std::string node;
      std::string name;
      words >> node >> node >> name >> name;
      node.pop_back();
      double value = 0;
      for (int order = 0; words >> value; ++order)
        values["{" + node + "," + name + "," + std::to_string(order) + "}"] = value;
    }
    return values;
  };
  for (const auto& pair : std::map<std::string, std::string>{{"unusable_index", "unusable_free_ratio"},
                                                             {"extfrag_index", "fragmentation_index"}}) {
    const std::string& file = pair.first;
    const std::string& statistic = pair.second;
    std::string difference;
    EXPECT_TRUE(agrees([&] {
      difference.clear();
      for (const auto& [labels, value] : indices(file)) {
        const auto found = statistics_.find(statistic + labels);
        if (found == statistics_.end()) continue;  // a zone without memory of the allocator
        const auto seen = std::bit_cast<double>(found->second);
        if (std::abs(seen - value) > 0.005)
          difference += labels + " " + std::to_string(seen) + " " + std::to_string(value) + "; ";
      }
      return difference.empty();
    })) << file
        << ": " << difference;
  }
}

}  // namespace
}  // namespace memstat::linux_page_live_test
