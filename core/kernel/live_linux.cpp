// SPDX-License-Identifier: BSD-2-Clause
// The running Linux kernel: files of /proc and /sys.
#include "core/base/clock.h"
#include "core/kernel/kernel_view.h"

#if defined(__linux__)

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>

#include "core/base/fixed_path.h"
#include "core/base/text.h"
#include "core/kernel/group_files.h"
#include "core/kernel/live_view.h"
#include "core/kernel/open_directory.h"
#include "core/kernel/reader_process.h"
#include "core/kernel/spared_open.h"

namespace memstat {
namespace {

/// Whether an entry is a directory. Some file systems do not report the type (DT_UNKNOWN); the kernel's own do.
bool is_directory(int parent, const char* name, unsigned char type) {
  if (type != DT_UNKNOWN) return type == DT_DIR;
  struct stat status {};
  return ::fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

void add_directories(int parent, const char* at, const char* end, Buffer& names) {
  while (at < end) {
    std::uint16_t size = 0;
    std::memcpy(&size, at + offsetof(dirent64, d_reclen), sizeof size);
    const char* const name = at + offsetof(dirent64, d_name);
    const std::string_view text(name);
    const auto type = static_cast<unsigned char>(at[offsetof(dirent64, d_type)]);
    if (text != "." && text != ".." && is_directory(parent, name, type)) {
      names.append(text);
      names.append({&kEndOfName, 1});
    }
    at += size;
  }
}

class LinuxKernelView final : public LiveKernelView {
 public:
  [[nodiscard]] OperatingSystem os() const override { return OperatingSystem::kLinux; }
  [[nodiscard]] std::uint32_t cpu_count() const override { return cpu_count_; }

  Result<void> read_file(std::string_view path, Buffer& out) override {
    return files_.read_file(path, out, manner_of(path));
  }
  BaseDirectory open_base(std::string_view directory) override {
    FixedPath path;
    if (!path.assign(directory)) return {};
    // Without a file of the reserve, which would be lost when this one is closed. Its files are then opened by their paths.
    return {.path_size = directory.size(), .descriptor = UniqueFd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC))};
  }
  Result<void> read_at_base(const BaseDirectory& directory, std::string_view path, Buffer& out) override {
    if (group_files_.answer(path, out, clock().monotonic_ns())) return {};
    auto result = directory.descriptor ? files_.read_file_in(directory, path, out, manner_of(path)) : read_file(path, out);
    if (result) group_files_.learn(path, out.view(), clock().monotonic_ns());
    return result;
  }
  [[nodiscard]] bool may_read(std::string_view path) override { return files_.may_read(path); }
  /// Without heap memory; opendir(3) would take 32 KiB each time.
  Result<void> list_directories(std::string_view path, Buffer& names) override {
    names.clear();
    FixedPath terminated;
    if (!terminated.assign(path)) return system_error(path.substr(0, 200), ENAMETOOLONG);
    struct stat status {};
    if (::stat(terminated.c_str(), &status) != 0) return system_error(path, errno);
    if (!S_ISDIR(status.st_mode)) return system_error(path, ENOTDIR);
    // A directory has one link from its parent, one from its own ".", and one from each sub-directory's "..". Most
    // control groups have no sub-directories, and listing their dozens of files takes six times as long as this call.
    // (File systems that do not count links report 1.)
    if (status.st_nlink == 2) return {};
    const SpareFilesReturn files_back;
    const UniqueFd fd(spared_open(terminated.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
    if (!fd) return system_error(path, errno);
    alignas(dirent64) std::array<char, 4096> entries;
    while (true) {
      const ssize_t size = ::getdents64(fd.get(), entries.data(), entries.size());
      if (size < 0) return system_error(path, errno);
      if (size == 0) return {};
      add_directories(fd.get(), entries.data(), entries.data() + size, names);
    }
  }
  Result<std::uint64_t> file_size(std::string_view path) override {
    FixedPath terminated;
    if (!terminated.assign(path)) return system_error(path.substr(0, 200), ENAMETOOLONG);
    struct stat status {};
    if (::stat(terminated.c_str(), &status) != 0) return system_error(path, errno);
    return status.st_size > 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
  }
  [[nodiscard]] std::uint64_t group_generation() override { return published_group_set(clock().monotonic_ns()); }
  Result<void> read_sysctl(std::string_view name, Buffer&, std::size_t) override { return no_sysctls(name); }
  Result<void> list_sysctls(std::string_view prefix, std::vector<std::string>& names) override {
    names.clear();
    return no_sysctls(prefix);
  }

 private:
  /// Files of sysfs and control groups (fs/kernfs/file.c) return everything in one read, or pages of whole records. No
  /// record is as long as half a page.
  static ReadManner manner_of(std::string_view path) {
    if (path.starts_with("/proc/sys/")) return ReadManner::kInOne;
    // One record, of which a read returns as much as fits (fs/seq_file.c).
    for (const std::string_view single : {"/proc/net/netstat", "/proc/net/snmp"}) {
      if (path.starts_with(single)) return ReadManner::kToRoom;
    }
    // One record, or short ones (fs/seq_file.c fills a page with whole records).
    for (const std::string_view short_one : {"/proc/meminfo", "/proc/vmstat", "/proc/buddyinfo", "/proc/loadavg",
                                             "/proc/pressure/", "/proc/net/sockstat", "/proc/net/stat/"}) {
      if (path.starts_with(short_one)) return ReadManner::kToAShort;
    }
    const bool is_kernfs =
        path.starts_with("/sys/") && !path.starts_with("/sys/kernel/debug/") && !path.starts_with("/sys/kernel/tracing/");
    return is_kernfs ? ReadManner::kToAShort : ReadManner::kToTheEnd;
  }
  static Error no_sysctls(std::string_view name) {
    return system_error(name, ENOENT, "Linux has no sysctls by name; its files are under /proc/sys");
  }

  // Includes CPUs that may be hot-plugged later, so that columns need not grow.
  std::uint32_t count_cpus() {
    Buffer text;
    if (files_.read_file("/sys/devices/system/cpu/possible", text, ReadManner::kToTheEnd)) {
      if (const auto highest = highest_of_list(text.view())) return *highest + 1;
    }
    const long configured = ::sysconf(_SC_NPROCESSORS_CONF);
    return configured > 0 ? static_cast<std::uint32_t>(configured) : 1;
  }

  std::uint32_t cpu_count_ = count_cpus();
  GroupFiles group_files_{system_page_size()};
};

class LinuxProcessStatsReader final : public ProcessStatsReader {
 public:
  explicit LinuxProcessStatsReader(const std::string& directory)  // of /proc
      : page_size_(system_page_size()),
        statm_(::open((directory + "/statm").c_str(), O_RDONLY | O_CLOEXEC)),
        descriptors_(::opendir((directory + "/fd").c_str())),
        start_time_seconds_(find_start_time(directory + "/stat")) {}

  ProcessStats read() override {
    ProcessStats usage;
    usage.cpu_seconds = own_cpu_seconds();
    std::array<char, 256> text;
    const ssize_t length = ::pread(statm_.get(), text.data(), text.size(), 0);
    if (length > 0) {
      std::string_view rest(text.data(), static_cast<std::size_t>(length));
      std::string_view word;
      if (next_word(rest, word)) usage.virtual_bytes = parse_u64(word).value_or(0) * page_size_;
      if (next_word(rest, word)) usage.resident_bytes = parse_u64(word).value_or(0) * page_size_;
    }
    usage.open_files = count_descriptors();
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) usage.max_files = limit.rlim_cur;
    usage.start_time_seconds = start_time_seconds_;
    return usage;
  }

 private:
  std::uint64_t count_descriptors() {
    if (!descriptors_) return 0;
    ::rewinddir(descriptors_.get());
    std::uint64_t count = 0;
    while (const dirent* entry = ::readdir(descriptors_.get())) {
      if (entry->d_name[0] != '.') ++count;
    }
    return count;
  }

  // Field 22 of /proc/self/stat is the start time in clock ticks since boot. Field 2, in parentheses, may itself
  // contain blanks and parentheses.
  static double find_start_time(const std::string& path) {
    PosixFiles files;
    Buffer stat;
    if (!files.read_file(path, stat, ReadManner::kToTheEnd)) return 0;
    std::string_view rest = stat.view();
    const std::size_t name_end = rest.rfind(')');
    if (name_end == std::string_view::npos) return 0;
    rest.remove_prefix(name_end + 1);
    std::string_view word;
    for (int field = 3; field <= 22; ++field) {
      if (!next_word(rest, word)) return 0;
    }
    const auto start_ticks = parse_u64(word);
    const long ticks_per_second = ::sysconf(_SC_CLK_TCK);
    if (!start_ticks || ticks_per_second <= 0) return 0;
    const double since_boot = static_cast<double>(*start_ticks) / static_cast<double>(ticks_per_second);
    return static_cast<double>(system_clock().realtime_ns()) / 1e9 - (seconds_since_boot() - since_boot);
  }

  std::uint64_t page_size_;
  UniqueFd statm_;
  OpenDirectory descriptors_;
  double start_time_seconds_;
};

}  // namespace

Result<std::unique_ptr<KernelView>> make_live_kernel_view() {
  return std::unique_ptr<KernelView>(std::make_unique<LinuxKernelView>());
}

std::unique_ptr<ProcessStatsReader> make_process_stats_reader() {
  return std::make_unique<LinuxProcessStatsReader>("/proc/self");
}
std::unique_ptr<ProcessStatsReader> make_process_stats_reader_of(pid_t process) {
  return std::make_unique<LinuxProcessStatsReader>("/proc/" + std::to_string(process));
}

}  // namespace memstat

#endif
