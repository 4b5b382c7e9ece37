// SPDX-License-Identifier: BSD-2-Clause
// The running FreeBSD kernel: sysctls by name, and files.
#include "core/kernel/kernel_view.h"

#if defined(__FreeBSD__)

#include <sys/types.h>

#include <sys/param.h>
#include <sys/rctl.h>
#include <sys/resource.h>
#include <sys/sysctl.h>
#include <sys/time.h>
#include <sys/user.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "core/base/fixed_path.h"
#include "core/base/text.h"
#include "core/kernel/live_view.h"
#include "core/kernel/rctl_call.h"
#include "core/kernel/reader_process.h"
#include "core/kernel/sysctl_mib_cache.h"
#include "core/kernel/sysctl_read.h"

namespace memstat {
namespace {

// The sysctl that describes sysctls. Its numbers have no public header; sysctl(8) uses the same ones.
constexpr int kDescribe = 0;
constexpr int kNameOf = 1;
constexpr int kNextAfter = 2;

using Mib = SysctlNumbers;
constexpr std::size_t kMaxMib = CTL_MAXNAME;  // the longest number path of a sysctl
static_assert(kMaxMib == decltype(Mib::numbers){}.size());

/// Fills {0, what, mib...}, a query about `mib`.
std::size_t make_question(int what, const Mib& mib, std::array<int, kMaxMib + 2>& question) {
  question[0] = kDescribe;
  question[1] = what;
  std::copy_n(mib.numbers.begin(), mib.length, question.begin() + 2);
  return mib.length + 2;
}

/// Finds the leaf after `mib` in the kernel's order. Returns false at the end (errno is ENOENT) or on an error.
bool next_leaf(const Mib& mib, Mib& next) {
  std::array<int, kMaxMib + 2> question{};
  const std::size_t length = make_question(kNextAfter, mib, question);
  std::size_t bytes = next.numbers.size() * sizeof(int);
  if (::sysctl(question.data(), static_cast<unsigned>(length), next.numbers.data(), &bytes, nullptr, 0) != 0) return false;
  next.length = bytes / sizeof(int);
  return true;
}

/// Finds the dotted name of `mib`. Returns false on an error, see errno.
bool name_of(const Mib& mib, std::string& name) {
  std::array<int, kMaxMib + 2> question{};
  const std::size_t length = make_question(kNameOf, mib, question);
  std::array<char, 1024> text{};
  std::size_t bytes = text.size();
  if (::sysctl(question.data(), static_cast<unsigned>(length), text.data(), &bytes, nullptr, 0) != 0) return false;
  std::string_view all(text.data(), std::min(bytes, text.size()));
  name = all.substr(0, all.find('\0'));
  return true;
}

bool starts_with(const Mib& mib, const Mib& prefix) {
  return mib.length >= prefix.length &&
         std::equal(prefix.numbers.begin(), prefix.numbers.begin() + static_cast<std::ptrdiff_t>(prefix.length),
                    mib.numbers.begin());
}

/// Like sysctlnametomib(3), but also accepts names like "vm.swap_info.0", whose last number is an argument. Returns 0 or an
/// errno.
int numbers_of(std::string_view name, Mib& path) {
  FixedPath terminated;
  if (!terminated.assign(name)) return EINVAL;
  path.length = path.numbers.size();
  if (::sysctlnametomib(terminated.c_str(), path.numbers.data(), &path.length) == 0) return 0;
  const int failure = errno;
  const std::size_t dot = name.rfind('.');
  const auto argument = dot == std::string_view::npos ? std::nullopt : parse_u64(name.substr(dot + 1));
  if (failure != ENOENT || !argument || *argument > INT_MAX || !terminated.assign(name.substr(0, dot))) return failure;
  path.length = path.numbers.size() - 1;
  if (::sysctlnametomib(terminated.c_str(), path.numbers.data(), &path.length) != 0) return errno;
  path.numbers[path.length++] = static_cast<int>(*argument);
  return 0;
}

std::uint32_t count_cpus() {
  int highest = 0;
  std::size_t bytes = sizeof highest;
  if (::sysctlbyname("kern.smp.maxid", &highest, &bytes, nullptr, 0) == 0 && bytes == sizeof highest && highest >= 0) {
    return static_cast<std::uint32_t>(highest) + 1;
  }
  const long configured = ::sysconf(_SC_NPROCESSORS_CONF);
  return configured > 0 ? static_cast<std::uint32_t>(configured) : 1;
}

class FreeBsdKernelView final : public LiveKernelView {
 public:
  [[nodiscard]] OperatingSystem os() const override { return OperatingSystem::kFreeBsd; }
  [[nodiscard]] std::uint32_t cpu_count() const override { return cpu_count_; }

  Result<void> read_file(std::string_view path, Buffer& out) override {
    return files_.read_file(path, out, ReadManner::kToTheEnd);
  }

