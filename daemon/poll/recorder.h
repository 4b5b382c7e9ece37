// SPDX-License-Identifier: BSD-2-Clause
// The recording of a daemon's life: to a directory, or to an archive that is packed at a clean stop.
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

/// Owns what a recording needs from before privileges are dropped until the end. Thread safety: one thread at a time, except
/// the view, which is as KernelView says.
class Recorder {
 public:
  struct Options {
    /// Serving: an archive that exists is left alone and a numbered one is begun beside it, and polls that an interrupted
    /// run left behind go into the new archive. Otherwise (--once) an archive that exists is an error.
    bool is_service = false;
    DirectoryOwner owner = {};                  ///< The account that memstatd becomes before the first poll.
    const CaptureManifest* replayed = nullptr;  ///< What the capture says of its kernel when the view is a replay.
  };

  /// Starts the recording that `config.capture` asks for, of what `view` reads. An archive's file is created now, so that it
  /// can be written without privileges later; its polls are collected in a hidden directory beside it. `clock` is the
  /// capture's when `view` is a replay. Errors: those of the file system, with the path; those of
  /// RecordingKernelView::create.
  static Result<std::unique_ptr<Recorder>> create(const std::shared_ptr<KernelView>& view, const Config& config,
                                                  const Clock& clock, const Options& options);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// The view to read through. Keeps all it needs alive.
  [[nodiscard]] std::shared_ptr<RecordingKernelView> view() const { return recording_; }
  /// The directory or the archive that is written.
  [[nodiscard]] const std::string& path() const { return archive_path_.empty() ? recording_->directory() : archive_path_; }
  /// Where files must stay writable.
  [[nodiscard]] std::vector<std::string> writable_paths() const;

  /// After the last poll: packs the archive, if it is one, unless `must_stop` says that there is no time (kTimeout). On an
  /// error the polls stay in the directory that the error names, and a service that is started again goes on with them.
  Result<void> finish(const std::function<bool()>& must_stop = {});

 private:
  Recorder() = default;
  Result<void> open_archive(const Config& config, const Options& options);
  void remove_leftovers(KernelView& view, const Clock& clock);

  std::shared_ptr<RecordingKernelView> recording_;
  std::string archive_path_;    // "" when the recording is a directory
  std::string work_directory_;  // of an archive
  UniqueFd archive_;            // locked
  UniqueFd parent_;             // the directory that the archive is in
};

}  // namespace memstat
