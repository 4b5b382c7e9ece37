// SPDX-License-Identifier: BSD-2-Clause
// Polls as a recording keeps them: appended to a few files, so that recording makes no object of the kernel per poll.
//
// A file NNNNNN.tar in a capture's directory has polls from NNNNNN on, as a .tar of the capture would have them, after the
// manifest. Each poll is one append that replaces the archive's end mark, and ends with poll.yaml and a new end mark. What a
// recorder that was killed left of its last poll has no poll.yaml, and is no poll.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/unique_fd.h"
#include "core/capture/files.h"
#include "core/capture/poll_plan.h"

namespace memstat {

/// Whether `name` is that of a file of polls.
bool is_segment(std::string_view name);
/// "000012.tar"
std::string segment_of(std::uint64_t first_poll);

/// Shows the polls in the segments of a directory beside its own, as directories. `directory` is the one that `base` shows.
/// `base` itself when there is no segment. Errors: system_error; kData for a segment that is damaged other than at its end.
Result<std::unique_ptr<CaptureFiles>> with_segments(std::unique_ptr<CaptureFiles> base, int directory);

/// Appends the members of a poll to `out`: its links, files and empty directories, and poll.yaml last.
void append_members(std::string& out, const std::string& poll, const PollPlan& plan, std::uint64_t mtime);
/// Appends one file.
void append_member(std::string& out, const std::string& path, std::string_view bytes, std::uint64_t mtime);

/// One segment that is open for appending. Thread safety: none; one thread at a time.
class SegmentWriter {
 public:
  SegmentWriter() = default;
  explicit SegmentWriter(UniqueFd file) : file_(std::move(file)) {}

  [[nodiscard]] bool is_open() const { return static_cast<bool>(file_); }
  /// B, with the end mark.
  [[nodiscard]] std::uint64_t size() const;
  /// Writes members and a new end mark in place of the old one. 0, or an errno; then the segment is as it was before, as far
  /// as the disk lets it. `durable`: waits for the disk. `progress` grows with each piece that the disk took.
  int append(std::string_view members, bool durable, std::atomic<std::uint64_t>& progress);

 private:
  UniqueFd file_;
  std::uint64_t end_ = 0;  // B before the end mark
};

}  // namespace memstat
