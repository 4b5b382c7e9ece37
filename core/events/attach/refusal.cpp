// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/attach/refusal.h"

#include <cstdint>
#include <optional>

#include "core/base/text.h"

namespace memstat::events {
namespace {

constexpr std::string_view kNeeds =
    "only root, or a process with CAP_BPF and CAP_PERFMON, may attach to the kernel's events: ";
// Numbers of linux/capability.h.
constexpr unsigned kCapSysAdmin = 21;
constexpr unsigned kCapPerfmon = 38;
constexpr unsigned kCapBpf = 39;

/// The effective capabilities; empty if the text has none.
std::optional<std::uint64_t> capabilities_in(std::string_view status) {
  for (std::string_view line, word; next_line(status, line);) {
    if (!next_word(line, word) || word != "CapEff:" || !next_word(line, word)) continue;
    if (const auto bits = parse_hex_u64(word)) return bits;
  }
  return std::nullopt;
}

/// If the capabilities are unknown, assume that they are held.
bool has(std::optional<std::uint64_t> bits, unsigned number) {
  return !bits || (*bits >> number & 1U) != 0 || (*bits >> kCapSysAdmin & 1U) != 0;
}

}  // namespace

bool has_attach_capabilities(std::string_view status) {
  const auto bits = capabilities_in(status);
  return has(bits, kCapBpf) && has(bits, kCapPerfmon);
}

std::string why_refused(std::string_view status, std::string_view lockdown) {
  std::string why(kNeeds);
  const auto bits = capabilities_in(status);
  if (!has_attach_capabilities(status)) {
    why += "this process lacks ";
    why += has(bits, kCapPerfmon) ? "CAP_BPF" : has(bits, kCapBpf) ? "CAP_PERFMON" : "CAP_BPF and CAP_PERFMON";
    return why + "; start it as root or with them";
  }
  if (lockdown.find("[confidentiality]") != std::string_view::npos) {
    return why +
           "this process has them, but lockdown=confidentiality (/sys/kernel/security/lockdown) forbids programs that "
           "read the kernel's memory; boot with lockdown=integrity or none";
  }
  return why +
         "this process has them, so a security policy (a container's seccomp filter, SystemCallFilter= of a "
         "systemd unit, an LSM) forbids it";
}

}  // namespace memstat::events
