// SPDX-License-Identifier: BSD-2-Clause
// Records a program's own queries: the implementation of memstat_record_begin.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/base/not_copyable.h"
#include "core/base/unique_fd.h"
#include "core/capture/recording_view.h"
#include "core/capture/thinned_recording.h"

namespace memstat {

/// Writes all reads through view() as a capture, to a new directory or archive, or to one that becomes thinner with
/// age.
class KernelRecording : NotCopyable {
 public:
  /// Starts a recording of `inner`. `is_thinned`: to a ThinnedRecording, which may exist. Errors: kData if `output` exists
  /// otherwise, or is an archive and to be thinned; file system errors with the path.
  static Result<std::unique_ptr<KernelRecording>> begin(const std::shared_ptr<KernelView>& inner, const std::string& output,
                                                        std::uint64_t max_bytes, bool is_thinned = false);

  /// The view to read through. Keeps everything it needs alive.
  [[nodiscard]] std::shared_ptr<RecordingKernelView> view() const { return view_; }
  /// Call before each poll: packs and thins polls that are old enough.
  Result<void> make_ready();
  /// Packs the archive, if the recording is one. On an error the polls remain in the directory that the error names. Without
  /// a whole poll, which is kNotPresent, removes the archive and the directory.
  Result<void> finish();

 private:
  KernelRecording() = default;
  Result<void> leave_nothing();
  /// Removes what was packed.
  Result<void> remove_polls();

  std::shared_ptr<RecordingKernelView> view_;
  std::string archive_path_;  // "" if the recording is a directory
  UniqueFd archive_;
  std::optional<ThinnedRecording> thinned_;
};

}  // namespace memstat
