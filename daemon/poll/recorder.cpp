// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/poll/recorder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "config/values.h"
#include "core/capture/archive.h"
#include "daemon/poll/archive_series.h"

namespace memstat {
namespace {

/// The recording and the view that it wraps, kept alive together: a hanging read may need both forever.
struct Views {
  std::shared_ptr<KernelView> inner;
  std::unique_ptr<RecordingKernelView> recording;
};

std::string parent_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

/// Hidden, and the same for all archives of a series, so that leftovers of an interrupted run are found.
std::string work_name_of(const std::string& path) {
  return "." + std::filesystem::path(path).filename().string() + ".polls";
}

/// Whether the account may create and delete files in this directory, by its mode.
bool may_write(const struct stat& directory, const DirectoryOwner& owner) {
  if (owner.user < 0 || directory.st_uid == static_cast<uid_t>(owner.user)) return true;
  if (directory.st_gid == static_cast<gid_t>(owner.group)) return (directory.st_mode & S_IWGRP) != 0;
  return (directory.st_mode & S_IWOTH) != 0;
}

}  // namespace

Result<void> Recorder::open_archive(const Config& config, const Options& options) {
  const std::string parent = parent_of(config.capture.record);
  parent_ = UniqueFd(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent_) return system_error(config.capture.record, errno, "cannot open the directory for the archive");
  auto opened = open_in_series(parent_.get(), config.capture.record,
                               {.may_number = options.is_service,
                                .max_bytes = config.capture.max_bytes,
                                .max_age_ns = config.capture.max_age.count(),
                                .owner = options.owner.user,
                                .group = options.owner.group});
  if (!opened) return opened.error();
  archive_ = std::move(opened->file);
  archive_path_ = parent == "." && config.capture.record.find('/') == std::string::npos
                      ? opened->name
                      : (std::filesystem::path(parent) / opened->name).string();
  work_directory_ = (std::filesystem::path(parent) / work_name_of(config.capture.record)).string();
  return {};
}

void Recorder::remove_leftovers(KernelView& view, const Clock& clock) {
  auto leftovers = RecordingKernelView::create(view, {.directory = work_directory_, .fresh = true}, clock);
  if (!leftovers || !(*leftovers)->remove_everything()) return;
  ::unlinkat(parent_.get(), std::filesystem::path(work_directory_).filename().c_str(), AT_REMOVEDIR);
}

Result<std::unique_ptr<Recorder>> Recorder::create(const std::shared_ptr<KernelView>& view, const Config& config,
                                                   const Clock& clock, const Options& options) {
  std::unique_ptr<Recorder> recorder(new Recorder);
  RecordingOptions recording_options{.directory = config.capture.record,
                                     .max_bytes = config.capture.max_bytes,
                                     .max_age_ns = config.capture.max_age.count(),
                                     .owner = options.owner};
  if (const CaptureManifest* replayed = options.replayed; replayed != nullptr) {
    recording_options.release = replayed->release;
    recording_options.machine = replayed->machine;
    if (!replayed->how.empty()) recording_options.how = "Recorded by memstatd from a replayed capture: " + replayed->how;
  }
  if (is_archive_path(config.capture.record)) {
    if (auto opened = recorder->open_archive(config, options); !opened) return opened.error();
    recording_options.directory = recorder->work_directory_;
    // The polls of an interrupted run do not belong in an archive of --once.
    recording_options.fresh = !options.is_service;
  }
  auto recording = RecordingKernelView::create(*view, recording_options, clock);
  if (!recording && recorder->archive_) {
    // Leftovers of another kernel, or from another account, cannot go into the new archive.
    recorder->remove_leftovers(*view, clock);
    recording = RecordingKernelView::create(*view, recording_options, clock);
  }
  if (!recording) {
    if (recorder->archive_) recorder->remove_names();
    return recording.error();
  }
  const auto views = std::make_shared<Views>(Views{view, *std::move(recording)});
  recorder->recording_ = std::shared_ptr<RecordingKernelView>(views, views->recording.get());
  struct stat parent {};
  if (recorder->parent_ && (::fstat(recorder->parent_.get(), &parent) != 0 || !may_write(parent, options.owner)))
    recorder->parent_ = UniqueFd();
  return recorder;
}

std::vector<std::string> Recorder::writable_paths() const {
  if (archive_path_.empty()) return {recording_->directory()};
  if (parent_) return {parent_of(archive_path_)};
  return {work_directory_};
}

Result<void> Recorder::finish(const std::function<bool()>& must_stop) {
  if (archive_path_.empty()) return recording_->check_presence();
  if (!recording_->has_polls()) {
    Result<void> removed = recording_->remove_everything();
    if (parent_) remove_names();  // otherwise the next run of the service uses the empty file
    return removed;
  }
  Result<void> result;
  if (auto files = recording_->open_files(); !files) {
    result = files.error();
  } else {
    result = pack_capture(**files, archive_path_, archive_.get(), must_stop);
  }
  if (!result) {
    // The next run reuses an empty archive.
    (void)!::ftruncate(archive_.get(), 0);
    result.error().detail += " (the polls are in " + recording_->directory() + ")";
    return result;
  }
  result = recording_->remove_everything();
  // Without permission for the parent directory, the empty directory stays and is reused.
  if (parent_) ::unlinkat(parent_.get(), std::filesystem::path(work_directory_).filename().c_str(), AT_REMOVEDIR);
  return result;
}

void Recorder::remove_names() const {
  ::unlinkat(parent_.get(), std::filesystem::path(archive_path_).filename().c_str(), 0);
  ::unlinkat(parent_.get(), std::filesystem::path(work_directory_).filename().c_str(), AT_REMOVEDIR);
}

}  // namespace memstat
