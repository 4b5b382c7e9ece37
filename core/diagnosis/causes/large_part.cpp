// SPDX-License-Identifier: BSD-2-Clause
// Parts of memory that are larger than on healthy machines.
#include <algorithm>
#include <array>

#include "core/diagnosis/holder.h"
#include "core/diagnosis/words.h"
#include "core/model/type_rules.h"

namespace memstat::causes::large_part {
namespace {

struct Part {
  std::string_view name;
  std::string_view part;
  CauseSystem system;
  double share;        ///< share of all memory above which the part is large
  double needs_short;  ///< only while less than this share is available; 1: always
  Severity severity;
  std::string_view headline;  ///< precedes the amount
  std::string_view effect;
  std::string_view next;
  std::string_view next_on_freebsd = {};  ///< "": the same command
  std::string_view inspection = {};       ///< the inspection that names the holder
  std::string_view metric = {};           ///< the metric with the bytes; "": the account
  std::array<std::string_view, 1> needs;
  double most_share = 1;            ///< above this share it is notable even if memory is available
  const Charge* charged = nullptr;  ///< to control groups
  /// Growth since the start, as a share of all memory, that is notable even if memory is available or the part is not large
  /// yet; 0: not examined.
  double gained_share = 0;
  /// Share of all memory that is large if it is also a multiple of what the mapped memory needs; 0: not examined.
  double wasteful_share = 0;
  std::span<const std::string_view> explains = {};
  bool is_usual = false;  ///< it may be as large on healthy machines: possible, and ranked last
};

constexpr std::string_view kMountBytes = "memstat_tmpfs_bytes";
constexpr std::string_view kOtherWired = "wired_other";
constexpr std::string_view kOwn = "kmem";

constexpr std::string_view kBalloonSymptoms[] = {"memory_lost", "memory_low",     "memory_stalls", "direct_reclaim",
                                                 "swap_thrash", "reclaim_thrash", "swap_full"};

/// Locked memory is anonymous as a rule, and says more about it.
constexpr std::string_view kLockedSymptoms[] = {"anonymous_growth"};

/// Queues that programs leave full drop segments.
constexpr std::string_view kQueueSymptoms[] = {"tcp_receive_dropped"};

constexpr std::array kParts{
    Part{
        .name = "page_tables_large",
        .part = "page_tables",
        .system = CauseSystem::kBoth,
        .share = 0.04,
        .needs_short = 1,
        .severity = Severity::kNotable,
        .headline = "Page tables take ",
        .effect = "Memory is mapped in small pages, by many processes or sparsely by one; huge pages would need a fraction.",
        .next = "grep VmPTE /proc/[0-9]*/status | sort -k2 -rn | head",
        .next_on_freebsd = "ps -axo vsz,pid,user,comm | sort -rn | head",
        .inspection = "page-tables",
        .needs = {"account/page_tables"},
        .charged = &kKernelMemory,
        .gained_share = 0.02,
        .wasteful_share = 0.02},
    Part{.name = "kernel_stacks_large",
         .part = "kernel_stacks",
         .system = CauseSystem::kLinux,
         .share = 0.015,
         .needs_short = 1,
         .severity = Severity::kNotable,
         .headline = "Kernel stacks take ",
         .effect = "Each thread has a stack: there are too many threads.",
         .next = "ps -eo nlwp,pid,user,comm --sort=-nlwp | head",
         .inspection = "threads",
         .needs = {"account/kernel_stacks"},
         .charged = &kKernelMemory},
    Part{.name = "percpu_large",
         .part = "percpu",
         .system = CauseSystem::kLinux,
         .share = 0.03,
         .needs_short = 1,
         .severity = Severity::kNotable,
         .headline = "Per-CPU memory takes ",
         .effect = "Usually removed control groups, BPF maps or network namespaces hold it.",
         .next = "memstatctl types --allocator percpu",
         .needs = {"account/percpu"},
         .charged = &kKernelMemory,
         .gained_share = 0.02},
    Part{.name = "vmalloc_large",
         .part = "vmalloc",
         .system = CauseSystem::kLinux,
         .share = 0.05,
         .needs_short = 1,
         .severity = Severity::kNotable,
         .headline = "vmalloc takes ",
         .effect = "A driver or BPF program holds it.",
         .next = "memstatctl types --allocator vmalloc --limit 10",
         .needs = {"account/vmalloc"},
         .charged = &kKernelMemory,
         .gained_share = 0.03},
    Part{.name = "shared_memory_large",
         .part = "shared",
         .system = CauseSystem::kLinux,
         .share = 0.25,
         .needs_short = 0.1,
         .severity = Severity::kWasteful,
         .headline = "tmpfs and shared memory hold ",
         .effect = "Only swapping or deletion frees it. Files there remain when the program that wrote them ends.",
         .next = "df -t tmpfs; ipcs -mp",
         .inspection = "tmpfs",
         .needs = {"account/shared"},
         .most_share = 0.5,
         .charged = &kSharedMemory,
         .gained_share = 0.15},
    Part{.name = "sysv_shm_unattached",
         .part = "shared",
         .system = CauseSystem::kBoth,
         .share = 0.01,
         .needs_short = 1,
         .severity = Severity::kWasteful,
         .headline = "System V segments that no process has attached hold ",
         .effect = "They remain until they are removed. Usually their program was killed.",
         .next = "ipcs -mp; ipcrm -m ID",
         .inspection = "segments",
         .metric = "memstat_sysv_shm_unattached_bytes",
         .needs = {"memstat_sysv_shm_unattached_bytes"},
         .charged = &kSharedMemory},
    Part{.name = "locked_memory",
         .part = "anonymous",
         .system = CauseSystem::kLinux,
         .share = 0.1,
         .needs_short = 1,
         .severity = Severity::kNotable,
         .headline = "Programs have locked ",
         .effect = "It can be neither reclaimed nor swapped out, so everything else shares the rest.",
         .next = "grep VmLck /proc/[0-9]*/status | sort -k2 -rn | head",
         .inspection = "locked",
         .metric = "memstat_locked_bytes",
         .needs = {"memstat_locked_bytes"},
         .charged = &kProgramMemory,
         .gained_share = 0.05,
         .explains = kLockedSymptoms},
    Part{.name = "thp_bloat",
         .part = "anonymous",
         .system = CauseSystem::kLinux,
         .share = 0.25,
         .needs_short = 0.2,
         .severity = Severity::kNotable,
         .headline = "Transparent huge pages take ",
         .effect = "Parts of them that no program has used take memory, too. Which parts is not known.",
         .next = "cat /sys/kernel/mm/transparent_hugepage/enabled",
         .inspection = "anonymous",
         .metric = "memstat_anonymous_huge_bytes",
         .needs = {"memstat_anonymous_huge_bytes"},
         .charged = &kProgramMemory,
         .is_usual = true},
    Part{.name = "sockets_large",
         .part = "sockets",
         .system = CauseSystem::kLinux,
         .share = 0.02,  // tcp_mem begins at 4.7 %
         .needs_short = 1,
         .severity = Severity::kNotable,
         .headline = "Socket buffers hold ",
         .effect = "Programs do not read received data, or peers do not accept sent data.",
         .next = "ss -tmpn | head -40",
         .inspection = "queues",
         .needs = {"account/sockets"},
         .charged = &kSocketMemory,
         .gained_share = 0.01,
         .explains = kQueueSymptoms},
    Part{.name = "tracing_large",
         .part = "tracing",
         .system = CauseSystem::kLinux,
         .share = 0.02,
         .needs_short = 1,
         .severity = Severity::kWasteful,
         .headline = "Trace buffers take ",
         .effect = "Nothing else can use it.",
         .next = "cat /sys/kernel/tracing/buffer_total_size_kb",
         .needs = {"account/tracing"}},
    Part{.name = "gpu_memory_large",
         .part = "gpu",
         .system = CauseSystem::kLinux,
         .share = 0.25,
         .needs_short = 0.1,
         .severity = Severity::kNotable,
         .headline = "Graphics buffers hold ",
         .effect = "A program or the driver keeps them.",
         .next = "grep -l drm /proc/[0-9]*/fdinfo/* | head",
         .needs = {"account/gpu"},
         .most_share = 0.4},
    Part{.name = "balloon_inflated",
         .part = "balloon",
         .system = CauseSystem::kLinux,
         .share = 0.1,
         .needs_short = 0.1,
         .severity = Severity::kWasteful,
         .headline = "The host has taken back ",
         .effect = "Only the host can give it back.",
         .next = "dmesg | grep -i balloon",
         .metric = "memstat_balloon_bytes",
         .needs = {"memstat_balloon_bytes"},
         .most_share = 0.3,
         .gained_share = 0.1,
         .explains = kBalloonSymptoms},
    Part{.name = "memory_poisoned",
         .part = "hardware_corrupted",
         .system = CauseSystem::kLinux,
         .share = 0,
         .needs_short = 1,
         .severity = Severity::kNotable,
         .headline = "Defective memory: the kernel set aside ",
         .effect =
             "A memory module is defective, or a program gave up pages. Programs that used defective pages were killed.",
         .next = "journalctl -k --grep 'Memory failure'",
         .needs = {"account/hardware_corrupted"}},
    Part{.name = "laundry_large",
         .part = "laundry",
         .system = CauseSystem::kFreeBsd,
         .share = 0.2,
         .needs_short = 0.25,
         .severity = Severity::kNotable,
         .headline = "Dirty pages wait for swap: ",
         .effect = "Swap is slow, full or missing.",
         .next = "swapinfo -h",
         .needs = {"account/laundry"}},
    Part{.name = "unswappable_large",
         .part = "unswappable",
         .system = CauseSystem::kFreeBsd,
         .share = 0.1,
         .needs_short = 1,
         .severity = Severity::kNotable,
         .headline = "Pages that could not be swapped out: ",
         .effect = "They stay in memory, because swap is full or missing.",
         .next = "swapinfo -h",
         .needs = {"account/unswappable"}},
    Part{.name = "pv_entries_large",
         .part = "pv_entries",
         .system = CauseSystem::kFreeBsd,
         .share = 0.02,
         .needs_short = 1,
         .severity = Severity::kNotable,
         .headline = "Reverse mappings (pv entries) take ",
         .effect = "Many processes map the same pages.",
         .next = "procstat -av | head -40",
         .needs = {"account/pv_entries"}},
    Part{.name = "kernel_memory_large",
         .part = kOtherWired,
         .system = CauseSystem::kFreeBsd,
         .share = 0.3,
         .needs_short = 0.1,
         .severity = Severity::kWasteful,
         .headline = "Wired memory that is in no zone and no buffer takes ",
         .effect = "A driver, or a virtual machine with a device of its own, holds whole pages.",
         .next = "kldstat; top -b -o res | head -20",
         .needs = {"account/wired_other"}},
    Part{.name = "kernel_memory_large",
         .part = kOwn,
         .system = CauseSystem::kFreeBsd,
         .share = 0.5,
         .needs_short = 0.1,
         .severity = Severity::kWasteful,
         .headline = "The kernel's own memory without the ZFS cache takes ",
         .effect = "It is a leak, or the effect of a setting.",
         .next = "vmstat -z -H | sort -k3 -rn | head",
         .needs = {"account/kmem"}},
};

/// Other wired memory. If the kernel does not report the size of its zones, they are in it, and the ARC is in those.
std::optional<double> other_wired(const Evidence& evidence) {
  const auto bytes = evidence.part(kOtherWired);
  if (!bytes || evidence.part("kmem")) return bytes;
  return *bytes - evidence.value("memstat_zfs_arc_bytes").value_or(0);
}

/// Maps of per-CPU memory. They are in vmalloc; with few processors they are as large as the memory itself.
double percpu_maps(const Evidence& evidence) {
  const TypeEvidence* const maps = evidence.type(Allocator::kVmalloc, "pcpu_create_chunk");
  return maps == nullptr ? 0 : maps->bytes.value_or(0);
}

/// Maps of per-CPU memory, stacks of threads, and code of modules: each is the sum of many.
bool is_own_part(std::string_view function) {
  constexpr std::array<std::string_view, 7> kStacks{"kernel_clone",    "fork_idle",       "_do_fork",    "copy_process",
                                                    "dup_task_struct", "alloc_thread_st", "thread_stack"};
  return function == "pcpu_create_chunk" || function.find("module") != std::string_view::npos ||
         function.starts_with("execmem") ||
         std::any_of(kStacks.begin(), kStacks.end(), [&](std::string_view stack) { return function.starts_with(stack); });
}

/// The function with the most vmalloc memory; nullptr: none that stands out.
const TypeEvidence* largest_caller(const Evidence& evidence) {
  constexpr double kShare = 0.025;
  const TypeEvidence* most = nullptr;
  for (const TypeEvidence& type : evidence.types) {
    if (type.allocator != Allocator::kVmalloc || is_own_part(type.name) || evidence.share(type.bytes.value_or(0)) < kShare)
      continue;
    if (most == nullptr || *type.bytes > *most->bytes) most = &type;
  }
  return most;
}

bool is_of_bpf(std::string_view function) {
  return function.find("bpf_") != std::string_view::npos || function.starts_with("array_map_") ||
         function.starts_with("htab_map_");
}

void name_caller(const TypeEvidence& caller, Finding& finding) {
  finding.by("function", caller.name)
      .is_about("vmalloc", caller.name)
      .fact({.text = short_name(caller.name) + " has " + bytes_text(*caller.bytes) + " of it",
             .source = "vmalloc/" + std::string(caller.name),
             .value = caller.bytes});
  if (is_of_bpf(caller.name)) finding.inspection = "bpf";
}

/// The mount of tmpfs with the most files; nullptr: files are not a large part. The buffers of a database are not in a
/// mount.
const MetricEvidence* largest_mount(const Evidence& evidence, double shared) {
  constexpr double kShare = 0.2;
  double all = 0;
  const MetricEvidence* most = nullptr;
  for (const MetricEvidence& mount : evidence.samples(kMountBytes)) {
    all += mount.value;
    if (most == nullptr || mount.value > most->value) most = &mount;
  }
  return evidence.share(std::min(all, shared)) >= kShare ? most : nullptr;
}

/// Whether files in mounts of all mount namespaces ("tmpfs"), or memory that no process has mapped ("unmapped"), are as
/// large a part.
bool is_much_of(const Evidence& evidence, std::string_view question, double shared) {
  constexpr double kShare = 0.2;
  const InspectionAnswer* const answer = evidence.inspection(question);
  if (answer == nullptr) return false;
  double all = 0;
  for (const Holder& one : answer->holders) all += static_cast<double>(one.bytes.value_or(0));
  return evidence.share(std::min(all, shared)) >= kShare;
}

void name_mount(const MetricEvidence& mount, Finding& finding) {
  finding.by("mount", mount.labels[0])
      .fact({.text = "files in " + short_name(mount.labels[0]) + " have " + bytes_text(mount.value),
             .source = std::string(kMountBytes),
             .value = mount.value});
}

/// The zone, or malloc type, with the most of the kernel's own memory on FreeBSD; nullptr: none has half of it.
const TypeEvidence* largest_own(const Evidence& evidence, double bytes) {
  const auto is_most = [&](const TypeEvidence& type) {
    return (type.allocator == Allocator::kUma || type.allocator == Allocator::kMalloc) &&
           !is_container(type.allocator, type.name) && !is_cache(type.allocator, type.name) &&
           type.bytes.value_or(0) >= bytes / 2;
  };
  const auto found = std::find_if(evidence.types.begin(), evidence.types.end(), is_most);
  return found == evidence.types.end() ? nullptr : &*found;
}

void name_own(const TypeEvidence& type, Finding& finding) {
  finding.headline += ", most of it " + short_name(type.name);
  finding.is_about(to_string(type.allocator), type.name)
      .fact({.text = short_name(type.name) + " has " + bytes_text(*type.bytes) + " in " +
                     count_text(type.objects.value_or(0)) + " objects",
             .source = std::string(to_string(type.allocator)) + "/" + std::string(type.name),
             .value = type.bytes});
}

std::optional<double> bytes_of(const Evidence& evidence, const Part& part) {
  if (part.part == kOtherWired) return other_wired(evidence);
  const auto bytes = part.metric.empty() ? evidence.part(part.part) : evidence.value(part.metric);
  if (bytes && part.part == kOwn) return *bytes - evidence.value("memstat_zfs_arc_bytes").value_or(0);
  return bytes && part.name == "vmalloc_large" ? *bytes - percpu_maps(evidence) : bytes;
}

/// What is said of other wired memory if the kernel does not report the size of its zones.
constexpr Part kAllWired = [] {
  Part part = *std::find_if(kParts.begin(), kParts.end(), [](const Part& one) { return one.part == kOtherWired; });
  part.headline = "Wired memory that is neither the ZFS cache nor a buffer takes ";
  part.effect = "The kernel leaks it, or a driver holds whole pages.";
  part.next = "vmstat -z -H | sort -k3 -rn | head; vmstat -m | sort -k3 -rn | head";
  return part;
}();

/// Whether page tables are several times what one mapping of each page needs.
bool is_multiple(const Evidence& evidence, const Part& part, double bytes) {
  const double entries = evidence.page_bytes / 8;  // in a table of one page
  const double mapped = evidence.part("anonymous").value_or(0) + evidence.part("shared").value_or(0);
  return part.wasteful_share > 0 && evidence.share(bytes) > part.wasteful_share && mapped > 0 &&
         bytes > 3 * mapped / entries;
}

/// The share of the machine's memory. With most drivers a balloon is not in the total; the account has it if it is.
double share_of(const Evidence& evidence, const Part& part, double bytes) {
  const bool is_outside = part.name == "balloon_inflated" && evidence.part(part.part).value_or(0) <= 0;
  return is_outside ? bytes / (evidence.total_bytes + bytes) : evidence.share(bytes);
}

const MetricEvidence* amount_of_part(const Evidence& evidence, const Part& part) {
  return part.metric.empty() ? evidence.sample("memstat_accounted_bytes", part.part) : evidence.sample(part.metric);
}

bool has_gained(const Evidence& evidence, const Part& part) {
  const MetricEvidence* const amount = part.gained_share > 0 ? amount_of_part(evidence, part) : nullptr;
  return amount != nullptr && evidence.share(amount->change.since_start) >= part.gained_share;
}

bool grows(const Evidence& evidence, const Part& part) {
  const MetricEvidence* const amount = evidence.sample("memstat_accounted_bytes", part.part);
  return amount != nullptr && amount->change.recent > 0;
}

/// How urgent a large part is, and how certain that it is why memory is short. As urgent as little memory is, if the part
/// is most of memory.
struct Urgency {
  Severity severity;
  Certainty certainty;
};
Urgency urgency_of(const Part& part, double share, double available, bool is_short, bool gained) {
  constexpr double kMost = 0.5;
  constexpr double kLow = 0.05;  // like memory_low
  constexpr double kVeryLow = 0.02;
  const Severity severity = is_short ? part.severity : Severity::kNotable;
  if (!part.is_usual && share >= kMost && available < kLow) {
    return {.severity = std::min(severity, available < kVeryLow ? Severity::kNow : Severity::kWasteful),
            .certainty = Certainty::kLikely};
  }
  const bool is_likely = part.needs_short < 1 && !part.is_usual && (gained || is_short);
  return {.severity = severity, .certainty = is_likely ? Certainty::kLikely : Certainty::kPossible};
}

/// Where no caller of vmalloc is known, it may be memory of BPF, such as maps.
bool may_be_of_bpf(const Evidence& evidence, double bytes) {
  const InspectionAnswer* const answer = evidence.inspection("bpf");
  if (answer == nullptr) return true;  // to be asked
  double all = 0;
  for (const Holder& one : answer->holders) all += static_cast<double>(one.bytes.value_or(0));
  return all >= bytes / 3;
}

void look_at_part(const Evidence& evidence, const Cause& cause, const Part& part, Findings& found) {
  const auto bytes = bytes_of(evidence, part);
  if (!bytes || *bytes <= 0) return;
  const TypeEvidence* const caller = part.name == "vmalloc_large" ? largest_caller(evidence) : nullptr;
  const MetricEvidence* const mount = part.name == "shared_memory_large" ? largest_mount(evidence, *bytes) : nullptr;
  const bool is_elsewhere = part.name == "shared_memory_large" &&
                            (is_much_of(evidence, "tmpfs", *bytes) || is_much_of(evidence, "unmapped", *bytes));
  const bool is_of_files = mount != nullptr || is_elsewhere;
  const bool stands_out = caller != nullptr || is_of_files;
  const double share = share_of(evidence, part, *bytes);
  // Behind lxcfs the total is the container's and parts are the host's. A part above all memory is address space.
  if (part.name == "memory_poisoned" && evidence.any_line("memory_error_injected") != nullptr) return;  // no defect
  if (part.metric.empty() && (evidence.view.has(ViewReason::kLxcfs) || share > 1)) return;
  const bool gained = has_gained(evidence, part);
  if (share <= part.share && !stands_out && !gained && !is_multiple(evidence, part, *bytes)) return;
  const double available = evidence.available_bytes ? evidence.share(*evidence.available_bytes) : 1;
  const bool is_short = part.needs_short >= 1 || available < part.needs_short;
  if (!is_short && !gained && !is_of_files && share <= part.most_share) return;
  const bool is_sure = part.share == 0 && grows(evidence, part);  // such a part is 0 on a healthy machine
  const Urgency urgency = urgency_of(part, share, available, is_short, gained);
  Finding& finding =
      add_finding(found, cause, urgency.severity, is_sure ? Certainty::kConfirmed : urgency.certainty,
                  std::string(part.headline) + bytes_text(*bytes) + ", " + percent_text(share) + " of all memory");
  finding.fact({.text = bytes_text(*bytes) + " of " + bytes_text(*bytes / share),
                .source = std::string(part.metric.empty() ? "memstat_accounted_bytes" : part.metric),
                .value = bytes,
                .limit = part.share * evidence.total_bytes});
  if (const double maps = percpu_maps(evidence); part.name == "percpu_large" && maps > 0) {
    finding.fact(
        {.text = bytes_text(maps) + " of vmalloc for its maps", .source = "vmalloc/pcpu_create_chunk", .value = maps});
  }
  if (gained) {
    const double gain = amount_of_part(evidence, part)->change.since_start;
    finding.fact({.text = bytes_text(gain) + " more than " + duration_words(evidence.watched_seconds) + " ago",
                  .source = std::string(part.metric.empty() ? "memstat_accounted_bytes" : part.metric),
                  .value = gain,
                  .window_seconds = evidence.watched_seconds});
  }
  if (part.needs_short < 1 && evidence.available_bytes) {
    finding.fact({.text = percent_text(available) + " of memory is available",
                  .source = "memstat_memory_available_bytes",
                  .value = evidence.available_bytes});
  }
  if (!part.is_usual) finding.bytes = *bytes;
  finding.is_about("account", part.part).leads_to(part.effect);
  finding.then(next_step(evidence, part));
  if (caller != nullptr) name_caller(*caller, finding);
  if (const TypeEvidence* const own = part.part == kOwn ? largest_own(evidence, *bytes) : nullptr; own != nullptr)
    name_own(*own, finding);
  if (part.name == "vmalloc_large" && caller == nullptr && may_be_of_bpf(evidence, *bytes)) finding.inspection = "bpf";
  if (mount != nullptr) name_mount(*mount, finding);
  if (part.charged != nullptr) name_holder(evidence, *part.charged, Holds::kNow, *bytes / 3, finding);
}

void look(const Evidence& evidence, const Cause& cause, Findings& found) {
  // Parts with one name are adjacent.
  for (std::size_t row = cause.row; row < kParts.size() && kParts[row].name == cause.name; ++row) {
    const bool is_all = kParts[row].part == kOtherWired && !evidence.part("kmem");
    look_at_part(evidence, cause, is_all ? kAllWired : kParts[row], found);
  }
}

constexpr std::string_view kUses[] = {kGroupKernel, kGroupAnonymous, kGroupParts, kMountBytes};
constexpr std::string_view kSharedUses[] = {kGroupParts, kMountBytes, "who/tmpfs", "who/unmapped"};

constexpr auto kCauses = causes_of<kParts>([](const Part& part) {
  return Cause{.name = part.name,
               .looks_for = "A part of memory is much larger than usual.",
               .system = part.system,
               .needs = part.needs,
               .uses = part.name == "shared_memory_large" ? std::span<const std::string_view>(kSharedUses) : kUses,
               .explains = part.explains,
               .inspection = part.inspection,
               .look = look};
});

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::large_part
