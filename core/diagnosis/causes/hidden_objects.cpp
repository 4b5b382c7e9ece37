// SPDX-License-Identifier: BSD-2-Clause
// Objects of Linux that no process shows: open files without a descriptor, network namespaces without a process.
#include <algorithm>
#include <array>

#include "core/diagnosis/holder.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::hidden_objects {
namespace {

/// Upper bound of the descriptors of all processes: an unlisted process has at most as many as the last listed one.
double descriptors_in(const InspectionAnswer& answer) {
  double sum = 0;
  for (const Holder& holder : answer.holders) sum += static_cast<double>(holder.count.value_or(0));
  if (answer.holders.empty()) return sum;
  return sum + static_cast<double>(answer.unlisted) * static_cast<double>(answer.holders.back().count.value_or(0));
}

/// The process that maps at least half of the hidden files; nullptr: none, or not inspected. Each shared mapping of
/// /dev/zero, and of a file whose descriptor was closed, keeps an open file.
const Holder* mapper(const Evidence& evidence, double hidden) {
  const InspectionAnswer* const answer = evidence.inspection("maps");
  if (answer == nullptr || answer->holders.empty()) return nullptr;
  const Holder& first = answer->holders.front();
  return first.pid != 0 && static_cast<double>(first.count.value_or(0)) >= hidden / 2 ? &first : nullptr;
}

/// A descriptor that processes share counts more than once, so at least this many files are hidden.
void look_at_files(const Evidence& evidence, const Cause& cause, Findings& found) {
  const TypeEvidence* const files = evidence.type(Allocator::kTable, "files");
  const InspectionAnswer* const answer = evidence.inspection("files");
  if (files == nullptr || !files->objects || answer == nullptr || answer->is_partial()) return;
  if (evidence.view.lacks(ViewPart::kProcesses)) return;
  const double hidden = *files->objects - descriptors_in(*answer);
  constexpr double kMany = 1000;
  constexpr double kMappedByProcess = 64;  // libraries, each a file
  const double usual = kMany + kMappedByProcess * static_cast<double>(answer->holders.size() + answer->unlisted);
  if (hidden < usual || hidden < 0.5 * *files->objects) return;
  Finding& finding = add_finding(
      found, cause, Severity::kNotable, Certainty::kLikely,
      count_text(hidden) + " of " + count_text(*files->objects) + " open files are in no descriptor of a process");
  finding.fact({.text = "all processes have " + count_text(*files->objects - hidden) + " descriptors",
                .source = "table/files",
                .value = hidden,
                .limit = usual});
  constexpr double kMinBytes = 200;  // of an open file
  name_holder(evidence, kKernelMemory, Holds::kNow, hidden * kMinBytes / 3, finding);
  finding.is_about("table", "files");
  if (const Holder* const process = mapper(evidence, hidden); process != nullptr) {
    const std::string name = short_name(process->command) + " (pid " + std::to_string(process->pid) + ")";
    finding.by("process", name)
        .fact({.text = name + " has " + counted(static_cast<double>(*process->count), "mapping"),
               .source = "who/maps",
               .value = static_cast<double>(*process->count)});
    finding.leads_to("Shared mappings keep their files open without a descriptor. They are freed when they are unmapped.")
        .then("memstatctl who maps");
    return;
  }
  finding.leads_to("They were sent through Unix sockets and not received, or only mappings or io_uring hold them.")
      .then("ss -xp | awk '$3 > 0'")
      .then("memstatctl who queues");
}

void look_at_namespaces(const Evidence& evidence, const Cause& cause, Findings& found) {
  const TypeEvidence* const spaces = evidence.type(Allocator::kSlab, "net_namespace");
  const auto shown = evidence.inspected_count("quotas", "net namespaces");  // with a process, open or mounted
  if (spaces == nullptr || !spaces->objects || !shown || evidence.view.lacks(ViewPart::kProcesses)) return;
  const double hidden = *spaces->objects - *shown;
  constexpr double kSome = 32;  // others are being removed, or places in a slab
  if (hidden < std::max(kSome, *shown)) return;
  const double gained = spaces->bytes_change.recent;
  Finding& finding =
      add_finding(found, cause, Severity::kNotable, gained > 0 ? Certainty::kLikely : Certainty::kPossible,
                  "No process is in " + count_text(hidden) + " of " + count_text(*spaces->objects) + " network namespaces");
  finding.fact({.text = count_text(*shown) + " namespaces of processes and mounts",
                .source = "slab/net_namespace",
                .value = hidden,
                .limit = kSome});
  name_holder(evidence, kKernelMemory, gained > 0 ? Holds::kGainedLately : Holds::kNow,
              gained > 0 ? gained : spaces->bytes.value_or(0), finding);
  finding.is_about("slab", "net_namespace")
      .leads_to("Mounts in another mount namespace, or sockets, keep them. Each has its own tables and per-CPU memory.")
      .then("lsns -t net")
      .then("grep -l nsfs /proc/[0-9]*/mounts");
}

constexpr std::string_view kFileNeeds[] = {"table/files", "who/files"};
constexpr std::string_view kFileUses[] = {kGroupKernel, "who/maps"};
constexpr std::string_view kFileSymptoms[] = {"file_leak"};  // of a program, which has no descriptor of these
constexpr std::string_view kSpaceNeeds[] = {"slab/net_namespace", "who/quotas"};
constexpr std::string_view kSpaceSymptoms[] = {"cgroup_growth", "slab_leak",     "kmalloc_leak", "table_growth",
                                               "memory_growth", "percpu_growth", "vfs_pinned",   "vmalloc_growth"};
constexpr std::array kCauses{Cause{.name = "files_without_descriptor",
                                   .looks_for = "Most open files are in no descriptor of a process.",
                                   .system = CauseSystem::kLinux,
                                   .needs = kFileNeeds,
                                   .uses = kFileUses,
                                   .explains = kFileSymptoms,
                                   .look = look_at_files},
                             Cause{.name = "namespaces_left",
                                   .looks_for = "Most network namespaces have no process.",
                                   .system = CauseSystem::kLinux,
                                   .needs = kSpaceNeeds,
                                   .uses = kFileUses,
                                   .explains_of_group = kSpaceSymptoms,
                                   .look = look_at_namespaces}};

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::hidden_objects
