// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/config_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/free_heap.h"
#include "core/base/mutex.h"
#include "core/source.h"
#include "daemon/privileges/account.h"
#include "daemon/serve/textfile.h"

namespace memstat {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{20};
#if !defined(MEMSTAT_SANITIZED)
constexpr std::size_t kStackBytes = 128 * 1024;  // enough for a few system calls, and for a preloaded library around them
#endif
constexpr std::string_view kNotRegular =
    "the configuration must be a regular file, "
    "not a pipe or a device such as /dev/null: it is read again at each reload; for the defaults, use an empty file";

/// The result of a read.
struct ConfigBytes {
  std::string_view failure = {};  ///< Why it stopped; "" for a file that was read to its end.
  int system_errno = 0;
  std::size_t size = 0;             ///< Bytes read.
  UniqueFd descriptor = {};         ///< The open file.
  bool is_readable_by_all = false;  ///< Every account may read the file, by its mode.

  ConfigBytes fail(std::string_view why, int because) && {
    failure = why;
    system_errno = because;
    descriptor = UniqueFd();
    return std::move(*this);
  }
  /// Whether permissions or the sandbox forbid this process to read the file.
  [[nodiscard]] bool is_refused() const noexcept {
    return !failure.empty() && code_of_errno(system_errno) == ErrorCode::kPermission;
  }
  [[nodiscard]] Error error(const std::string& path) const {
    Error error = system_error(path, system_errno, failure);
    if (failure == kNotRegular) error.system_errno = 0;  // no system call has failed
    return error;
  }
};

/// Reads the open file to its end into `room`. A file that leaves no free byte in `room` is too large. Only regular files
/// are read, since a pipe or a device may never end. Does not allocate. Blocks while the file system does not respond.
ConfigBytes read_bytes(UniqueFd descriptor, std::span<char> room) noexcept {
  ConfigBytes bytes{.descriptor = std::move(descriptor)};
  const int file = bytes.descriptor.get();
  struct stat about = {};
  if (fstat(file, &about) != 0) return std::move(bytes).fail("cannot read the configuration", errno);
  if (S_ISDIR(about.st_mode)) {
    return std::move(bytes).fail("cannot read the configuration; name the file in this directory", EISDIR);
  }
  if (!S_ISREG(about.st_mode)) return std::move(bytes).fail(kNotRegular, EINVAL);
  bytes.is_readable_by_all = (about.st_mode & S_IROTH) != 0;
  while (bytes.size < room.size()) {
    const ssize_t got = pread(file, room.data() + bytes.size, room.size() - bytes.size, static_cast<off_t>(bytes.size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::move(bytes).fail("cannot read the configuration", errno);
    if (got == 0) return bytes;
    bytes.size += static_cast<std::size_t>(got);
  }
  return std::move(bytes).fail("larger than 1MiB, so not a configuration of memstatd", EFBIG);
}

/// Same for the file `name` in the open directory `directory`.
ConfigBytes read_bytes(int directory, const char* name, std::span<char> room) noexcept {
  int descriptor = -1;
  do {  // O_NONBLOCK: opening a pipe would block until a writer appears
    descriptor = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  } while (descriptor < 0 && errno == EINTR);
  if (descriptor >= 0) return read_bytes(UniqueFd(descriptor), room);
  if (errno == ENXIO) return ConfigBytes().fail(kNotRegular, EINVAL);  // a socket
  return ConfigBytes().fail("cannot open the configuration; check its path and its permissions", errno);
}

}  // namespace

/// One read, on a thread that allocates nothing. Before privileges are dropped the process has no other thread, and a second
/// thread's heap would count against the limit of locked memory.
struct ConfigFile::Read {
  Read(std::string file, int kept_descriptor, int kept_directory, void (*before)())
      : path(std::move(file)),
        name(path.substr(path.rfind('/') + 1)),
        parent(path.size() == name.size() ? "." : path.substr(0, path.size() - name.size())),
        kept(kept_descriptor),
        directory(kept_directory),
        before_read(before),
        room(new char[kMaxConfigBytes + 1]) {}

  void run() noexcept {
    if (before_read != nullptr) before_read();
    const std::span<char> bytes_room(room.get(), kMaxConfigBytes + 1);
    bytes = read_bytes(AT_FDCWD, path.c_str(), bytes_room);
    if (!bytes.is_refused()) {
      fresh_directory = UniqueFd(open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    } else if (directory >= 0) {  // in capability mode only paths below an open directory work
      bytes = read_bytes(directory, name.c_str(), bytes_room);
    }
    if (bytes.is_refused() && kept >= 0) {
      struct stat old = {};
      const bool is_gone = fstat(kept, &old) != 0 || old.st_nlink == 0;
      is_replaced = is_gone || is_another(old);
      if (!is_replaced) bytes = read_bytes(UniqueFd(fcntl(kept, F_DUPFD_CLOEXEC, 0)), bytes_room);
    }
    const MutexLock lock(mutex);
    is_done = true;
    done.notify_all();
  }

  /// Whether the name now refers to another file. If its directory is inaccessible, uses the link count of the file that was
  /// read.
  [[nodiscard]] bool is_another(const struct stat& old) const noexcept {
    struct stat named = {};
    const bool is_found =
        stat(path.c_str(), &named) == 0 || (directory >= 0 && fstatat(directory, name.c_str(), &named, 0) == 0);
    return is_found && (named.st_dev != old.st_dev || named.st_ino != old.st_ino);
  }

  const std::string path;
  const std::string name;
  const std::string parent;
  const int kept;       // -1: none
  const int directory;  // -1: none
  void (*const before_read)();
  const std::unique_ptr<char[]> room;
  ConfigBytes bytes;
  UniqueFd fresh_directory;
  bool is_replaced = false;
  Mutex mutex;
  CondVar done;
  bool is_done MEMSTAT_GUARDED_BY(mutex) = false;
  pthread_t thread = {};
};

ConfigFile::ConfigFile(std::string path, ConfigPatience patience) : path_(std::move(path)), patience_(std::move(patience)) {}

ConfigFile::~ConfigFile() {
  if (read_ != nullptr && is_stuck()) {
    pthread_detach(read_->thread);
    (void)read_.release();  // NOLINT(bugprone-unused-return-value): its thread still uses it
    (void)directory_.release();
    (void)descriptor_.release();
  } else if (read_ != nullptr) {
    end_read();
  }
}

bool ConfigFile::is_stuck() const {
  if (read_ == nullptr) return false;
  const MutexLock lock(read_->mutex);
  return !read_->is_done;
}

void ConfigFile::end_read() {
  pthread_join(read_->thread, nullptr);
  read_.reset();
}

Result<void> ConfigFile::run_read() {
  const auto late = [this](std::string_view detail) { return make_error(ErrorCode::kTimeout, path_, detail); };
  if (read_ != nullptr) {
    if (is_stuck()) return late("an earlier read of the configuration has not returned yet; check its file system");
    end_read();
  }
  auto read = std::make_unique<Read>(path_, descriptor_.get(), directory_.get(), patience_.before_read);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
#if !defined(MEMSTAT_SANITIZED)
  pthread_attr_setstacksize(&attributes, kStackBytes);
#endif
  const auto body = [](void* self) -> void* {
    static_cast<Read*>(self)->run();
    return nullptr;
  };
  const int failure = pthread_create(&read->thread, &attributes, body, read.get());
  pthread_attr_destroy(&attributes);
  if (failure != 0) return system_error(path_, failure, "cannot start a thread to read the configuration");
  read_ = std::move(read);
  const TimePoint due = patience_.clock.now() + patience_.deadline;
  MutexLock lock(read_->mutex);
  while (!read_->is_done) {
    const TimePoint now = patience_.clock.now();
    if (now >= due) return late("the file system did not return the configuration in time; memstatd stops waiting for it");
    read_->done.wait_until(read_->mutex, std::min<TimePoint>(due, now + kBetweenLooks));
    if (!read_->is_done && patience_.must_stop && patience_.must_stop()) return late("memstatd is stopping");
  }
  return {};
}

Result<std::string> ConfigFile::read() {
  if (Result<void> came_back = run_read(); !came_back) return came_back.error();
  Result<std::string> text = std::string();
  if (read_->is_replaced) {
    text = read_->bytes.error(path_);
    text.error().detail =
        "memstatd gave up root and may not read the file that replaced the configuration; "
        "make it (and its directories) readable by the account of the key user, or restart";
  } else if (!read_->bytes.failure.empty()) {
    text = read_->bytes.error(path_);
  } else {
    text = std::string(read_->room.get(), read_->bytes.size);
    is_readable_by_all_ = read_->bytes.is_readable_by_all;
  }
  if (read_->bytes.descriptor) descriptor_ = std::move(read_->bytes.descriptor);
  if (read_->fresh_directory) directory_ = std::move(read_->fresh_directory);
  end_read();
  return text;
}

ConfigResult ConfigFile::load() {
  if (path_.empty()) return Config{};
  const Result<std::string> text = read();
  if (!text) return ConfigProblems{{to_string(text.error())}};
  std::vector<std::string_view> sources;
  std::vector<std::span<const SourceOption>> options;
  for (const SourceDescriptor* source : all_sources()) {
    sources.push_back(source->name);
    options.push_back(source->options);
  }
  ConfigResult result = load_config_text(
      *text, path_, ConfigContext{.sources = sources, .options = options, .is_readable_by_all = is_readable_by_all_});
  constexpr std::size_t kLargeBytes = 64 * 1024;  // the heap does not return the memory of a larger tree by itself
  if (text->size() > kLargeBytes) give_back_free_heap();
  return result;
}

std::string problem_on_this_machine(const Config& config) {
  if (!config.textfile.empty()) {
    // A missing directory may exist at the start, but a path that is a directory is always wrong.
    const auto textfile = Textfile::open(config.textfile);
    if (!textfile && (textfile.error().system_errno == EISDIR || textfile.error().code == ErrorCode::kData))
      return "textfile: " + to_string(textfile.error());
  }
  if (!config.user.empty() && !is_account(account_for(config.user, kOwnUser)))
    return "user: this machine has no account " + quoted(config.user) + "; make it, or name another";
  return {};
}

}  // namespace memstat
