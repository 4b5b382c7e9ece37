// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/recorder.h"

#include <fcntl.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "core/kernel/capture_archive.h"

namespace memstat {
namespace {

constexpr std::string_view kWorkParent = "/var/tmp";

bool is_archive(std::string_view path) { return path.ends_with(".tar") || path.ends_with(".tar.zst"); }

/// The recording and the view that it decorates, kept alive together: a read that is stuck may need both for ever.
struct Views {
  std::shared_ptr<KernelView> inner;
  std::unique_ptr<RecordingKernelView> recording;
};

Result<void> copy_file(const std::string& from, int to, const std::string& to_path) {
  const int in = open(from.c_str(), O_RDONLY | O_CLOEXEC);
  if (in < 0) return system_error(from, errno);
  Result<void> result;
  char piece[65536];
  while (result) {
    const ssize_t got = read(in, piece, sizeof piece);
    if (got == 0) break;
    if (got < 0) {
      if (errno != EINTR) result = system_error(from, errno);
      continue;
    }
    for (ssize_t done = 0; result && done < got;) {
      const ssize_t put = write(to, piece + done, static_cast<std::size_t>(got - done));
      if (put < 0 && errno != EINTR) result = system_error(to_path, errno);
      if (put > 0) done += put;
    }
  }
  close(in);
  if (result && fsync(to) != 0 && errno != EINVAL) result = system_error(to_path, errno);
  return result;
}

}  // namespace

Result<std::unique_ptr<Recorder>> Recorder::create(const std::shared_ptr<KernelView>& view, const Config& config,
                                                   const Clock& clock, const CaptureManifest* replayed) {
  std::unique_ptr<Recorder> recorder(new Recorder);
  RecordingOptions options{
      .folder = config.capture.record, .max_bytes = config.capture.max_bytes, .max_age_ns = config.capture.max_age.count()};
  if (replayed != nullptr) {
    options.release = replayed->release;
    options.machine = replayed->machine;
    if (!replayed->how.empty()) options.how = "Recorded again by memstatd while it replayed a capture: " + replayed->how;
  }
  if (geteuid() == 0 && !config.user.empty()) {
    if (const passwd* account = getpwnam(config.user.c_str()); account != nullptr) {
      options.user = account->pw_uid;
      options.group = account->pw_gid;
    }
  }
  if (is_archive(options.folder)) {
    recorder->archive_path_ = options.folder;
    recorder->archive_ = open(options.folder.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (recorder->archive_ < 0) {
      return system_error(options.folder, errno,
                          errno == EEXIST ? "a recording never overwrites a file: name another one" : "");
    }
    std::string work = std::string(kWorkParent) + "/memstatd-recording-XXXXXX";
    if (mkdtemp(work.data()) == nullptr) return system_error(kWorkParent, errno, "no room to collect the recording in");
    recorder->work_folder_ = work;
    if (options.user >= 0 && chown(work.c_str(), static_cast<uid_t>(options.user), static_cast<gid_t>(options.group)) != 0) {
      return system_error(work, errno);
    }
    options.folder = work + "/" + std::filesystem::path(recorder->archive_path_).stem().stem().string();
  }
  auto recording = RecordingKernelView::create(*view, options, clock);
  if (!recording) return recording.error();
  const auto views = std::make_shared<Views>(Views{view, *std::move(recording)});
  recorder->recording_ = std::shared_ptr<RecordingKernelView>(views, views->recording.get());
  return recorder;
}

Recorder::~Recorder() {
  if (archive_ >= 0) close(archive_);
}

std::vector<std::string> Recorder::writable_paths() const {
  if (!archive_path_.empty()) return {std::string(kWorkParent)};
  return {recording_->folder()};
}

Result<void> Recorder::finish() {
  if (archive_path_.empty()) return {};
  const std::string packed =
      work_folder_ + "/packed" + (archive_path_.ends_with(".tar") ? std::string(".tar") : std::string(".tar.zst"));
  Result<void> result = pack_capture(recording_->folder(), packed);
  if (result) result = copy_file(packed, archive_, archive_path_);
  if (!result) {
    result.error().detail += " (the polls are in " + recording_->folder() + ")";
    return result;
  }
  std::error_code ignored;  // what cannot be removed does no harm
  std::filesystem::remove_all(work_folder_, ignored);
  return {};
}

}  // namespace memstat
