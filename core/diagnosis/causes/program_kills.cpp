// SPDX-License-Identifier: BSD-2-Clause
// Kills by programs that free memory before the kernel does: systemd-oomd, oomd, earlyoom, nohang, kubelet. The kernel
// neither counts nor logs them.
#include <algorithm>
#include <array>

#include "core/diagnosis/cause.h"
#include "core/diagnosis/ended.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::program_kills {
namespace {

constexpr std::string_view kProgramKills = "memstat_program_kills_total";
/// Allowed between a kill and the poll that reads it.
constexpr double kJournalSlackSeconds = 5;

/// "stress (pid 1234)".
std::string process_of(const ProgramKillEvidence& kill) {
  return short_name(kill.command.empty() ? "a process" : kill.command, 20) + " (pid " + std::to_string(kill.pid) + ")";
}

/// "earlyoom killed stress (pid 1234) with 4 GiB", "systemd-oomd killed the 12 processes of GROUP".
std::string headline_of(const ProgramKillEvidence& kill) {
  if (!kill.pod.empty()) return kill.program + " evicted the pod " + short_name(kill.pod, 40);
  const std::string with = kill.bytes > 0 ? " with " + bytes_text(kill.bytes) : "";
  if (kill.group.size() > 1 && (kill.pid == 0 || kill.processes > 1)) {
    const std::string whom =
        kill.processes > 0 ? "the " + counted(kill.processes, "process", "processes") + " of " : "group ";
    return kill.program + " killed " + whom + short_name(kill.group, 36) + with;
  }
  return kill.program + " killed " + (kill.pid != 0 ? process_of(kill) : std::string("a process")) + with;
}

/// The services whose messages journalctl shows.
std::string_view service_of(std::string_view program) {
  return program == "kubelet" ? "kubelet -u k3s" : program;  // whichever runs it
}

/// The settings by which a program decides.
struct ProgramSettings {
  std::string_view program;
  std::string_view settings;
};
constexpr std::array<ProgramSettings, 5> kSettings{
    {{"systemd-oomd", "oomd.conf, and ManagedOOMMemoryPressureLimit= of the unit"},
     {"oomd", "the rules in its configuration"},
     {"earlyoom", "its options -m and -s"},
     {"nohang", "its configuration"},
     {"kubelet", "its thresholds evictionHard and evictionSoft"}}};

/// "What would have prevented it: ..."; "": the program is not one of these.
std::string prevention_of(const Evidence& evidence, const ProgramKillEvidence& kill) {
  constexpr double kMuch = 0.25;
  const auto* const found = std::find_if(kSettings.begin(), kSettings.end(),
                                         [&](const ProgramSettings& one) { return one.program == kill.program; });
  if (found == kSettings.end()) return {};
  std::string text =
      "What would have prevented it: other limits of " + kill.program + " (" + std::string(found->settings) + ")";
  if (evidence.share(kill.bytes) >= kMuch) {
    text +=
        ", or less memory for the victim, which held " + bytes_text(kill.bytes) + " of " + bytes_text(evidence.total_bytes);
  }
  return text + ".";
}

bool is_recent(const Evidence& evidence, const ProgramKillEvidence& kill) {
  return kill.seconds_ago.value_or(0) <= evidence.recent_seconds + kJournalSlackSeconds;
}

/// The recent kill of the most memory: what is killed with it, or after it, need not be what took the memory. The last one
/// if none is recent.
const ProgramKillEvidence& worst_kill(const Evidence& evidence) {
  const ProgramKillEvidence* worst = &evidence.program_kills.back();
  if (!is_recent(evidence, *worst)) return *worst;
  for (const ProgramKillEvidence& kill : evidence.program_kills) {
    if (is_recent(evidence, kill) && kill.bytes > worst->bytes) worst = &kill;
  }
  return *worst;
}

std::string victim_of(const ProgramKillEvidence& kill) {
  if (!kill.pod.empty()) return "pod " + short_name(kill.pod, 40);
  return kill.pid != 0 ? process_of(kill) : "group " + short_name(kill.group, 36);
}

void add_facts(const Evidence& evidence, const ProgramKillEvidence& worst, bool is_now, Finding& finding) {
  const auto& kills = evidence.program_kills;
  const ProgramKillEvidence& last = kills.back();
  const auto recent = std::count_if(kills.begin(), kills.end(), [&](const auto& kill) { return is_recent(evidence, kill); });
  const auto count = is_now ? static_cast<double>(recent) : static_cast<double>(kills.size());
  const std::string ago = last.seconds_ago ? ", " + duration_words(*last.seconds_ago) + " ago" : "";
  finding.fact({.text = counted(count, "kill") + " by programs" +
                        (is_now ? " in " + duration_words(evidence.recent_seconds) : " in the journal") +
                        ", the last one by " + last.program + (&worst == &last ? "" : " of " + victim_of(last)) + ago,
                .source = std::string(kProgramKills),
                .value = count,
                .window_seconds = is_now ? evidence.recent_seconds : 0});
  if (!worst.reason.empty()) {
    finding.fact({.text = worst.program + ": " + cut_text(worst.reason, 200), .source = "linux_service_log"});
  }
  if (is_now && evidence.available_bytes) {
    finding.fact({.text = bytes_text(*evidence.available_bytes) + " available now",
                  .source = "memstat_memory_available_bytes",
                  .value = evidence.available_bytes});
  }
}

void look(const Evidence& evidence, const Cause& cause, Findings& found) {
  if (evidence.program_kills.empty()) return;
  const ProgramKillEvidence& last = evidence.program_kills.back();
  const ProgramKillEvidence& worst = worst_kill(evidence);
  const bool is_now = is_recent(evidence, last);
  const std::string ago = last.seconds_ago ? ", " + duration_words(*last.seconds_ago) + " ago" : "";
  Finding& finding = add_finding(found, cause, is_now ? Severity::kNow : Severity::kNotable, Certainty::kConfirmed,
                                 headline_of(worst) + (is_now ? "" : ago));
  finding.killer = worst.program;
  finding.killed = victim_of(worst);
  add_facts(evidence, worst, is_now, finding);
  if (!worst.pod.empty()) finding.by("pod", worst.pod);
  if (worst.pid != 0) finding.by("process", process_of(worst));
  if (worst.group.size() > 1) finding.by("group", worst.group).is_about("memcg", worst.group);
  finding.bytes = worst.bytes;
  finding.is_past = !is_now;
  finding.is_paused = is_now && last.seconds_ago && ended(evidence, Count{.recent = 1, .still = *last.seconds_ago});
  finding.leads_to("A program decided this by its own limits, and not the kernel: memory need not have run out.");
  if (const std::string prevention = prevention_of(evidence, worst); !prevention.empty()) finding.effect += " " + prevention;
  finding.then("memstatctl events").then("journalctl --since -1h -n 50 -u " + std::string(service_of(worst.program)));
  if (worst.program == "systemd-oomd") finding.then("oomctl");
}

constexpr std::array<std::string_view, 1> kNeeds{kProgramKills};
constexpr std::array kCauses{
    Cause{.name = "program_kill",
          .looks_for = "A program such as systemd-oomd, earlyoom or the kubelet killed a process or a group to free memory.",
          .system = CauseSystem::kLinux,
          .needs = kNeeds,
          .look = look}};

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::program_kills
