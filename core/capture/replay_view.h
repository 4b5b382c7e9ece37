// SPDX-License-Identifier: BSD-2-Clause
// A kernel view that replays a capture, poll by poll, on any system. core/README.md describes the capture format.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/base/fixed_path.h"
#include "core/capture/files.h"
#include "core/capture/manifest.h"
#include "core/kernel/kernel_view.h"
#include "core/kernel/open_view.h"

namespace memstat {

/// Shows the selected poll of a capture, initially poll 0. A file that the poll lacks is kNotPresent, and a read that failed
/// when it was recorded fails with the same errno. Links are followed only inside the poll's `fs`; one that leaves it is
/// kData. keep_open checks whether the selected poll has the file. Listing a sysctl prefix returns the captured names below
/// it. Directories without poll.yaml, or whose names are not digits (NNNNNN.tmp), are not polls. Thread safety: concurrent
/// reads are safe, even while another poll is being selected: each read sees one poll.
class ReplayKernelView final : public KernelView {
 public:
  /// Reads the manifest and every poll.yaml and errors.yaml. Errors: kNotPresent without a manifest; kData with file and
  /// line; kVersion; kData for a capture without a complete poll.
  static Result<std::unique_ptr<ReplayKernelView>> open(std::unique_ptr<CaptureFiles> files);

  [[nodiscard]] const CaptureManifest& manifest() const { return manifest_; }
  /// Damaged parts of the capture that are left out, for display.
  [[nodiscard]] std::vector<std::string> notes() const { return files_->notes(); }
  /// At least 1.
  [[nodiscard]] std::size_t poll_count() const { return polls_.size(); }
  /// Polls are numbered from 0, oldest first, regardless of directory numbers. Errors: kNotPresent if out of range.
  Result<void> select_poll(std::size_t index);
  [[nodiscard]] std::size_t selected_poll() const;
  /// Requires index < poll_count(). Lives as long as the view.
  [[nodiscard]] const PollInfo& poll_info(std::size_t index) const { return polls_[index].info; }
  /// Failed reads recorded in that poll, sorted. Requires index < poll_count().
  [[nodiscard]] const std::vector<RecordedError>& errors_of(std::size_t index) const { return polls_[index].errors; }

  [[nodiscard]] OperatingSystem os() const override { return manifest_.os; }
  [[nodiscard]] std::uint64_t page_size() const override { return manifest_.page_size; }
  [[nodiscard]] std::uint32_t cpu_count() const override { return manifest_.cpu_count; }
  [[nodiscard]] std::string os_release() const override { return manifest_.release; }
  Result<void> read_file(std::string_view path, Buffer& out) override;
  Result<std::string> read_link(std::string_view path) override;
  Result<void> list_directory(std::string_view path, std::vector<std::string>& names) override;
  Result<void> read_sysctl(std::string_view name, Buffer& out, std::size_t size_hint) override;
  Result<void> list_sysctls(std::string_view prefix, std::vector<std::string>& names) override;
  Result<void> open_table(std::string_view source, TextTableSource& table) override;
  Result<void> read_table(std::string_view source, TextTableSource& table, Buffer& out) override;
  Result<void> keep_open(std::string_view path) override;

 private:
  struct Poll {
    std::string directory;  // "000000"
    PollInfo info;
    std::vector<RecordedError> errors;  // sorted
  };

  ReplayKernelView(std::unique_ptr<CaptureFiles> files, CaptureManifest manifest, std::vector<Poll> polls);
  static Result<Poll> open_poll(const CaptureFiles& files, const std::string& directory);
  // Maps a kernel path to the capture's, following links (the last one only if `follow_last`). Returns the kind of what is
  // there; kNotPresent if nothing is.
  Result<FileKind> resolve(std::string_view path, bool follow_last, FixedPath& resolved) const;
  Result<FileKind> walk(std::string_view path, bool follow_last, std::size_t base, FixedPath& resolved) const;
  Result<void> named_path(PollPlace place, std::string_view name, FixedPath& path) const;

  std::unique_ptr<CaptureFiles> files_;
  CaptureManifest manifest_;
  std::vector<Poll> polls_;
  std::atomic<const Poll*> selected_;  // points into polls_, which does not change
};

/// Whether `name` names a poll's directory: six digits, or more without a leading zero.
bool is_poll_directory(std::string_view name);

}  // namespace memstat
