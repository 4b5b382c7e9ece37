// SPDX-License-Identifier: BSD-2-Clause
// Makes control groups in this machine's kernel, and processes in them that take memory.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

#include "tests/support/fake_kernel_view.h"

namespace memstat {

/// A hierarchy of control groups.
struct Mounted {
  std::string root;
  bool is_version_1 = false;
};
/// The machine's hierarchy with the memory controller, from the kernel's list of mounts.
inline std::optional<Mounted> mounted_hierarchy() {
  std::ifstream mounts("/proc/self/mounts");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string device;
    std::string directory;
    std::string type;
    std::string options;
    words >> device >> directory >> type >> options;
    if (directory.find("/sys/fs/cgroup") != 0) continue;
    if (type == "cgroup" && ("," + options + ",").find(",memory,") != std::string::npos) return Mounted{directory, true};
    if (type != "cgroup2") continue;
    std::ifstream controllers(directory + "/cgroup.subtree_control");
    for (std::string word; controllers >> word;) {
      if (word == "memory") return Mounted{directory, false};
    }
  }
  return {};
}

/// A control group of this machine; the destructor removes it with its processes.
class LiveGroup {
 public:
  explicit LiveGroup(std::string path) : path_(std::move(path)) {
    is_made_ = std::filesystem::create_directory(path_, error_);
  }
  /// The kernel may take a moment until the last process of the group is gone.
  ~LiveGroup() {
    if (is_made_) eventually([this] { return ::rmdir(path_.c_str()) == 0 || errno != EBUSY; });
  }
  LiveGroup(const LiveGroup&) = delete;
  LiveGroup& operator=(const LiveGroup&) = delete;
  [[nodiscard]] bool is_made() const { return is_made_; }
  [[nodiscard]] std::string why_not() const { return error_.message(); }
  [[nodiscard]] std::string text(const std::string& file) const {
    std::ifstream in(path_ + "/" + file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  bool write(const std::string& file, const std::string& value) const {
    std::ofstream out(path_ + "/" + file);
    out << value << std::flush;
    return out.good();
  }

 private:
  std::string path_;
  std::error_code error_;
  bool is_made_ = false;
};

/// A process in a group, which allocates memory page by page and then waits to be killed.
class Eater {
 public:
  Eater(const LiveGroup& group, std::size_t bytes) {
    if (::pipe(to_child_) != 0 || ::pipe(to_parent_) != 0) return;
    child_ = ::fork();
    if (child_ == 0) run(bytes);
    is_in_group_ = group.write("cgroup.procs", std::to_string(child_));
    char begin = 1;
    EXPECT_EQ(::write(to_child_[1], &begin, 1), 1);
    ::close(to_parent_[1]);
  }
  ~Eater() {
    kill();
    for (const int fd : {to_child_[0], to_child_[1], to_parent_[0]}) ::close(fd);
  }
  Eater(const Eater&) = delete;
  Eater& operator=(const Eater&) = delete;
  [[nodiscard]] bool is_in_group() const { return is_in_group_; }
  /// Waits until it has all its memory. False: it died before.
  [[nodiscard]] bool has_eaten() const {
    char done = 0;
    return ::read(to_parent_[0], &done, 1) == 1;
  }
  /// The signal that ended it.
  int kill() {
    if (child_ <= 0) return 0;
    ::kill(child_, SIGKILL);
    return wait();
  }
  int wait() {
    int status = 0;
    EXPECT_EQ(::waitpid(child_, &status, 0), child_);
    child_ = -1;
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }

 private:
  // Only system calls: this is the child of a process that may have threads.
  [[noreturn]] void run(std::size_t bytes) const {
    char begin = 0;
    ::close(to_parent_[0]);
    if (::read(to_child_[0], &begin, 1) != 1) ::_exit(1);
    void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) ::_exit(2);
    for (std::size_t at = 0; at < bytes; at += 4096) static_cast<volatile char*>(memory)[at] = 1;
    if (::write(to_parent_[1], &begin, 1) != 1) ::_exit(3);
    while (true) ::pause();
  }
  int to_child_[2] = {-1, -1};
  int to_parent_[2] = {-1, -1};
  pid_t child_ = -1;
  bool is_in_group_ = false;
};

}  // namespace memstat