  Result<void> read_sysctl(std::string_view name, Buffer& out, std::size_t size_hint) override {
    const auto look_up = [name](Mib& path) { return numbers_of(name, path); };
    return grow_and_retry(name, out, size_hint, [&](void* to, std::size_t* length) {
      const std::size_t room = *length;
      return numbers_.read(name, look_up, [to, length, room](const Mib& path) {
        *length = room;
        return ::sysctl(path.numbers.data(), static_cast<unsigned>(path.length), to, length, nullptr, 0) == 0 ? 0 : errno;
      });
    });
  }

  Result<void> list_sysctls(std::string_view prefix, std::vector<std::string>& names) override {
    names.clear();
    Mib root;  // empty: all
    Mib at;
    if (prefix.empty()) {
      at.numbers[0] = CTL_KERN;  // the first tree after the one that describes sysctls
      at.length = 1;
    } else {
      FixedPath terminated;
      if (!terminated.assign(prefix)) return system_error(prefix.substr(0, 200), EINVAL, "not a sysctl name");
      root.length = root.numbers.size();
      if (::sysctlnametomib(terminated.c_str(), root.numbers.data(), &root.length) != 0) return system_error(prefix, errno);
      at = root;
    }
    Mib next;
    std::string name;
    while (true) {
      if (!next_leaf(at, next)) {
        if (errno == ENOENT) break;  // the end of the list
        return system_error(prefix, errno);
      }
      if (!starts_with(next, root)) break;
      if (name_of(next, name)) names.push_back(name);  // a sysctl may vanish between the two queries
      at = next;
    }
    if (names.empty()) return system_error(prefix, ENOENT, "there is no sysctl below it");
    std::sort(names.begin(), names.end());
    return {};
  }

  Result<void> read_jail_counts(std::string_view jail, Buffer& out) override {
    const std::string subject = "jail:" + std::string(jail) + ":";
    const auto counts = ask_rctl(&::rctl_get_racct, "rctl_get_racct", subject, ',');
    if (!counts) return counts.error();
    const auto rules = ask_rctl(&::rctl_get_rules, "rctl_get_rules", subject);
    if (!rules) return rules.error();
    out.assign(*counts);
    std::string_view rest = *rules;
    for (std::string_view rule; next_line(rest, rule);) {
      if (!rule.starts_with(subject)) continue;
      out.append("\n");
      out.append(rule.substr(subject.size()));
    }
    out.append("\n");
    return {};
  }

 private:
  KeptSysctlNumbers numbers_;
  std::uint32_t cpu_count_ = count_cpus();
};

class FreeBsdProcessStatsReader final : public ProcessStatsReader {
 public:
  explicit FreeBsdProcessStatsReader(pid_t process) : process_(process) {}

  ProcessStats read() override {
    ProcessStats usage;
    usage.cpu_seconds = own_cpu_seconds();
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) usage.max_files = static_cast<std::uint64_t>(limit.rlim_cur);
    std::array<int, 4> self = {CTL_KERN, KERN_PROC, KERN_PROC_PID, static_cast<int>(process_)};
    kinfo_proc process{};
    std::size_t bytes = sizeof process;
    if (::sysctl(self.data(), static_cast<unsigned>(self.size()), &process, &bytes, nullptr, 0) == 0 &&
        bytes == sizeof process) {
      usage.resident_bytes = static_cast<std::uint64_t>(process.ki_rssize) * page_size_;
      usage.virtual_bytes = static_cast<std::uint64_t>(process.ki_size);
      usage.start_time_seconds = seconds_of(process.ki_start);
    }
    usage.open_files = count_descriptors();
    return usage;
  }

 private:
  static std::uint64_t count_descriptors() {
#if defined(KERN_PROC_NFDS)
    std::array<int, 4> question = {CTL_KERN, KERN_PROC, KERN_PROC_NFDS, 0};  // 0: this process
    int count = 0;
    std::size_t bytes = sizeof count;
    if (::sysctl(question.data(), static_cast<unsigned>(question.size()), &count, &bytes, nullptr, 0) == 0 && count > 0) {
      return static_cast<std::uint64_t>(count);
    }
#endif
    return 0;  // a kernel that does not report it
  }

  const pid_t process_;  // times, limits and descriptors are always those of the calling process
  std::uint64_t page_size_ = system_page_size();
};

}  // namespace

Result<std::unique_ptr<KernelView>> make_live_kernel_view() {
  return std::unique_ptr<KernelView>(std::make_unique<FreeBsdKernelView>());
}

std::unique_ptr<ProcessStatsReader> make_process_stats_reader() { return make_process_stats_reader_of(::getpid()); }
std::unique_ptr<ProcessStatsReader> make_process_stats_reader_of(pid_t process) {
  return std::make_unique<FreeBsdProcessStatsReader>(process);
}

}  // namespace memstat

#endif
