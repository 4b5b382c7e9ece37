// SPDX-License-Identifier: BSD-2-Clause
// A handwritten kernel with slab caches: /proc/slabinfo and /sys/kernel/slab with its links, and a log of all reads.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/kernel_view.h"

namespace memstat {

/// Thread safety: none.
class SlabKernel final : public KernelView {
 public:
  using Files = std::map<std::string, std::string, std::less<>>;

  explicit SlabKernel(std::uint32_t cpus = 2) : cpu_count_(cpus) {}

  /// A directory of /sys/kernel/slab with these files, and slab_size and order unless they are among them.
  void add_directory(const std::string& directory, Files files, unsigned slot_size = 64) {
    files.try_emplace("slab_size", std::to_string(slot_size) + "\n");
    files.try_emplace("order", "0\n");
    directories[directory] = std::move(files);
  }
  /// A line of slabinfo.
  void list(const std::string& cache, unsigned slot_size = 64) {
    slabinfo += cache + std::string(cache.size() < 17 ? 17 - cache.size() : 0, ' ') + "      1      2 " +
                std::to_string(slot_size) + "   64    1 : tunables    0    0    0 : slabdata      1      1      0\n";
  }
  /// The directory and the line.
  void add(const std::string& cache, Files files, unsigned slot_size = 64) {
    list(cache, slot_size);
    add_directory(cache, std::move(files), slot_size);
  }

  std::string slabinfo =
      "slabinfo - version: 2.1\n# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables "
      "<limit> <batchcount> <sharedfactor> : slabdata <active_slabs> <num_slabs> <sharedavail>\n";
  std::map<std::string, Files, std::less<>> directories;  ///< By name.
  std::map<std::string, std::string, std::less<>> links;
  std::map<std::string, int, std::less<>> failures;  ///< errno by path.
  bool has_privileges = true;                        ///< Files that are not kept can be read.
  std::vector<std::string> calls;                    ///< Paths read and listed, in order.
  std::set<std::string, std::less<>> kept;
  bool counts_kept = false;     ///< Keeping a file has a cost, as on a live kernel.
  std::string nodes = "0-1\n";  ///< /sys/devices/system/node/online; "": there is none.

  /// The number of calls about a path with this ending.
  [[nodiscard]] std::size_t calls_of(std::string_view end) const {
    return static_cast<std::size_t>(
        std::count_if(calls.begin(), calls.end(), [&](const std::string& path) { return path.ends_with(end); }));
  }

  [[nodiscard]] OperatingSystem os() const override { return OperatingSystem::kLinux; }
  [[nodiscard]] std::uint64_t page_size() const override { return 4096; }
  [[nodiscard]] std::uint32_t cpu_count() const override { return cpu_count_; }
  Result<void> read_file(std::string_view path, Buffer& out) override {
    calls.emplace_back(path);
    const bool is_kept = kept.contains(path);
    const std::string* content = find(path);
    if (content == nullptr) return system_error(path, is_kept ? ENODEV : ENOENT);
    if (!has_privileges && !is_kept) return system_error(path, EACCES);
    if (const auto failure = failures.find(path); failure != failures.end()) return system_error(path, failure->second);
    out.assign(*content);
    return {};
  }
  Result<std::string> read_link(std::string_view path) override {
    const auto link = links.find(path.substr(std::min(path.size(), kDirectory.size())));
    if (link == links.end()) return system_error(path, EINVAL);
    return link->second;
  }
  Result<void> list_directory(std::string_view path, std::vector<std::string>& names) override {
    calls.emplace_back(path);
    names.clear();
    if (const auto failure = failures.find(path); failure != failures.end()) return system_error(path, failure->second);
    for (const auto& [name, files] : directories) names.push_back(name);
    for (const auto& [name, target] : links) names.push_back(name);
    std::sort(names.begin(), names.end());
    return {};
  }
  Result<void> list_directories(std::string_view path, Buffer& names) override {
    names.clear();
    calls.emplace_back(path);
    if (const auto failure = failures.find(path); failure != failures.end()) return system_error(path, failure->second);
    for (const auto& [name, files] : directories) {
      names.append(name);
      names.append(std::string_view("\0", 1));
    }
    return {};
  }
  Result<void> keep_open(std::string_view path) override {
    if (const auto failure = failures.find(path); failure != failures.end()) return system_error(path, failure->second);
    if (find(path) == nullptr) return system_error(path, ENOENT);
    kept.emplace(path);
    return {};
  }
  [[nodiscard]] std::size_t kept_count() const override { return counts_kept ? kept.size() : 0; }
  [[nodiscard]] bool may_read(std::string_view path) override { return find(path) != nullptr; }

 private:
  static constexpr std::string_view kDirectory = "/sys/kernel/slab/";

  [[nodiscard]] const std::string* find(std::string_view path) const {
    if (path == "/proc/slabinfo") return &slabinfo;
    if (path == "/sys/devices/system/node/online") return nodes.empty() ? nullptr : &nodes;
    if (!path.starts_with(kDirectory)) return nullptr;
    path.remove_prefix(kDirectory.size());
    const std::size_t slash = path.rfind('/');
    if (slash == std::string_view::npos) return nullptr;
    std::string_view name = path.substr(0, slash);
    if (const auto link = links.find(name); link != links.end()) name = link->second;
    const auto directory = directories.find(name);
    if (directory == directories.end()) return nullptr;
    const auto file = directory->second.find(path.substr(slash + 1));
    return file == directory->second.end() ? nullptr : &file->second;
  }

  std::uint32_t cpu_count_;
};

}  // namespace memstat
