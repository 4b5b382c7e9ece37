// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/view_table.h"

#include <algorithm>
#include <cerrno>
#include <set>

#include "core/base/text.h"
#include "core/collect/mount_sizes.h"
#include "core/collect/sysctl_list.h"

namespace memstat {
namespace {

constexpr std::string_view kHead = "view 1";
constexpr std::string_view kEnd = "end";
constexpr std::string_view kLacks = "lacks ";
constexpr std::string_view kOwnSpaces = "/proc/self/ns/";

/// PROC_IPC_INIT_INO and PROC_USER_INIT_INO.
constexpr std::string_view kFirstIpc = "ipc:[4026531839]";
constexpr std::string_view kFirstUser = "user:[4026531837]";
constexpr std::string_view kFirstPid = "pid:[4026531836]";

class Examiner {
 public:
  explicit Examiner(KernelView& machine) : machine_(machine) {}

  std::string examine() {
    if (machine_.os() == OperatingSystem::kFreeBsd) return examine_freebsd();
    if (!has("/proc/self/status")) return {};
    const bool has_host_pids = has_kernel_threads() || is_in_first_pid_space();
    if (!has_host_pids) add("pid_namespace");
    if (!has("/proc/1/stat")) add("hidden_processes");
    if (has_host_pids && lacks_mounts()) add("mount_namespace");
    if (is_in_other_network()) add("network_namespace");
    if (is_other_than("ipc", kFirstIpc)) add("ipc_namespace");
    if (is_other_than("user", kFirstUser)) add("user_namespace");
    if (has("/sys/fs/cgroup/cgroup.events")) add("cgroup_namespace");
    if (has_lxcfs()) add("lxcfs");
    if (has("/proc/meminfo") && !machine_.may_read("/proc/zoneinfo")) add("other_kernel");
    return table();
  }

 private:
  /// Its /proc, if it is mounted, resembles Linux's.
  std::string examine_freebsd() {
    constexpr std::string_view kIsJailed = "security.jail.jailed";
    if (!machine_.read_sysctl(kIsJailed, bytes_, sizeof(std::uint64_t))) return {};
    if (sysctl_number(bytes_.view()).value_or(0) != 0) add("jail");
    return table();
  }

  [[nodiscard]] std::string table() const { return std::string(kHead) + "\n" + lines_ + std::string(kEnd) + "\n"; }
  void add(std::string_view reason) { lines_.append(kLacks).append(reason) += '\n'; }

  /// Valid until the next call.
  std::string_view read(std::string_view path) {
    return machine_.read_file(path, bytes_) ? bytes_.view() : std::string_view();
  }

  bool has(std::string_view path) { return !read(path).empty(); }

  std::string link(std::string_view directory, std::string_view kind) {
    const auto target = machine_.read_link(std::string(directory).append(kind));
    return target ? *target : std::string();
  }

  /// A kernel without that kind of namespace has no link.
  bool is_other_than(std::string_view kind, std::string_view first) {
    const std::string own = link(kOwnSpaces, kind);
    return !own.empty() && own != first;
  }

  /// "2 (kthreadd) S 0 0 0 0 -1 2129984 ...": the ninth word has PF_KTHREAD, which no program can set.
  bool has_kernel_threads() {
    constexpr std::uint64_t kKernelThread = 0x00200000;
    std::string_view rest = read("/proc/2/stat");
    const std::size_t end_of_name = rest.rfind(')');
    if (end_of_name == std::string_view::npos) return false;
    rest.remove_prefix(end_of_name + 1);
    std::string_view word;
    for (int i = 0; i < 7; ++i) {
      if (!next_word(rest, word)) return false;
    }
    return (parse_u64(word).value_or(0) & kKernelThread) != 0;
  }

  /// For a user from whom kernel threads are hidden. "NSpid: 812 1" is process 1 of a namespace below that of /proc.
  bool is_in_first_pid_space() {
    if (link(kOwnSpaces, "pid") != kFirstPid) return false;
    std::string_view rest = read("/proc/self/status");
    std::string_view line;
    while (next_line(rest, line)) {
      constexpr std::string_view kKey = "NSpid:";
      if (!line.starts_with(kKey)) continue;
      line.remove_prefix(kKey.size());
      std::string_view word;
      return next_word(line, word) && !next_word(line, word);
    }
    return true;
  }

