// SPDX-License-Identifier: BSD-2-Clause
#if defined(__linux__)
#include "daemon/privileges/capabilities_linux.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <csignal>
#include <vector>

#include "core/base/text.h"
#include "daemon/privileges/account.h"

namespace memstat {
namespace {

constexpr std::string_view kCallFilterAdvice = "if memstatd runs under a system call filter, allow capset and capget";

/// The kernel's numbers; headers before 5.8 lack the last two.
struct Capability {
  std::string_view name;
  unsigned number;
};
/// The capabilities with which memstatd opens files.
constexpr std::array kNamed{Capability{"CAP_DAC_OVERRIDE", 1}, Capability{"CAP_DAC_READ_SEARCH", 2},
                            Capability{"CAP_SYS_PTRACE", 19},  Capability{"CAP_SYS_ADMIN", 21},
                            Capability{"CAP_SYSLOG", 34},      Capability{"CAP_PERFMON", 38},
                            Capability{"CAP_BPF", 39}};
/// What no helper process may need.
constexpr std::array<std::string_view, 3> kOfDaemon{"CAP_DAC_OVERRIDE", "CAP_SYS_ADMIN", "CAP_SYSLOG"};

using Sets = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

bool get_sets(Sets& sets) {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  return syscall(SYS_capget, &header, sets.data()) == 0;
}

std::uint64_t whole(std::uint32_t low, std::uint32_t high) { return std::uint64_t{high} << 32 | low; }

}  // namespace

std::optional<std::uint64_t> capabilities_of(std::span<const std::string> names) {
  std::uint64_t set = 0;
  for (const std::string& name : names) {
    const auto known =
        std::find_if(kNamed.begin(), kNamed.end(), [&name](const Capability& each) { return each.name == name; });
    const bool is_of_daemon = std::find(kOfDaemon.begin(), kOfDaemon.end(), name) != kOfDaemon.end();
    if (known == kNamed.end() || is_of_daemon) return std::nullopt;
    set |= std::uint64_t{1} << known->number;
  }
  return set;
}

std::string capabilities_text(std::uint64_t capabilities) {
  if (capabilities == 0) return "without capabilities";
  std::vector<std::string_view> names;
  for (const Capability& each : kNamed) {
    const std::uint64_t bit = std::uint64_t{1} << each.number;
    if ((capabilities & bit) != 0) names.push_back(each.name);
    capabilities &= ~bit;
  }
  if (names.size() == kNamed.size()) return "with all capabilities that memstatd uses";
  const int more = std::popcount(capabilities);
  const std::string rest = std::to_string(more) + (more == 1 ? " other capability" : " other capabilities");
  if (more != 0) names.push_back(rest);
  return "with " + join_words(names, " and ");
}

Result<std::uint64_t> permitted_capabilities() {
  Sets sets{};
  if (!get_sets(sets)) return privilege_refused("capget failed", errno, kCallFilterAdvice);
  return whole(sets[0].permitted, sets[1].permitted);
}

void empty_bounding_set(PrivilegeReport& report) {
  int kept = 0;
  for (unsigned long capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
    if (prctl(PR_CAPBSET_READ, capability, 0, 0, 0) == 1 && prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) ++kept;
  }
  if (kept != 0) {
    report.notes.push_back("capabilities: the bounding set keeps " + std::to_string(kept) +
                           " (emptying it takes CAP_SETPCAP); no_new_privs makes them unreachable");
  }
}

Result<void> keep_capabilities(std::uint64_t kept) {
  (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);  // fails only on kernels without an ambient set
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  Sets sets{};
  sets[0].effective = sets[0].permitted = static_cast<std::uint32_t>(kept);
  sets[1].effective = sets[1].permitted = static_cast<std::uint32_t>(kept >> 32);
  if (syscall(SYS_capset, &header, sets.data()) != 0) return privilege_refused("capset failed", errno, kCallFilterAdvice);
  if (!get_sets(sets)) return privilege_refused("capget failed", errno, kCallFilterAdvice);
  const bool is_exact = whole(sets[0].effective, sets[1].effective) == kept &&
                        whole(sets[0].permitted, sets[1].permitted) == kept &&
                        whole(sets[0].inheritable, sets[1].inheritable) == 0;
  if (is_exact) return {};
  return privilege_refused("capabilities remain after capset", 0, "report this with the version of the kernel");
}

void end_with_parent() { (void)::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); }
bool close_from(int first) {
  constexpr long kCloseRange = 436;  // missing from older headers
  return ::syscall(kCloseRange, first, ~0U, 0) == 0;
}

}  // namespace memstat
#endif
