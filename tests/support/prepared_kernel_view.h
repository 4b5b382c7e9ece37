// SPDX-License-Identifier: BSD-2-Clause
// A kernel view of prepared bytes: from a test, or copied from another view. Serving bytes that fit the
// reader's buffer allocates nothing.
#pragma once

#include <cerrno>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/kernel_view.h"

namespace memstat {

/// Thread safety: reads are safe; set the public members before and between reads.
class PreparedKernelView : public KernelView {
 public:
  explicit PreparedKernelView(OperatingSystem system, std::uint32_t cpus = 1, std::uint64_t page = 4096)
      : os_(system), cpu_count_(cpus), page_size_(page) {}

  /// The content, by path or sysctl name. Each has one or more versions; a read returns number `version` modulo their
  /// number.
  std::map<std::string, std::vector<std::string>, std::less<>> contents;
  std::size_t version = 0;
  /// Names of the directories in a directory that can be listed, each with a NUL behind it.
  std::map<std::string, std::string, std::less<>> directories;
  /// errno of paths and names that cannot be read.
  std::map<std::string, int, std::less<>> failures;

  /// The number of reads of a path or sysctl so far, successful or not.
  [[nodiscard]] std::size_t reads_of(std::string_view name) const {
    const std::lock_guard lock(mutex_);
    const auto found = reads_.find(name);
    return found == reads_.end() ? 0 : found->second;
  }

  /// Adds, as a further version, every file and sysctl in `names` that `other` can read.
  void copy_from(KernelView& other, const std::vector<std::string>& names) {
    Buffer bytes;
    for (const std::string& name : names) {
      const Result<void> result = name.starts_with('/') ? other.read_file(name, bytes) : other.read_sysctl(name, bytes, 0);
      if (result) contents[name].emplace_back(bytes.view());
    }
  }

  /// Adds a directory of `other` and those below it.
  void copy_tree_from(KernelView& other, const std::string& directory) {
    std::vector<std::string> names;
    Buffer below;
    if (!other.list_directory(directory, names) || !other.list_directories(directory, below)) return;
    directories[directory] = below.view();
    for (const std::string& name : names) {
      if (contents.contains(directory + "/" + name)) continue;
      copy_from(other, {directory + "/" + name});
      copy_tree_from(other, directory + "/" + name);
    }
  }

  [[nodiscard]] OperatingSystem os() const override { return os_; }
  [[nodiscard]] std::uint64_t page_size() const override { return page_size_; }
  [[nodiscard]] std::uint32_t cpu_count() const override { return cpu_count_; }
  Result<void> read_file(std::string_view path, Buffer& out) override { return serve(path, out); }
  [[nodiscard]] bool may_read(std::string_view path) override { return contents.find(path) != contents.end(); }
  Result<void> list_directories(std::string_view path, Buffer& names) override {
    const auto found = directories.find(path);
    if (found == directories.end()) return system_error(path, ENOENT);
    names.assign(found->second);
    return {};
  }
  Result<void> read_sysctl(std::string_view name, Buffer& out, std::size_t) override { return serve(name, out); }
  Result<void> list_sysctls(std::string_view prefix, std::vector<std::string>& names) override {
    names.clear();
    const std::string begin = std::string(prefix) + ".";
    for (auto found = contents.lower_bound(begin); found != contents.end() && found->first.starts_with(begin); ++found) {
      names.push_back(found->first);
    }
    return names.empty() ? system_error(prefix, ENOENT) : Result<void>();
  }
  Result<void> keep_open(std::string_view path) override {
    Buffer ignored;
    return serve(path, ignored);
  }

 private:
  Result<void> serve(std::string_view name, Buffer& out) {
    const std::lock_guard lock(mutex_);
    const auto counter = reads_.find(name);
    if (counter == reads_.end()) {
      reads_.emplace(name, 1);
    } else {
      ++counter->second;
    }
    if (const auto failure = failures.find(name); failure != failures.end()) return system_error(name, failure->second);
    const auto found = contents.find(name);
    if (found == contents.end() || found->second.empty()) return system_error(name, ENOENT);
    out.assign(found->second[version % found->second.size()]);
    return {};
  }

  OperatingSystem os_;
  std::uint32_t cpu_count_;
  std::uint64_t page_size_;
  mutable std::mutex mutex_;
  std::map<std::string, std::size_t, std::less<>> reads_;  // guarded by mutex_
};

}  // namespace memstat
