// SPDX-License-Identifier: BSD-2-Clause
// The recording of a program's own queries: what memstat_record_begin starts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/unique_fd.h"
#include "core/capture/recording_view.h"

namespace memstat {

/// Writes what is read through view() as a capture, to a directory or an archive that does not exist yet.
/// Thread safety: none; one thread at a time.
class KernelRecording {
 public:
  /// Starts a recording of what `inner` reads. Errors: kData when there is something at `output` already, and those of the
  /// file system with the path.
  static Result<std::unique_ptr<KernelRecording>> begin(const std::shared_ptr<KernelView>& inner, const std::string& output,
                                                        std::uint64_t max_bytes);
  KernelRecording(const KernelRecording&) = delete;
  KernelRecording& operator=(const KernelRecording&) = delete;

  /// The view to read through; keeps all it needs alive.
  [[nodiscard]] std::shared_ptr<RecordingKernelView> view() const { return view_; }
  /// Packs the archive, if it is one. On an error the polls stay in the directory that the error names.
  Result<void> finish();

 private:
  KernelRecording() = default;

  std::shared_ptr<RecordingKernelView> view_;
  std::string archive_path_;  // "" when the recording is a directory
  UniqueFd archive_;
};

}  // namespace memstat
