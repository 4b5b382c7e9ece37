// SPDX-License-Identifier: BSD-2-Clause
// A partial view: what a reader of /proc cannot see of the machine, and why. The one description for findings, inspections,
// doctor, the page and the API.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace memstat {

/// A part of the machine that a view may lack.
enum class ViewPart : std::uint8_t { kProcesses, kMounts, kNetwork, kIpc, kUsers, kGroups, kMemory };
inline constexpr std::size_t kViewPartCount = 7;

/// A set of parts.
struct ViewParts {
  std::uint8_t bits = 0;

  constexpr ViewParts() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): one part is a set of parts.
  constexpr ViewParts(ViewPart part) : bits(static_cast<std::uint8_t>(1U << static_cast<unsigned>(part))) {}
  [[nodiscard]] constexpr bool has_any_of(ViewParts other) const { return (bits & other.bits) != 0; }
  constexpr bool operator==(const ViewParts&) const = default;
};
constexpr ViewParts operator|(ViewParts a, ViewParts b) {
  ViewParts both;
  both.bits = a.bits | b.bits;
  return both;
}
constexpr ViewParts operator|(ViewPart a, ViewPart b) { return ViewParts(a) | ViewParts(b); }

/// Why a view lacks parts.
enum class ViewReason : std::uint8_t {
  kPidNamespace,
  kHiddenProcesses,  ///< /proc/1 is not readable: mount option hidepid of /proc, or a security module
  kMountNamespace,
  kNetworkNamespace,
  kIpcNamespace,
  kUserNamespace,
  kCgroupNamespace,  ///< /sys/fs/cgroup is a group below the root
  kLxcfs,
  kOtherKernel,  ///< a program that imitates Linux, such as gVisor
  kJail,         ///< FreeBSD's security.jail.jailed
};
inline constexpr std::size_t kViewReasonCount = 10;

/// "pid_namespace": the label of memstat_partial_view and the word in recordings.
std::string_view to_string(ViewReason reason);

/// The reasons for which a view is partial. A default one is the whole machine.
class PartialView {
 public:
  void add(ViewReason reason) { reasons_ |= 1U << static_cast<unsigned>(reason); }
  /// By the name of a reason; unknown names are ignored, because a newer program may have recorded them.
  void add(std::string_view reason);

  [[nodiscard]] bool has(ViewReason reason) const { return (reasons_ >> static_cast<unsigned>(reason) & 1U) != 0; }
  [[nodiscard]] bool is_whole() const { return reasons_ == 0; }
  /// Whether any of these parts is missing.
  [[nodiscard]] bool lacks(ViewParts parts) const { return !of(parts).is_whole(); }
  /// Only the reasons for which any of these parts is missing.
  [[nodiscard]] PartialView of(ViewParts parts) const;

  /// The names of all reasons, separated by blanks; "" for the whole machine.
  [[nodiscard]] std::string names() const;
  /// "seen from inside a container (PID namespace, IPC namespace)"; "" for the whole machine.
  [[nodiscard]] std::string words() const;
  /// What would show the whole machine: "run it in the host's PID namespace (--pid=host, hostPID: true)"; "" likewise.
  [[nodiscard]] std::string permit() const;
  /// words() and permit() in one sentence part.
  [[nodiscard]] std::string words_and_permit() const { return is_whole() ? "" : words() + "; " + permit(); }

  bool operator==(const PartialView&) const = default;

 private:
  std::uint16_t reasons_ = 0;
};

}  // namespace memstat
