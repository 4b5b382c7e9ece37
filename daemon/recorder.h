// SPDX-License-Identifier: BSD-2-Clause
// The recording of a daemon's life: to a folder, or to an archive that is packed at a clean stop.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "core/base/clock.h"
#include "core/kernel/recording.h"

namespace memstat {

/// Owns what a recording needs from before privileges are dropped until the end. Thread safety: one thread at a time, but
/// for the view, which is what KernelView says.
class Recorder {
 public:
  /// Starts the recording that `config.capture` asks for, of what `view` reads, with everything made for the account of
  /// `config.user` when we are root. An archive's file is created now, so that it can be written without privileges later;
  /// its polls are collected in a folder of /var/tmp. Errors: those of the file system, with the path.
  /// `replayed`: what the capture says of its kernel when `view` is a replay, else nullptr; `clock` is then the capture's.
  static Result<std::unique_ptr<Recorder>> create(const std::shared_ptr<KernelView>& view, const Config& config,
                                                  const Clock& clock, const CaptureManifest* replayed);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// The view to read through. Keeps all it needs alive.
  [[nodiscard]] std::shared_ptr<KernelView> view() const { return recording_; }
  [[nodiscard]] RecordingKernelView& recording() { return *recording_; }
  /// Where files must stay writable.
  [[nodiscard]] std::vector<std::string> writable_paths() const;

  /// After the last poll: packs the archive, if it is one. On an error the polls stay in the folder that the error names.
  Result<void> finish();

 private:
  Recorder() = default;

  std::shared_ptr<RecordingKernelView> recording_;
  std::string archive_path_;  // "" when the recording is a folder
  std::string work_folder_;   // of an archive
  int archive_ = -1;          // descriptor
};

}  // namespace memstat
