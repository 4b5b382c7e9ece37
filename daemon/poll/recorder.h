// SPDX-License-Identifier: BSD-2-Clause
// The recording of a running daemon: to a directory, or to an archive that is packed on a clean stop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "core/base/clock.h"
#include "core/base/unique_fd.h"
#include "core/capture/recording_view.h"

namespace memstat {

/// A recording, from before the privilege drop to the end. Thread safety: one thread at a time, except the view, see
/// KernelView.
class Recorder {
 public:
  struct Options {
    /// When serving: an existing archive is kept, a numbered one is begun next to it, and polls left by an interrupted
    /// run go into the new archive. Otherwise (--once) an existing archive is an error.
    bool is_service = false;
    DirectoryOwner owner = {};                  ///< The account that memstatd becomes before the first poll.
    const CaptureManifest* replayed = nullptr;  ///< The capture's manifest if the view is a replay.
  };

  /// Starts the recording in `config.capture` of everything read through `view`. An archive's file is created now, so
  /// that it can be written later without privileges; its polls are collected in a hidden directory next to it.
  /// `clock`: the capture's, if `view` is a replay. Errors: those of the file system, with the path; those of
  /// RecordingKernelView::create.
  static Result<std::unique_ptr<Recorder>> create(const std::shared_ptr<KernelView>& view, const Config& config,
                                                  const Clock& clock, const Options& options);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// The view to read through. Keeps everything that it needs alive.
  [[nodiscard]] std::shared_ptr<RecordingKernelView> view() const { return recording_; }
  /// The directory or archive being written.
  [[nodiscard]] const std::string& path() const { return archive_path_.empty() ? recording_->directory() : archive_path_; }
  /// Whether finish() removes an archive without polls: not without permission for its directory.
  [[nodiscard]] bool can_remove() const { return !archive_path_.empty() && parent_; }
  /// Paths that must stay writable.
  [[nodiscard]] std::vector<std::string> writable_paths() const;

  /// Call after the last poll. Packs an archive, unless `must_stop` reports that there is no time (kTimeout). On an
  /// error the polls stay in the directory named in the error, and the next run of the service continues with them. Without
  /// a whole poll, removes the archive if it may.
  Result<void> finish(const std::function<bool()>& must_stop = {});

 private:
  Recorder() = default;
  Result<void> open_archive(const Config& config, const Options& options);
  /// Removes the archive, and the work directory if it is empty.
  void remove_names() const;
  void remove_leftovers(KernelView& view, const Clock& clock);

  std::shared_ptr<RecordingKernelView> recording_;
  std::string archive_path_;    // "" when the recording is a directory
  std::string work_directory_;  // directory in which an archive is prepared
  UniqueFd archive_;            // locked
  UniqueFd parent_;             // the archive's directory
};

}  // namespace memstat