  bool is_in_other_network() { return has("/proc/sys/net/core/somaxconn") && !has("/proc/sys/net/core/netdev_budget"); }

  /// The numbers of all mounts.
  static std::set<std::string, std::less<>> numbers_of_mounts(std::string_view mountinfo) {
    std::set<std::string, std::less<>> found;
    std::string_view line;
    std::string_view number;
    while (next_line(mountinfo, line)) {
      if (next_word(line, number)) found.emplace(number);
    }
    return found;
  }

  /// Whether this process is in another mount namespace than process 1, and cannot see all of its mounts of tmpfs,
  /// which hold memory.
  bool lacks_mounts() {
    const std::string own(read("/proc/self/mountinfo"));
    const std::string host(read("/proc/1/mountinfo"));
    if (host.empty()) return false;
    const auto own_numbers = numbers_of_mounts(own);
    for (const std::string& number : numbers_of_mounts(host)) {
      if (own_numbers.contains(number)) return false;
    }
    const std::vector<MountPoint> visible = tmpfs_mounts(own);
    const std::vector<MountPoint> mounts = tmpfs_mounts(host);
    return std::any_of(mounts.begin(), mounts.end(), [&](const MountPoint& mount) {
      return std::none_of(visible.begin(), visible.end(), [&](const MountPoint& one) { return one.device == mount.device; });
    });
  }

  /// "500 400 0:60 /proc/meminfo /proc/meminfo rw - fuse.lxcfs lxcfs rw"
  bool has_lxcfs() {
    std::string_view rest = read("/proc/self/mountinfo");
    std::string_view line;
    while (next_line(rest, line)) {
      if (line.find(" /proc/") != std::string_view::npos && line.find(" - fuse.lxcfs ") != std::string_view::npos)
        return true;
    }
    return false;
  }

  KernelView& machine_;
  Buffer bytes_;
  std::string lines_;
};

}  // namespace

std::string view_table_of(KernelView& machine) { return Examiner(machine).examine(); }

std::optional<std::size_t> read_view_table(std::string_view text, const std::function<void(std::string_view)>& take) {
  constexpr std::size_t kMaxReasons = 32;
  constexpr std::size_t kMaxName = 32;
  std::string_view rest = text;
  std::string_view line;
  const auto offset = [&] { return text.size() - rest.size(); };
  if (!next_line(rest, line) || line != kHead) return 0;
  for (std::size_t count = 0; count <= kMaxReasons; ++count) {
    const std::size_t at = offset();
    if (!next_line(rest, line)) return at;
    if (line == kEnd) return rest.empty() && text.ends_with('\n') ? std::nullopt : std::optional(at);
    if (!line.starts_with(kLacks)) return at;
    const std::string_view reason = line.substr(kLacks.size());
    const bool is_name = reason.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos;
    if (reason.empty() || reason.size() > kMaxName || !is_name) return at;
    take(reason);
  }
  return offset();
}

std::vector<std::string> view_reasons(KernelView& machine) {
  std::vector<std::string> reasons;
  ViewTable table;
  Buffer text;
  if (!machine.read_table("linux_view", table, text)) return reasons;
  // A damaged table has the reasons before the damage.
  (void)read_view_table(text.view(), [&](std::string_view reason) { reasons.emplace_back(reason); });
  return reasons;
}

Result<void> ViewTable::open() { return system_error("/proc/self", ENOENT); }

Result<void> ViewTable::open_on(KernelView& machine) {
  text_ = view_table_of(machine);
  return text_.empty() ? open() : Result<void>();
}

Result<void> ViewTable::read_on(KernelView& machine, Buffer& out) {
  if (text_.empty()) {
    if (auto opened = open_on(machine); !opened) return opened;
  }
  out.assign(text_);
  return {};
}

}  // namespace memstat
