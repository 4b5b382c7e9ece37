// SPDX-License-Identifier: BSD-2-Clause
// A reserve of open files, for when the process or the system is out of them.
#pragma once

#include <cstddef>
#include <vector>

#include "core/base/unique_fd.h"

namespace memstat {

/// When the process or the system is out of files, some are closed so that others can be opened. Files rather than
/// descriptors, because the system-wide table may be the full one.
class SpareFiles {
 public:
  static constexpr std::size_t kMaxCount = 64;

  explicit SpareFiles(std::size_t most = kMaxCount) : wanted_(most) {}

  /// Opens the missing ones, as far as the system permits.
  void fill();
  /// Closes up to `count` at once: of a single free file, another program may be the first to take it. Returns false if
  /// there is none.
  bool give(std::size_t count = 1);
  void give_all() { files_.clear(); }
  [[nodiscard]] bool full() const { return files_.size() >= wanted_; }
  [[nodiscard]] std::size_t count() const { return files_.size(); }

 private:
  std::vector<UniqueFd> files_;
  std::size_t wanted_;  // fewer if the process may have few files
};

}  // namespace memstat
