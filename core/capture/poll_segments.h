// SPDX-License-Identifier: BSD-2-Clause
// Segments: polls as a recording stores them, appended to a few files, so that recording creates no inode per poll.
//
// A segment NNNNNN.tar in a capture's directory contains the polls from NNNNNN on, after the manifest, in the format of a
// .tar of the capture. Each poll is one append that overwrites the end mark, and ends with poll.yaml and a new end mark. If
// a recorder is killed, its last poll has no poll.yaml and does not count.
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

bool is_segment(std::string_view name);
/// The name of a poll's directory: "000012".
std::string poll_directory(std::uint64_t number);
/// The name of the segment that begins with this poll: "000012.tar".
std::string segment_of(std::uint64_t first_poll);

/// Shows the polls in a directory's segments as directories, in addition to the others. `directory` is a descriptor of the
/// directory that `base` shows. Returns `base` if there are no segments. Errors: system_error; kData for a segment that is
/// damaged before its end.
Result<std::unique_ptr<CaptureFiles>> with_segments(std::unique_ptr<CaptureFiles> base, int directory);

/// Appends a poll's members to `out`: links, files, empty directories, and poll.yaml last.
void append_members(std::string& out, const std::string& poll, const PollPlan& plan, std::uint64_t mtime);
void append_member(std::string& out, const std::string& path, std::string_view bytes, std::uint64_t mtime);

/// A segment open for appending.
class SegmentWriter {
 public:
  SegmentWriter() = default;
  explicit SegmentWriter(UniqueFd file) : file_(std::move(file)) {}

  [[nodiscard]] bool is_open() const { return static_cast<bool>(file_); }
  /// B, including the end mark.
  [[nodiscard]] std::uint64_t size() const;
  /// Overwrites the end mark with `members` and a new end mark. Returns 0 or an errno; after an error the segment is
  /// restored as far as the disk allows. `durable`: waits for the disk. `progress` increases with each piece written.
  int append(std::string_view members, bool durable, std::atomic<std::uint64_t>& progress);

 private:
  UniqueFd file_;
  std::uint64_t end_ = 0;  // offset of the end mark
};

}  // namespace memstat
