// SPDX-License-Identifier: BSD-2-Clause
// A Linux machine in memory whose processes a test makes: for inspections.
#pragma once

#include <cerrno>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/inspect/inspection.h"
#include "core/kernel/kernel_view.h"
#include "tests/support/manual_clock.h"

namespace memstat {

/// Thread safety: none.
class ProcessKernel : public KernelView {
 public:
  std::map<std::string, std::string, std::less<>> files;
  std::map<std::string, std::string, std::less<>> links;
  std::map<std::string, std::string, std::less<>> tables;  ///< Texts of live tables; others are read.
  std::map<std::string, int, std::less<>> failures;        ///< errno of paths that cannot be read or listed.
  std::int64_t ns_per_read = 0;                            ///< The CPU time of each read.
  std::int64_t ns_of_others = 0;                           ///< The time that other threads take before each read.
  bool counts_descriptors = true;                          ///< As Linux since 6.2.
  std::uint64_t reads = 0;

  /// A process with that many descriptors of `target`. `status`: more lines, such as "VmLck:\t 12 kB\n".
  void add(std::uint64_t pid, std::string_view command, std::size_t descriptors = 0, std::string_view target = "/dev/null",
           std::string_view status = {}) {
    const std::string directory = path(pid);
    files[directory + "/status"] = "Name:\t" + std::string(command) + "\nUid:\t1000\t1000\t1000\t1000\nFDSize:\t" +
                                   std::to_string(descriptors) + "\nVmSize:\t 100 kB\n" + std::string(status);
    files[directory + "/cgroup"] = "0::/group-" + std::to_string(pid) + "\n";
    for (std::size_t i = 0; i < descriptors; ++i) link(pid, target);
  }
  /// Adds a descriptor. Returns its number.
  std::string link(std::uint64_t pid, std::string_view target) {
    const std::string number = std::to_string(next_[pid]++);
    links[path(pid) + "/fd/" + number] = target;
    return number;
  }
  static std::string path(std::uint64_t pid) { return "/proc/" + std::to_string(pid); }

  [[nodiscard]] OperatingSystem os() const override { return OperatingSystem::kLinux; }
  [[nodiscard]] std::uint64_t page_size() const override { return 4096; }
  [[nodiscard]] std::uint32_t cpu_count() const override { return 1; }
  [[nodiscard]] const Clock& clock() const override { return clock_; }
  Result<void> read_file(std::string_view path, Buffer& out) override {
    if (auto begun = begin_read(path); !begun) return begun;
    const auto found = files.find(path);
    if (found == files.end()) return system_error(path, ENOENT);
    out.assign(found->second);
    return {};
  }
  Result<std::string> read_link(std::string_view path) override {
    if (auto begun = begin_read(path); !begun) return begun.error();
    const auto found = links.find(path);
    return found == links.end() ? system_error(path, ENOENT) : Result<std::string>(found->second);
  }
  Result<std::uint64_t> file_size(std::string_view path) override {
    if (auto begun = begin_read(std::string(path) + "/size"); !begun) return begun.error();  // needs no permission for it
    std::set<std::string> found;
    list_keys(links, path, found);
    if (path == "/proc/self/fd") return counts_descriptors ? 3 : 0;
    return counts_descriptors ? found.size() : 0;
  }
  Result<void> list_directory(std::string_view path, std::vector<std::string>& names) override {
    names.clear();
    if (auto begun = begin_read(path); !begun) return begun;
    std::set<std::string> found;
    list_keys(files, path, found);
    list_keys(links, path, found);
    names.assign(found.begin(), found.end());
    const bool is_known = !found.empty() || files.contains(std::string(path.substr(0, path.rfind('/'))) + "/status");
    return is_known ? Result<void>() : system_error(path, ENOENT);
  }
  Result<void> list_directories(std::string_view path, Buffer& names) override {
    std::vector<std::string> listed;
    names.clear();
    auto result = list_directory(path, listed);
    for (const std::string& name : listed) {
      const auto below = files.lower_bound(std::string(path) + "/" + name + "/");
      const bool is_directory = below != files.end() && below->first.starts_with(std::string(path) + "/" + name + "/");
      if (is_directory || path == "/proc") names.append(name + kEndOfName);
    }
    return result;
  }
  Result<void> read_table(std::string_view source, TextTableSource& table, Buffer& out) override {
    const auto found = tables.find(source);
    if (found == tables.end()) return table.read(out);
    out.assign(found->second);
    return {};
  }

 private:
  template <typename Map>
  static void list_keys(const Map& map, std::string_view directory, std::set<std::string>& names) {
    const std::string begin = std::string(directory) + "/";
    for (auto at = map.lower_bound(begin); at != map.end() && at->first.starts_with(begin); ++at) {
      names.insert(at->first.substr(begin.size(), at->first.find('/', begin.size()) - begin.size()));
    }
  }
  Result<void> begin_read(std::string_view path) {
    ++reads;
    clock_.advance(std::chrono::nanoseconds(ns_per_read + ns_of_others));
    clock_.compute(std::chrono::nanoseconds(ns_per_read));
    const auto failure = failures.find(path);
    return failure == failures.end() ? Result<void>() : system_error(path, failure->second);
  }

  std::map<std::uint64_t, int> next_;
  ManualClock clock_;
};

/// "812 nginx 9" for each holder, the largest first: pid, command and name, if it has them, count, and bytes with a B.
inline std::string holders_text(const InspectionAnswer& answer) {
  std::string text;
  for (const Holder& holder : answer.holders) {
    text += text.empty() ? "" : "; ";
    std::string words;
    const auto word = [&](const std::string& one) { words += (words.empty() || one.empty() ? "" : " ") + one; };
    word(holder.pid == 0 ? "" : std::to_string(holder.pid));
    word(holder.command);
    word(holder.name);
    word(holder.count ? std::to_string(*holder.count) : "");
    word(holder.bytes ? std::to_string(*holder.bytes) + "B" : "");
    text += words;
  }
  return text;
}

/// The kernel's answer, which must exist.
inline InspectionAnswer answer_of(KernelView& view, std::string_view question, const InspectionBounds& bounds = {}) {
  return inspect(view, *find_inspection(question), bounds).value();
}

}  // namespace memstat
