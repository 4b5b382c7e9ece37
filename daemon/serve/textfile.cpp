// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/textfile.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/base/thread_name.h"
#include "daemon/exposition/exposition.h"

namespace memstat {
namespace {

constexpr mode_t kReadableByAll = 0644;

}  // namespace

Result<Textfile> Textfile::open(const std::string& path) {
  Textfile file;
  file.path_ = path;
  const std::size_t slash = path.rfind('/');
  file.directory_ = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  file.name_ = slash == std::string::npos ? path : path.substr(slash + 1);
  if (file.name_.empty() || file.name_ == "." || file.name_ == "..") {
    return data_error(path, 0, "is not the path of a file; give one such as /var/lib/memstatd/memstat.prom");
  }
  file.temporary_ = "." + file.name_ + ".tmp";
  file.directory_fd_ = UniqueFd(::open(file.directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file.directory_fd_) {
    return system_error(path, errno, "cannot open the directory of the file; make it first");
  }
  struct stat there {};
  if (::fstatat(file.directory_fd_.get(), file.name_.c_str(), &there, 0) == 0 && S_ISDIR(there.st_mode)) {
    return system_error(path, EISDIR, "give the path of a file in it, such as " + path + "/memstat.prom");
  }
  return file;
}

Result<void> Textfile::check() {
  if (auto tried = write_temporary({}); !tried) return tried;
  ::unlinkat(directory_fd_.get(), temporary_.c_str(), 0);
  return {};
}

Result<void> Textfile::write_temporary(std::string_view page) {
  constexpr std::string_view kHint = "cannot write next to the file; its directory must be writable by the user of memstatd";
  // Remove the leftover of a killed run instead of following or reusing it.
  ::unlinkat(directory_fd_.get(), temporary_.c_str(), 0);
  const UniqueFd fd(
      ::openat(directory_fd_.get(), temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kReadableByAll));
  if (!fd) return system_error(path_, errno, kHint);
  while (!page.empty()) {
    const ssize_t written = ::write(fd.get(), page.data(), page.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error(path_, errno, "cannot write the page; the old file stays");
    page.remove_prefix(static_cast<std::size_t>(written));
  }
  // A service's umask would hide the file from the collector, which is another user.
  if (::fchmod(fd.get(), kReadableByAll) != 0 || ::fsync(fd.get()) != 0) {
    return system_error(path_, errno, "cannot sync the page to the disk; the old file stays");
  }
  return {};
}

Result<void> Textfile::write(std::string_view page) {
  Result<void> result = write_temporary(page);
  if (result && ::renameat(directory_fd_.get(), temporary_.c_str(), directory_fd_.get(), name_.c_str()) != 0) {
    result = system_error(path_, errno, "cannot put the new page in place; the old file stays");
  }
  if (!result) {
    ::unlinkat(directory_fd_.get(), temporary_.c_str(), 0);
    return result;
  }
  ::fsync(directory_fd_.get());  // sync the name, too; on failure the rename is still done
  return {};
}

std::string textfile_page(const RenderedSnapshot& snapshot, const SelfMetrics& metrics) {
  std::string page(page_of(snapshot, ExpositionFormat::kText));
  page += metrics.page(ExpositionFormat::kText, snapshot.options,
                       [](std::string_view family) { return !family.starts_with("process_"); });
  return page;
}

TextfileWriter::TextfileWriter(Textfile file, const SnapshotPool& pool, const SelfMetrics& metrics, Log log)
    : file_(std::move(file)), pool_(pool), metrics_(metrics), log_(std::move(log)), thread_([this] { run(); }) {}

TextfileWriter::~TextfileWriter() {
  {
    const MutexLock lock(mutex_);
    must_stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void TextfileWriter::notify() {
  const MutexLock lock(mutex_);
  has_page_ = true;
  wake_.notify_all();
}

void TextfileWriter::write_page() {
  std::string page;
  if (const auto snapshot = pool_.current(); snapshot != nullptr) page = textfile_page(*snapshot, metrics_);
  if (page.empty()) return;
  const Result<void> result = file_.write(page);
  if (!result && !is_failing_) log_(LogLevel::kError, "textfile: " + to_string(result.error()));
  if (result && is_failing_) log_(LogLevel::kInfo, "textfile: written again");
  is_failing_ = !result;
}

void TextfileWriter::run() {
  name_thread("memstatd-text");
  MutexLock lock(mutex_);
  while (true) {
    wake_.wait(mutex_, [this]() MEMSTAT_REQUIRES(mutex_) { return must_stop_ || has_page_; });
    if (!std::exchange(has_page_, false)) return;  // write the last page even when stopping
    lock.unlock();
    try {
      write_page();
    } catch (const std::exception&) {
      if (!std::exchange(is_failing_, true)) log_(LogLevel::kError, "textfile: not written: out of memory");
    }
    lock.lock();
  }
}

}  // namespace memstat
