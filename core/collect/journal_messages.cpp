// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/journal_messages.h"

#include <algorithm>
#include <utility>

#if defined(MEMSTAT_HAVE_SYSTEMD)
#include <fcntl.h>
#include <sys/stat.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/unique_fd.h"
#include "core/kernel/dynamic_library.h"
#include "core/kernel/spared_open.h"
#endif

namespace memstat {

#if defined(MEMSTAT_HAVE_SYSTEMD)
namespace {

/// libsystemd's functions. Not linked: it brings three libraries along, which only machines with a journal should pay for.
struct Libsystemd : DynamicLibrary {
  Libsystemd() : DynamicLibrary({"libsystemd.so.0"}) {}
  decltype(&::sd_journal_open_files) open_files = find("sd_journal_open_files");
  decltype(&::sd_journal_close) close = find("sd_journal_close");
  decltype(&::sd_journal_add_match) add_match = find("sd_journal_add_match");
  decltype(&::sd_journal_add_disjunction) add_disjunction = find("sd_journal_add_disjunction");
  decltype(&::sd_journal_add_conjunction) add_conjunction = find("sd_journal_add_conjunction");
  decltype(&::sd_journal_set_data_threshold) set_data_threshold = find("sd_journal_set_data_threshold");
  decltype(&::sd_journal_seek_head) seek_head = find("sd_journal_seek_head");
  decltype(&::sd_journal_seek_tail) seek_tail = find("sd_journal_seek_tail");
  decltype(&::sd_journal_previous_skip) previous_skip = find("sd_journal_previous_skip");
  decltype(&::sd_journal_next) next = find("sd_journal_next");
  decltype(&::sd_journal_get_data) get_data = find("sd_journal_get_data");
  decltype(&::sd_journal_get_monotonic_usec) get_monotonic_usec = find("sd_journal_get_monotonic_usec");
};

/// Loaded on the first call.
const Libsystemd& libsystemd() {
  static const Libsystemd loaded;
  return loaded;
}

/// 32 hexadecimal digits of a file such as /etc/machine-id; "" if it cannot be read.
std::string read_id(const char* path) {
  const UniqueFd file(spared_open(path, O_RDONLY | O_CLOEXEC));
  std::array<char, 64> bytes{};
  const ssize_t size = file ? ::read(file.get(), bytes.data(), bytes.size()) : -1;
  std::string id(bytes.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  std::erase_if(id, [](char byte) { return byte == '-' || byte == '\n'; });
  return id.size() == 32 ? id : std::string();
}

Error journal_error(int result, std::string_view path) {
  const int number = -result;
  if (code_of_errno(number) == ErrorCode::kPermission) {
    return system_error(path, number, "only root and members of the group systemd-journal may read it");
  }
  return system_error(path, number);
}

}  // namespace

/// The current file of one directory.
struct JournalMessages::File {
  std::string path;
  sd_journal* journal = nullptr;  // nullptr: not open
  dev_t device = 0;
  ino_t inode = 0;
  bool is_at_message = false;  // the message at which it stands was not returned yet
  bool is_replaced = false;    // journald writes another one: what is left of this is read first
  bool is_gone = false;        // and there is none of this name now
  bool may_repeat = false;     // it may begin with messages that were read from another file

  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { close(); }
  void close() {
    if (journal != nullptr) libsystemd().close(journal);
    journal = nullptr;
    is_at_message = is_replaced = false;
  }
  [[nodiscard]] bool is(const struct stat& status) const {
    return journal != nullptr && device == status.st_dev && inode == status.st_ino;
  }
};

namespace {

/// Selects (unit or systemd's message) of this boot.
int add_matches(sd_journal* journal, std::span<const std::string_view> units, std::string_view systemd_message,
                std::string_view boot) {
  const auto match = [&](std::string_view field, std::string_view value) {
    const std::string text = std::string(field) + "=" + std::string(value);
    return libsystemd().add_match(journal, text.data(), text.size());
  };
  int result = 0;
  const auto keep = [&](int next) { result = result < 0 ? result : next; };
  for (const std::string_view unit : units) keep(match("_SYSTEMD_UNIT", unit));
  keep(libsystemd().add_disjunction(journal));
  keep(match("_PID", "1"));
  keep(match("MESSAGE_ID", systemd_message));
  keep(libsystemd().add_conjunction(journal));
  keep(match("_BOOT_ID", boot));
  return result;
}

/// The value of a field; "" if the message lacks it or it cannot be unpacked. Valid until the next call.
std::string_view value_of(sd_journal* journal, const char* field) {
  const void* data = nullptr;
  std::size_t size = 0;
  if (libsystemd().get_data(journal, field, &data, &size) < 0) return {};
  const std::string_view text(static_cast<const char*>(data), size);
  return text.substr(std::min(text.find('=') + 1, text.size()));
}

}  // namespace

JournalMessages::JournalMessages(std::span<const std::string_view> units, std::string_view systemd_message,
                                 std::uint64_t max_earlier)
    : units_(units), systemd_message_(systemd_message), max_earlier_(max_earlier) {}
JournalMessages::~JournalMessages() = default;

void JournalMessages::use(std::span<const std::string> files, std::string_view boot) {
  boot_ = boot;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    files_[i] = std::make_unique<File>();
    if (i < files.size()) files_[i]->path = files[i];
  }
}

std::vector<std::string> JournalMessages::directories() const {
  std::vector<std::string> found;
  for (const std::unique_ptr<File>& file : files_) {
    if (file != nullptr && !file->path.empty()) found.push_back(file->path.substr(0, file->path.rfind('/')));
  }
  return found;
}

Result<void> JournalMessages::open() {
  if (boot_.empty()) {
    const std::string machine = read_id("/etc/machine-id");
    std::array<std::string, kDirectories.size()> paths;
    for (std::size_t i = 0; i < paths.size(); ++i)
      paths[i] = std::string(kDirectories[i]) + "/" + machine + "/system.journal";
    const std::string boot = read_id("/proc/sys/kernel/random/boot_id");
    if (machine.empty() || boot.empty()) return make_error(ErrorCode::kNotPresent, kPath, "this machine has no journal");
    use(paths, boot);
  }
  if (auto followed = follow(); !followed) return followed;
  const bool is_open = std::any_of(files_.begin(), files_.end(), [](const auto& file) { return file->journal != nullptr; });
  return is_open ? Result<void>() : make_error(ErrorCode::kNotPresent, kPath, "this machine has no journal");
}

Result<void> JournalMessages::follow() {
  if (files_[0] == nullptr) return open();
  for (const std::unique_ptr<File>& file : files_) {
    struct stat status {};
    if (file->path.empty()) continue;
    if (::stat(file->path.c_str(), &status) != 0) {
      if (errno != ENOENT && errno != ENOTDIR) return journal_error(-errno, file->path);
      file->is_replaced = file->is_gone = true;
    } else {
      // Also of a file that is open: without the permission, its successor could not be opened.
      if (::faccessat(AT_FDCWD, file->path.c_str(), R_OK, AT_EACCESS) != 0) return journal_error(-errno, file->path);
      if (!file->is(status)) file->is_replaced = true;
      file->is_gone = false;
    }
    if (file->journal != nullptr || file->is_gone) continue;
    if (auto opened = reopen(*file); !opened) return opened;
  }
  return {};
}

/// Opens the file that has the name now.
Result<void> JournalMessages::reopen(File& file) {
  if (file.is_gone) {
    file.close();
    return {};
  }
  if (!libsystemd().is_complete()) return make_error(ErrorCode::kNotPresent, kPath, "libsystemd is not installed");
  struct stat status {};
  if (::stat(file.path.c_str(), &status) != 0) return journal_error(-errno, file.path);
  std::array<const char*, 2> paths{file.path.c_str(), nullptr};
  sd_journal* journal = nullptr;
  int result = libsystemd().open_files(&journal, paths.data(), 0);
  if (result < 0) return journal_error(result, file.path);
  const bool is_first = file.journal == nullptr && time_us_ == 0;
  file.close();
  file.journal = journal;
  file.device = status.st_dev;
  file.inode = status.st_ino;
  file.is_replaced = false;
  file.may_repeat = !is_first;
  static_cast<void>(libsystemd().set_data_threshold(journal, kMaxText));
  result = add_matches(journal, units_, systemd_message_, boot_);
  if (result < 0) return journal_error(result, file.path);
  // Nothing is ever found behind the end, so a journal without such messages is read from its head.
  if (is_first && libsystemd().seek_tail(journal) >= 0) {
    file.is_at_message = libsystemd().previous_skip(journal, max_earlier_) > 0;
  }
  if (!file.is_at_message) static_cast<void>(libsystemd().seek_head(journal));
  return {};
}

Result<JournalMessage> JournalMessages::next() {
  for (const std::unique_ptr<File>& file : files_) {
    while (file != nullptr && file->journal != nullptr) {
      if (!std::exchange(file->is_at_message, false)) {
        const int result = libsystemd().next(file->journal);
        if (result < 0) return journal_error(result, file->path);
        if (result == 0 && !file->is_replaced) break;
        if (result == 0) {
          if (auto opened = reopen(*file); !opened) return opened.error();
          continue;
        }
      }
      if (const JournalMessage message = read(*file); !message.unit.empty()) return message;
    }
  }
  return JournalMessage{};
}

/// The message at which the file stands; without a unit if it was read before or has no text.
JournalMessage JournalMessages::read(File& file) {
  JournalMessage message;
  sd_id128_t boot;
  if (libsystemd().get_monotonic_usec(file.journal, &message.time_us, &boot) < 0) return {};
  if (file.may_repeat && message.time_us <= time_us_) return {};
  const std::string_view unit = value_of(file.journal, "_SYSTEMD_UNIT");
  const auto known = std::find(units_.begin(), units_.end(), unit);
  const std::string_view name = known == units_.end() ? kSystemd : *known;
  message.text = value_of(file.journal, "MESSAGE");
  if (message.text.empty()) return {};
  message.unit = name;
  file.may_repeat = false;
  time_us_ = message.time_us;
  return message;
}

#else

struct JournalMessages::File {};
JournalMessages::JournalMessages(std::span<const std::string_view> units, std::string_view systemd_message,
                                 std::uint64_t max_earlier)
    : units_(units), systemd_message_(systemd_message), max_earlier_(max_earlier) {}
JournalMessages::~JournalMessages() = default;
void JournalMessages::use(std::span<const std::string>, std::string_view) {}
std::vector<std::string> JournalMessages::directories() const { return {}; }
Result<void> JournalMessages::open() {
  return make_error(ErrorCode::kNotPresent, kPath, "memstat was built without libsystemd");
}
Result<void> JournalMessages::follow() { return open(); }
Result<JournalMessage> JournalMessages::next() { return open().error(); }

#endif

}  // namespace memstat
