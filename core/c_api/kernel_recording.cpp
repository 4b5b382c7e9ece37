// SPDX-License-Identifier: BSD-2-Clause
#include "core/c_api/kernel_recording.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "core/capture/archive.h"
#include "core/kernel/merged_slabs.h"

namespace memstat {
namespace {

/// Keeps the recording and the kernel view that it reads alive together.
struct RecordedKernel {
  std::shared_ptr<KernelView> inner;
  std::unique_ptr<RecordingKernelView> recording;
};

void remove_directory(const std::string& path) {
  std::error_code ignored;  // a leftover empty directory is harmless
  std::filesystem::remove(path, ignored);
}

Error exists_already(const std::string& output) {
  return make_error(ErrorCode::kData, output, "already exists; name a new directory or archive");
}

}  // namespace

Result<std::unique_ptr<KernelRecording>> KernelRecording::begin(const std::shared_ptr<KernelView>& inner,
                                                                const std::string& output, std::uint64_t max_bytes,
                                                                bool is_thinned) {
  std::unique_ptr<KernelRecording> made(new KernelRecording);
  RecordingOptions options{.directory = output, .max_bytes = max_bytes, .max_age_ns = 0};
  options.how = "Recorded through libmemstat: what each read of the kernel returned.";
  const bool is_archive = output.ends_with(".tar") || output.ends_with(".tar.zst");
  if (is_thinned) {
    if (is_archive)
      return make_error(ErrorCode::kData, output, "a thinned recording is a directory of archives; name a directory");
    auto thinned = ThinnedRecording::open(output, max_bytes);
    if (!thinned) return thinned.error();
    made->thinned_ = *std::move(thinned);
    options.directory = made->thinned_->polls_directory();
    options.max_bytes = 0;
    options.max_age_ns = ThinnedRecording::kUnfiledNs;
  } else if (is_archive) {
    made->archive_ = UniqueFd(::open(output.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!made->archive_) return errno == EEXIST ? exists_already(output) : system_error(output, errno, "cannot be created");
    made->archive_path_ = output;
    options.directory = polls_beside(output);
    options.fresh = true;  // replace an interrupted recording
  } else {
    std::error_code failed;
    const bool is_empty = std::filesystem::is_empty(output, failed);
    if (!failed && !is_empty) return exists_already(output);
  }
  auto recording = RecordingKernelView::create(*inner, options, system_clock());
  if (!recording) {
    if (made->archive_) ::unlink(output.c_str());
    if (!is_thinned) remove_directory(options.directory);
    return recording.error();
  }
  const auto both = std::make_shared<RecordedKernel>(RecordedKernel{inner, *std::move(recording)});
  made->view_ = std::shared_ptr<RecordingKernelView>(both, both->recording.get());
  (void)MergedSlabs::read(*made->view_);  // record it for readers of the capture
  return made;
}

Result<void> KernelRecording::make_ready() {
  return thinned_ ? thinned_->file_until(system_clock().realtime_ns()) : Result<void>();
}

Result<void> KernelRecording::finish() {
  if (!view_->has_polls()) return leave_nothing();
  if (thinned_) {
    auto packed = thinned_->finish();
    return packed ? remove_polls() : packed;
  }
  if (archive_path_.empty()) return view_->check_presence();
  auto files = view_->open_files();
  auto packed = files ? pack_capture(**files, archive_path_, archive_.get()) : Result<void>(files.error());
  if (!packed) {
    packed.error().detail += " (the polls are in " + view_->directory() + ")";
    ::unlink(archive_path_.c_str());
    return packed;
  }
  return remove_polls();
}

Result<void> KernelRecording::remove_polls() {
  if (auto removed = view_->remove_everything(); !removed) return removed;
  remove_directory(view_->directory());
  return {};
}

Result<void> KernelRecording::leave_nothing() {
  const std::string output = archive_path_.empty() ? view_->directory() : archive_path_;
  if (!archive_path_.empty()) ::unlink(archive_path_.c_str());
  if (auto removed = remove_polls(); !removed) return removed;
  return make_error(ErrorCode::kNotPresent, output, "nothing was recorded, and nothing is left of it");
}

}  // namespace memstat
