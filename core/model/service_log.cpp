// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/service_log.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/text.h"

namespace memstat {
namespace {

using log_text::between;
using log_text::between_last;
using log_text::digits_behind;

constexpr std::string_view kSystemdOomd = "systemd-oomd";
constexpr std::string_view kOomd = "oomd";
constexpr std::string_view kEarlyoom = "earlyoom";
constexpr std::string_view kNohang = "nohang";
constexpr std::string_view kKubelet = "kubelet";

/// Names of units as the programs' packages have them. K3s and MicroK8s run the kubelet in their own process.
struct KillerUnit {
  std::string_view unit;
  std::string_view program;
};
constexpr std::array<KillerUnit, 9> kUnits{{{"systemd-oomd.service", kSystemdOomd},
                                            {"oomd.service", kOomd},
                                            {"earlyoom.service", kEarlyoom},
                                            {"nohang.service", kNohang},
                                            {"nohang-desktop.service", kNohang},
                                            {"kubelet.service", kKubelet},
                                            {"k3s.service", kKubelet},
                                            {"k3s-agent.service", kKubelet},
                                            {"snap.microk8s.daemon-kubelite.service", kKubelet}}};
constexpr auto kUnitNames = [] {
  std::array<std::string_view, kUnits.size()> names{};
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kUnits[i].unit;
  return names;
}();

/// Between the line of systemd-oomd and that of systemd about the same kill, in either order.
constexpr std::uint64_t kMaxApartUs = 10'000'000;
/// For as long, earlyoom's signals to one process are one kill. It waits 10 s after each.
constexpr std::uint64_t kMaxRepeatUs = 60'000'000;

constexpr std::string_view kUnitKilled = ": systemd-oomd killed ";      // behind the unit
constexpr std::string_view kTrying = "Trying to kill /sys/fs/cgroup/";  // oomd
constexpr std::string_view kSending = "sending SIG";                    // earlyoom
constexpr std::string_view kVictim = " to the victim";                  // nohang
constexpr std::string_view kEvicted = "evicted successfully";           // kubelet

/// Removes "[../src/oomd/plugins/BaseKillPlugin.cpp:96] ".
std::string_view without_place(std::string_view line) {
  if (!line.starts_with('[')) return line;
  const std::size_t end = line.find("] ");
  return end == std::string_view::npos ? line : line.substr(end + 2);
}

/// The control group in "Killed GROUP due to REASON", or since systemd 259 "Marked GROUP for killing due to REASON". The
/// last " due to " counts, since the group's name may contain one.
struct OomdLine {
  std::string_view group;
  std::string_view reason;
};
OomdLine read_systemd_oomd(std::string_view line) {
  constexpr std::string_view kDueTo = " due to ";
  constexpr std::string_view kForKilling = " for killing";
  const bool is_marked = line.starts_with("Marked /");
  if (!is_marked && !line.starts_with("Killed /")) return {};
  const std::size_t at = line.rfind(kDueTo);
  if (at == std::string_view::npos) return {};
  std::string_view group = line.substr(0, at);
  group.remove_prefix(group.find('/'));
  if (is_marked && !group.ends_with(kForKilling)) return {};
  if (is_marked) group.remove_suffix(kForKilling.size());
  return {.group = group, .reason = line.substr(at + kDueTo.size())};
}

/// Whether a line of systemd is about the unit that is this group.
bool is_about(std::string_view systemd_line, std::string_view group) {
  const std::string_view unit = systemd_line.substr(0, systemd_line.find(kUnitKilled));
  return !unit.empty() && group.ends_with(unit) && group.size() > unit.size() &&
         group[group.size() - unit.size() - 1] == '/';
}

constexpr std::string_view kEvictionFile = "eviction_manager.go:";

/// The message of the eviction manager, without klog's header "I0902 15:20:12.963531   18530 eviction_manager.go:237] ";
/// "" for other lines.
std::string_view eviction_message(std::string_view line) {
  const std::size_t at = line.find(kEvictionFile);
  const std::size_t end = line.find("] ");
  constexpr std::size_t kMaxHeader = 80;
  return at < end && end <= kMaxHeader ? line.substr(end + 2) : std::string_view();
}

/// "pod" of 'pod="NAMESPACE/NAME"', and before 1.20 of 'pod NAME_NAMESPACE(UID) is evicted successfully'.
std::string pod_of(std::string_view line) {
  const std::string_view pod = between(line, "pod=\"", "\"");
  if (!pod.empty()) return std::string(pod);
  const std::string_view old = between(line, "manager: pod ", "(");
  const std::size_t place = old.find('_');
  if (place == std::string_view::npos) return std::string(old);
  return std::string(old.substr(place + 1)) + "/" + std::string(old.substr(0, place));
}

/// "sending SIGTERM to process 397 uid 61876 "NAME": badness 0, VmRSS 1 MiB"; without uid before 1.6, and since 1.8
/// '"NAME": oom_score 0, VmRSS 1 MiB, cmdline "..."'.
void add_earlyoom_fields(std::string_view line, std::string_view reason, LogFieldList& fields) {
  fields.add("signal", between(line, "sending ", " to process "));
  fields.add_number("pid", digits_behind(line, " to process "));
  const std::string_view name = between(line, " \"", "");
  const std::size_t end = std::min(name.find("\": badness "), name.find("\": oom_score "));
  if (end == std::string_view::npos) return;
  fields.add_number("uid", digits_behind(line.substr(0, line.find(" \"")), " uid "));
  fields.add("command", name.substr(0, end));
  fields.add_number("bytes", digits_behind(name.substr(end), ", VmRSS "), std::uint64_t{1} << 20);
  fields.add("reason", reason.starts_with("low memory! ") ? reason.substr(12) : reason);
}

void add_nohang_fields(const LoggedEvent& event, std::string_view line, LogFieldList& fields) {
  fields.add("signal", between(line, "Sending ", kVictim));
  std::string_view reason;
  for (const std::string_view more : event.more) {
    if (more.starts_with("PID:")) {
      fields.add_number("pid", trim(between(more, "PID:", ",")));
      const std::size_t end = std::min(more.rfind(", badness: "), more.rfind(", state: "));
      fields.add("command", between(more.substr(0, end), "ame: ", ""));  // "Name" if a table of processes precedes it
    } else if (more.starts_with("Vm, MiB: ")) {
      fields.add_number("bytes", digits_behind(more, ", RSS: "), std::uint64_t{1} << 20);
    } else if (more.starts_with("cgroup_v2: /") && more.size() > std::string_view("cgroup_v2: /").size()) {
      fields.add("group", more.substr(std::string_view("cgroup_v2: ").size()));
    } else if (more.find(" <= ") != std::string_view::npos || more.find(" >= ") != std::string_view::npos) {
      reason = more;
    }
  }
  fields.add("reason", reason);
}

void add_oomd_fields(const LoggedEvent& event, std::string_view line, LogFieldList& fields) {
  constexpr std::string_view kKernelKill = " with cgroup.freeze and cgroup.kill";
  std::string_view group = line.substr(kTrying.size() - 1);
  if (group.ends_with(kKernelKill)) group.remove_suffix(kKernelKill.size());
  fields.add("group", group);
  for (const std::string_view more : event.more) {
    fields.add("reason", between_last(more, " based on ", ""));
    fields.add_number("bytes", digits_behind(between_last(more, "\" (", "MB) based on "), ""), std::uint64_t{1} << 20);
    if (!more.starts_with("Killed ")) continue;
    fields.add_number("processes", digits_behind(more, "Killed "));
    fields.add_number("pid", digits_behind(more, ": "));
    fields.add("command", between(more, "(", ")"));
  }
}

}  // namespace

std::span<const std::string_view> killer_units() { return kUnitNames; }

void ServiceLogBook::add(std::string_view unit, std::uint64_t time_us, std::string_view message) {
  const std::string_view line = trim(message).substr(0, KernelLogBook::kMaxLine);
  if (line.empty()) return;
  if (unit == kSystemdUnit) return add_systemd(time_us, line);
  const auto* const killer =
      std::find_if(kUnits.begin(), kUnits.end(), [&](const KillerUnit& one) { return one.unit == unit; });
  if (killer == kUnits.end()) return;
  if (killer->program == kSystemdOomd) add_systemd_oomd(time_us, line);
  if (killer->program == kOomd) add_oomd(time_us, line);
  if (killer->program == kEarlyoom) add_earlyoom(time_us, line);
  if (killer->program == kNohang) add_nohang(time_us, line);
  if (killer->program == kKubelet) add_kubelet(time_us, line);
}

/// `reason`: another line; "": none.
void ServiceLogBook::begin(std::string_view program, std::uint64_t time_us, std::string_view line, std::string_view reason) {
  finish();
  last_ = Kill{.program = program, .time_us = time_us, .line = std::string(line)};
  if (!reason.empty()) last_->more.emplace_back(reason);
}

void ServiceLogBook::finish() {
  if (!last_) return;
  const Kill kill = *std::exchange(last_, std::nullopt);
  const std::vector<std::string_view> more(kill.more.begin(), kill.more.end());
  book_.add(LogEvent::kProgramKill, kill.time_us, std::string(kill.program) + ": " + kill.line, more);
}

void ServiceLogBook::add_systemd(std::uint64_t time_us, std::string_view line) {
  if (line.find(kUnitKilled) == std::string_view::npos) return;
  if (last_ && last_->program == kSystemdOomd && last_->more.empty() && time_us - last_->time_us <= kMaxApartUs &&
      is_about(line, read_systemd_oomd(last_->line).group)) {
    last_->more.emplace_back(line);
    return;
  }
  systemd_line_ = line;
  systemd_time_us_ = time_us;
}

void ServiceLogBook::add_systemd_oomd(std::uint64_t time_us, std::string_view line) {
  const OomdLine kill = read_systemd_oomd(line);
  if (kill.group.empty()) return;
  const bool is_same = time_us - systemd_time_us_ <= kMaxApartUs && is_about(systemd_line_, kill.group);
  begin(kSystemdOomd, time_us, line, is_same ? systemd_line_ : std::string());
  if (is_same) systemd_line_.clear();
}

void ServiceLogBook::add_oomd(std::uint64_t time_us, std::string_view whole_line) {
  const std::string_view line = without_place(whole_line);
  const bool is_last = last_ && last_->program == kOomd;
  if (line.starts_with("Picked \"") && line.find(" based on ") != std::string_view::npos) {
    reason_of_oomd_ = line;
  } else if (line.starts_with(kTrying)) {
    begin(kOomd, time_us, line, std::exchange(reason_of_oomd_, {}));
  } else if (is_last && line.starts_with("Killed 0:")) {
    drop();
  } else if (is_last && line.starts_with("Killed ")) {
    last_->more.emplace_back(line);
    finish();
  }
}

void ServiceLogBook::add_earlyoom(std::uint64_t time_us, std::string_view line) {
  const bool is_last = last_ && last_->program == kEarlyoom;
  if (line.starts_with("low memory! ")) {
    reason_of_earlyoom_ = line;
  } else if (line.starts_with(kSending) && line.find(" to process ") != std::string_view::npos) {
    const std::string_view pid = digits_behind(line, " to process ");
    const bool is_repeated = pid == earlyoom_pid_ && time_us - earlyoom_time_us_ <= kMaxRepeatUs;
    earlyoom_pid_ = pid;
    earlyoom_time_us_ = time_us;
    const std::string reason = std::exchange(reason_of_earlyoom_, {});
    if (!is_repeated) begin(kEarlyoom, time_us, line, reason);
  } else if (is_last && (line.starts_with("dryrun, ") ||
                         (line.starts_with("kill failed: ") && line.find("Timer expired") == std::string_view::npos))) {
    earlyoom_pid_.clear();
    drop();
  }
}

void ServiceLogBook::add_nohang(std::uint64_t time_us, std::string_view line) {
  constexpr std::size_t kMaxLinesOfVictim = kMaxMoreLines - 1;
  const bool is_last = last_ && last_->program == kNohang;
  if (line.starts_with("Memory status that requires")) {
    reason_of_nohang_.clear();
  } else if (reason_of_nohang_.empty() && line.starts_with("MemAvailable [")) {
    reason_of_nohang_ = line;
  } else if (line.starts_with("Current PSI metric value") || line.starts_with("MemUsedZram [")) {
    reason_of_nohang_ = line;
  } else if (line.starts_with("PID:")) {
    // First with the badness, then with the state, if the configuration says so.
    const bool is_selected = line.find(", badness: ") != std::string_view::npos;
    if (is_selected) victim_of_nohang_.clear();
    if (victim_of_nohang_.empty()) victim_of_nohang_.emplace_back(line);
  } else if (line.starts_with("Vm, MiB: ") || line.starts_with("cgroup_v2: ")) {
    if (victim_of_nohang_.size() < kMaxLinesOfVictim) victim_of_nohang_.emplace_back(line);
  } else if (line.starts_with("Sending SIG") && line.ends_with(kVictim)) {
    begin(kNohang, time_us, line, reason_of_nohang_);
    for (std::string& one : victim_of_nohang_) last_->more.push_back(std::move(one));
    victim_of_nohang_.clear();
  } else if (is_last && (line.starts_with("Cannot send a signal") || line.starts_with("Selected process died"))) {
    drop();
  }
}

/// Evictions for lack of disk space, inodes or process numbers are no lack of memory. The line before says what the kubelet
/// must reclaim: '"Eviction manager: must evict pod(s) to reclaim" resourceName="memory"', before 1.20 'eviction manager:
/// must evict pod(s) to reclaim memory'.
void ServiceLogBook::add_kubelet(std::uint64_t time_us, std::string_view whole_line) {
  const std::string_view line = eviction_message(whole_line);
  if (line.find("to reclaim") != std::string_view::npos) {
    const bool is_memory = line.ends_with(" memory") || line.find("resourceName=\"memory\"") != std::string_view::npos;
    reason_of_kubelet_ = is_memory ? line : std::string_view();
  } else if (line.find(kEvicted) != std::string_view::npos && !reason_of_kubelet_.empty()) {
    begin(kKubelet, time_us, line, reason_of_kubelet_);
  }
}

void add_program_kill(const LoggedEvent& event, LogFieldList& fields) {
  const std::size_t at = std::min(event.text.find(": "), event.text.size());
  const std::string_view program = event.text.substr(0, at);
  const std::string_view line = at == event.text.size() ? std::string_view() : event.text.substr(at + 2);
  fields.add("program", program);
  if (program == kSystemdOomd) {
    const OomdLine kill = read_systemd_oomd(line);
    fields.add("group", kill.group);
    fields.add_number("processes", digits_behind(event.more[0], kUnitKilled));
    fields.add("reason", kill.reason);
  } else if (program == kOomd && line.starts_with(kTrying)) {
    add_oomd_fields(event, line, fields);
  } else if (program == kEarlyoom) {
    add_earlyoom_fields(line, event.more[0], fields);
  } else if (program == kNohang) {
    add_nohang_fields(event, line, fields);
  } else if (program == kKubelet) {
    fields.add("pod", pod_of(line));
    if (!event.more[0].empty()) fields.add("reason", "it must reclaim memory of the node");
  }
}

}  // namespace memstat
