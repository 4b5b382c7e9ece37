// SPDX-License-Identifier: BSD-2-Clause
// Steady growth, named by its usual cause. The evidence does not contain steps, cycles, start-up or caches.
#include <algorithm>
#include <array>

#include "core/diagnosis/growth_ranking.h"
#include "core/diagnosis/holder.h"
#include "core/diagnosis/limit_state.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::growth {
namespace {

constexpr std::string_view kUnaccountedGrowth = "unaccounted_growth";
constexpr std::string_view kUnknownGrowth = "memory_growth";

struct Kind {
  std::string_view name;
  CauseSystem system = CauseSystem::kBoth;  ///< of the first row with this name
  std::string_view allocator;
  std::array<std::string_view, 8> types;  ///< names, or prefixes with a trailing '*'
  std::string_view what;                  ///< for the headline; "": the type's own name
  std::string_view effect;
  std::string_view next;
  std::string_view next_on_freebsd = {};  ///< "": the same command
  std::string_view inspection = {};       ///< the inspection that names the holder
  std::string_view runbook;
  double brings = 1;  ///< all memory that each object needs, as a multiple of its own size
};

/// In order: the first kind that matches a type applies.
constexpr std::array kKinds{
    Kind{.name = "network_namespace_growth",
         .system = CauseSystem::kLinux,
         .allocator = "slab",
         .types = {"net_namespace"},
         .what = "Network namespaces",
         .effect = "Namespaces are created and not removed. Each has its own tables and threads.",
         .next = "lsns -t net",
         .runbook = "MemstatLeakSuspected",
         .brings = 20},
    Kind{.name = "bpf_memory",
         .system = CauseSystem::kLinux,
         .allocator = "vmalloc",
         .types = {"bpf_*", "__bpf_*", "array_map_alloc*", "htab_map_alloc*"},
         .what = "BPF maps and programs",
         .effect = "A program keeps loading them, or pins them in /sys/fs/bpf.",
         .next = "bpftool map; ls /sys/fs/bpf",
         .inspection = "bpf",
         .runbook = "MemstatLeakSuspected"},
    Kind{.name = "file_leak",
         .allocator = "table",
         .types = {"files"},
         .what = "Open files",
         .effect = "A program opens files or sockets without closing them.",
         .next = "for p in /proc/[0-9]*; do echo $(ls $p/fd 2>/dev/null | wc -l) $p $(cat $p/comm); done | sort -rn | head",
         .next_on_freebsd = "fstat | awk '{print $2, $3}' | sort | uniq -c | sort -rn | head",
         .inspection = "files",
         .runbook = "MemstatFileHandles"},
    Kind{.name = "file_leak",
         .allocator = "slab",
         .types = {"filp", "filp_*"},
         .what = "Open files",
         .effect = "A program opens files or sockets without closing them.",
         .next = "for p in /proc/[0-9]*; do echo $(ls $p/fd 2>/dev/null | wc -l) $p $(cat $p/comm); done | sort -rn | head",
         .runbook = "MemstatFileHandles"},
    Kind{.name = "thread_growth",
         .allocator = "table",
         .types = {"threads", "processes"},
         .what = "Threads",
         .effect = "A program starts threads or processes without ending them, or does not wait for those that have ended "
                   "(zombies).",
         .next = "ps -eo nlwp,pid,user,comm --sort=-nlwp | head; ps -eo stat,ppid | grep ^Z | sort | uniq -c | sort -rn | "
                 "head -3",
         .next_on_freebsd = "ps -axo nlwp,pid,user,comm | sort -rn | head",
         .inspection = "threads",
         .runbook = "MemstatLeakSuspected"},
    Kind{.name = "thread_growth",
         .allocator = "slab",
         .types = {"task_struct", "pid", "thread_stack", "signal_cache"},
         .what = "Threads",
         .effect = "A program starts threads or processes without ending them, or does not wait for those that have ended "
                   "(zombies).",
         .next = "ps -eo nlwp,pid,user,comm --sort=-nlwp | head; ps -eo stat,ppid | grep ^Z | sort | uniq -c | sort -rn | "
                 "head -3",
         .runbook = "MemstatLeakSuspected"},
    Kind{.name = "thread_growth",
         .allocator = "account",
         .types = {"kernel_stacks"},
         .what = "Kernel stacks",
         .effect = "A program starts threads or processes without ending them, or does not wait for those that have ended "
                   "(zombies).",
         .next = "ps -eo nlwp,pid,user,comm --sort=-nlwp | head; ps -eo stat,ppid | grep ^Z | sort | uniq -c | sort -rn | "
                 "head -3",
         .runbook = "MemstatLeakSuspected"},
    Kind{.name = "packets_held",
         .system = CauseSystem::kLinux,
         .allocator = "slab",
         .types = {"skbuff_*", "skb_*"},
         .what = "Packets and unread data of sockets",
         .effect = "Sockets that nobody reads (TCP, UDP or Unix), a queue or a driver hold them.",
         .next = "ss -tumpn | head -20; ss -xmp | sort -k3 -rn | head -10; tc -s qdisc | head -20",
         .inspection = "queues",
         .runbook = "MemstatLeakSuspected"},
    Kind{.name = "cgroups_left",
         .system = CauseSystem::kLinux,
         .allocator = "slab",
         .types = {"kernfs_node_cache"},
         .what = "Files of control groups and devices",
         .effect = "Control groups or devices are created and not removed. Each has files and per-CPU memory.",
         .next = "find /sys/fs/cgroup -type d | sed 's,/[^/]*$,,' | sort | uniq -c | sort -rn | head",
         .runbook = "MemstatLeakSuspected"},
    Kind{.name = "vfs_pinned",
         .system = CauseSystem::kLinux,
         .allocator = "table",
         .types = {"dentries", "inodes"},
         .what = "Names and inodes in use",
         .effect = "Files in tmpfs or open files hold them, so the kernel cannot reclaim them.",
         .next = "df -i -t tmpfs",
         .runbook = "MemstatLeakSuspected"},
    Kind{.name = "vfs_pinned",
         .allocator = "slab",
         .types = {"dentry", "inode_cache", "shmem_inode_cache*", "ext4_inode_cache", "xfs_inode"},
         .what = "Names and inodes in use",
         .effect = "Files in tmpfs or open files hold them, so the kernel cannot reclaim them.",
         .next = "df -i -t tmpfs",
         .runbook = "MemstatLeakSuspected"},
    Kind{.name = "table_growth",
         .allocator = "table",
         .types = {"*"},
         .what = "",
         .effect = "Entries are created and not freed.",
         .next = "memstatctl limits",
         .runbook = "MemstatLimitWithinADay"},
    Kind{.name = "kmalloc_leak",
         .system = CauseSystem::kLinux,
         .allocator = "slab",
         .types = {"kmalloc-*", "dma-kmalloc-*"},
         .what = "",
         .effect = "One function of the kernel allocates without freeing.",
         .next = "memstatctl origins --limit 10",
         .runbook = "MemstatLeakSuspected"},
    Kind{.name = "notify_queue",
         .system = CauseSystem::kLinux,
         .allocator = "slab",
         .types = {"fanotify_path_event", "fanotify_fid_event", "fanotify_fh_event", "fanotify_event*",
                   "fanotify_perm_event"},
         .what = "Unread events of files",
         .effect = "A program that watches files with fanotify does not read its events.",
         .next = "grep -l fanotify /proc/[0-9]*/fdinfo/* | head",
         .runbook = "MemstatLeakSuspected"},
    Kind{.name = "slab_leak",
         .system = CauseSystem::kLinux,
         .allocator = "slab",
         .types = {"*"},
         .what = "",
         .effect = "Its objects are created and not freed, and the kernel cannot reclaim them.",
         .next = "memstatctl origins --limit 10",
         .runbook = "MemstatLeakSuspected"},
    Kind{.name = "percpu_growth",
         .system = CauseSystem::kLinux,
         .allocator = "vmalloc",
         .types = {"pcpu_create_chunk", "pcpu_get_vm_areas*"},
         .what = "Per-CPU memory",
         .effect = "Removed control groups, BPF maps or network namespaces remain.",
         .next = "ls /sys/fs/bpf; lsns -t net",
         .runbook = "MemstatLeakSuspected"},
    Kind{.name = "percpu_growth",
         .allocator = "account",
         .types = {"percpu"},
         .what = "Per-CPU memory",
         .effect = "Removed control groups, BPF maps or network namespaces remain.",
         .next = "ls /sys/fs/bpf; lsns -t net",
         .runbook = "MemstatLeakSuspected"},
    Kind{.name = "percpu_growth",
         .allocator = "percpu",
         .types = {"*"},
         .what = "Per-CPU memory",
         .effect = "Removed control groups, BPF maps or network namespaces remain.",
         .next = "ls /sys/fs/bpf; lsns -t net",
         .runbook = "MemstatLeakSuspected"},
    Kind{.name = "vmalloc_growth",
         .system = CauseSystem::kLinux,
         .allocator = "vmalloc",
         .types = {"*"},
         .what = "",
         .effect = "The kernel function with this name holds it.",
         .next = "memstatctl types --allocator vmalloc --limit 10",
         .runbook = "MemstatLeakSuspected"},
    Kind{.name = "cgroup_growth",
         .system = CauseSystem::kLinux,
         .allocator = "memcg",
         .types = {"*"},
         .what = "",
         .effect = "At its limit the kernel kills a process of the group.",
         .next = "systemd-cgtop --order=memory --iterations=1 -n 1 | head",
         .runbook = "MemstatControlGroupKernelGrowth"},
    Kind{.name = "anonymous_growth",
         .allocator = "account",
         .types = {"anonymous", "active"},
         .what = "Program memory",
         .effect = "A program uses more and more memory.",
         .next = "ps -eo rss,pid,user,comm --sort=-rss | head",
         .next_on_freebsd = "ps -axo rss,pid,user,comm | sort -rn | head",
         .inspection = "anonymous",
         .runbook = "MemstatKernelMemoryGoneInADay"},
    Kind{.name = "shared_memory_growth",
         .system = CauseSystem::kLinux,
         .allocator = "account",
         .types = {"shared"},
         .what = "tmpfs and shared memory",
         .effect = "Files in tmpfs or shared memory pile up.",
         .next = "df -t tmpfs; ipcs -mp",
         .inspection = "tmpfs",
         .runbook = "MemstatLeakSuspected"},
    Kind{.name = "socket_memory_growth",
         .system = CauseSystem::kLinux,
         .allocator = "account",
         .types = {"sockets"},
         .what = "Socket buffers",
         .effect = "Programs do not read received data, or peers do not accept sent data.",
         .next = "ss -tmpn | head -40",
         .inspection = "queues",
         .runbook = "MemstatSocketPressure"},
    Kind{.name = "socket_memory_growth",
         .allocator = "socket",
         .types = {"*"},
         .what = "Socket buffers",
         .effect = "Programs do not read received data, or peers do not accept sent data.",
         .next = "ss -tmpn | head -40",
         .inspection = "queues",
         .runbook = "MemstatSocketPressure"},
    Kind{.name = kUnaccountedGrowth,
         .allocator = "account",
         .types = {"unaccounted"},
         .what = "Unaccounted memory",
         .effect = "A driver, a pipe, a ring buffer or a hypervisor holds whole pages.",
         .next = "memstatctl origins --limit 10; lsmod | head -40",
         .next_on_freebsd = "kldstat; memstatctl types --sort bytes --limit 15",
         .inspection = "rings",
         .runbook = "MemstatUnaccountedGrowth"},
    Kind{.name = "page_table_growth",
         .allocator = "account",
         .types = {"page_tables", "secondary_page_tables"},
         .what = "Page tables",
         .effect = "Processes map more and more memory.",
         .next = "grep VmPTE /proc/[0-9]*/status | sort -k2 -rn | head",
         .next_on_freebsd = "ps -axo vsz,pid,user,comm | sort -rn | head",
         .inspection = "page-tables",
         .runbook = "MemstatLeakSuspected"},
    Kind{.name = kUnknownGrowth,
         .allocator = "account",
         .types = {"*"},
         .what = "",
         .effect = "memstatd cannot determine what holds it.",
         .next = "memstatctl leaks",
         .runbook = "MemstatLeakSuspected"},
    Kind{.name = "kqueue_growth",
         .system = CauseSystem::kFreeBsd,
         .allocator = "malloc",
         .types = {"kqueue"},
         .what = "Events that kqueues watch",
         .effect = "A program adds events to a kqueue without deleting them.",
         .next = "fstat | awk '$5 == \"[kqueue]\"' | sort | uniq -c | sort -rn | head",
         .inspection = "kqueues",
         .runbook = "MemstatLeakSuspected"},
    Kind{.name = "kqueue_growth",
         .allocator = "uma",
         .types = {"KNOTE"},
         .what = "Events that kqueues watch",
         .effect = "A program adds events to a kqueue without deleting them.",
         .next = "fstat | awk '$5 == \"[kqueue]\"' | sort | uniq -c | sort -rn | head",
         .inspection = "kqueues",
         .runbook = "MemstatLeakSuspected"},
    Kind{.name = "malloc_growth",
         .system = CauseSystem::kFreeBsd,
         .allocator = "malloc",
         .types = {"*"},
         .what = "",
         .effect = "The part of the kernel with this name holds it.",
         .next = "vmstat -m | sort -k3 -rn | head",
         .runbook = "MemstatLeakSuspected"},
    Kind{.name = "zone_growth",
         .system = CauseSystem::kFreeBsd,
         .allocator = "uma",
         .types = {"*"},
         .what = "",
         .effect = "Its items are created and not freed.",
         .next = "vmstat -z -H | head -20",
         .runbook = "MemstatLeakSuspected"},
    Kind{.name = "other_growth",
         .allocator = "",
         .types = {"*"},
         .what = "",
         .effect = "It is created and not freed.",
         .next = "memstatctl leaks",
         .runbook = "MemstatLeakSuspected"}};

bool is_of(const Kind& kind, std::string_view allocator, std::string_view name) {
  if (!kind.allocator.empty() && kind.allocator != allocator) return false;
  return std::any_of(kind.types.begin(), kind.types.end(), [&](std::string_view pattern) {
    if (pattern.empty()) return false;
    return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1)) : name == pattern;
  });
}

std::size_t kind_of(std::string_view allocator, std::string_view name) {
  std::size_t row = 0;
  while (!is_of(kKinds[row], allocator, name)) ++row;
  return row;
}

/// Whether a cache is much larger than the open files that the kernel counts, because it is merged with other caches.
bool is_of_others(const Evidence& evidence, const GrowthEvidence& growth) {
  constexpr double kMaxBytes = 1024;  // maximum size of an open file
  constexpr double kIdleFiles = 4096;
  if (growth.allocator != "slab" || !growth.name.starts_with("filp")) return false;
  const TypeEvidence* const files = evidence.type(Allocator::kTable, "files");
  return files != nullptr && files->objects && growth.now > kMaxBytes * (*files->objects + kIdleFiles);
}

/// The first kind among types that grow together. A socket's inode is larger than its file, but the file names the cause.
std::size_t kind_of(const Evidence& evidence, const GrowthEvidence& growth) {
  std::size_t row = kind_of(growth.allocator, is_of_others(evidence, growth) ? std::string_view() : growth.name);
  for (const std::string& other : growth.together) {
    const std::size_t slash = other.find('/');
    row = std::min(row, kind_of(std::string_view(other).substr(0, slash), std::string_view(other).substr(slash + 1)));
  }
  return row;
}

/// The minimum size of an object in a group's charge.
constexpr double kSmallObject = 128;

/// Names the group that was charged for at least a third of the growth.
void name_grower(const Evidence& evidence, const GrowthEvidence& growth, Finding& finding) {
  const double gain = growth.gain * std::min(1.0, evidence.recent_seconds / std::max(growth.seconds, 1.0));
  if (growth.allocator == "table" && growth.name == "threads") {
    name_holder(evidence, kTasks, Holds::kGainedLately, gain / 3, finding);
    return;
  }
  const bool is_part = growth.allocator == kAccountAllocator;
  const double bytes = growth.is_bytes ? gain / 3 : gain * kSmallObject;
  name_holder(evidence, charge_of(is_part ? growth.name : growth.allocator), Holds::kGainedLately, bytes, finding);
}

/// Smaller growth, below a thousandth of memory or a tenth of the earlier amount, is a finding only if it will reach a limit
/// soon.
constexpr double kWorthShare = 1e-3;
/// The same of a part whose holder nobody can name.
constexpr double kWorthShareOfUnknown = 5e-3;

bool is_more_urgent(const Finding& a, const Finding& b) {
  if (a.severity != b.severity) return a.severity < b.severity;
  return a.seconds_left.value_or(kDaySeconds) < b.seconds_left.value_or(kDaySeconds);
}

/// Merges findings of one kind about a table, its slab cache and its part of the account into the most urgent. The last of
/// `found` may duplicate one from `begin` on.
void merge_last(Findings& found, std::size_t begin) {
  if (found.size() - begin < 2) return;
  Finding last = std::move(found.back());
  found.pop_back();
  Finding& first = found[begin];
  if (is_more_urgent(last, first)) std::swap(last, first);
  for (Finding::About& about : last.about) {
    if (std::find(first.about.begin(), first.about.end(), about) == first.about.end()) {
      first.about.push_back(std::move(about));
    }
  }
  if (first.who.empty()) first.who = std::move(last.who);
}

void add_subjects(const Evidence& evidence, const GrowthEvidence& growth, Finding& finding) {
  finding.is_about(growth.allocator, growth.name);
  if (growth.allocator == "memcg") {
    finding.by("group", growth.name);
  } else {
    name_grower(evidence, growth, finding);
  }
  if (growth.allocator == "vmalloc") finding.by("function", growth.name);
  for (const std::string& other : growth.together) {
    const std::size_t slash = other.find('/');
    finding.is_about(other.substr(0, slash), other.substr(slash + 1));
  }
  if (!growth.together.empty()) {
    const std::string& first = growth.together[0];
    const std::string types = growth.together.size() == 1 ? "Type " + first.substr(first.find('/') + 1)
                                                          : counted(static_cast<double>(growth.together.size()), "type");
    finding.fact({.text = types + " grew by the same number of objects", .source = first});
  }
}

/// Names in use that were there before the first poll. Names that are not in use are a cache.
void look_at_pinned_names(const Evidence& evidence, const Cause& cause, Findings& found) {
  const TypeEvidence* const names = evidence.type(Allocator::kTable, "dentries");
  const TypeEvidence* const cache = evidence.type(Allocator::kSlab, "dentry");
  if (names == nullptr || !names->objects || cache == nullptr || !cache->object_bytes) return;
  const double bytes = *names->objects * *cache->object_bytes;
  constexpr double kShare = 0.02;  // of names alone; inodes are several times as large
  if (evidence.share(bytes) < kShare) return;
  const Kind& kind = kKinds[cause.row];
  Finding& finding = add_finding(found, cause, Severity::kNotable, Certainty::kPossible,
                                 count_text(*names->objects) + " names of files are in use and cannot be reclaimed");
  finding.fact({.text = bytes_text(bytes) + " of names, and an inode for most of them",
                .source = "table/dentries",
                .value = names->objects,
                .limit = kShare * evidence.total_bytes / *cache->object_bytes});
  finding.bytes = bytes;
  finding.is_about("table", "dentries").is_about("slab", "dentry").leads_to(kind.effect).then(kind.next);
  name_holder(evidence, kKernelMemory, Holds::kNow, bytes / 3, finding);
}

bool is_booting(const Evidence& evidence) { return evidence.uptime_seconds > 0 && evidence.uptime_seconds < kBootSeconds; }
/// Whether boot explains it: it does while more than half is left.
bool is_of_boot(const Evidence& evidence, const GrowthEvidence& growth, double seconds_to_limit) {
  return is_booting(evidence) && growth.now < growth.per_second * seconds_to_limit;
}
bool is_of_boot(const Evidence& evidence) {
  return is_booting(evidence) && evidence.share(evidence.available_bytes.value_or(evidence.total_bytes)) >= 0.5;
}

/// Thousands of files that one process opened and keeps, however fast: not steadily, but not closed either.
void look_at_new_files(const Evidence& evidence, const Cause& cause, Findings& found) {
  constexpr double kMany = 4096;
  const TypeEvidence* const files = evidence.type(Allocator::kTable, "files");
  const InspectionAnswer* const answer = evidence.inspection("files");
  if (files == nullptr || !files->objects || answer == nullptr || answer->holders.empty() || is_booting(evidence)) return;
  const double gain = files->objects_change.recent;
  const Holder& first = answer->holders.front();
  const auto held = static_cast<double>(first.count.value_or(0));
  if (gain < kMany || gain < 0.75 * *files->objects || first.pid == 0 || held < gain / 2) return;
  if (*files->objects < 0.95 * files->objects_change.highest) return;
  const Kind& kind = kKinds[cause.row];
  Finding& finding =
      add_finding(found, cause, Severity::kNotable, Certainty::kLikely,
                  "Open files grew by " + count_text(gain) + " in " + duration_words(evidence.recent_seconds));
  finding.fact({.text = count_text(*files->objects) + " now",
                .source = "table/files",
                .value = gain,
                .window_seconds = evidence.recent_seconds});
  finding.is_about("table", "files").leads_to(kind.effect).then(next_step(evidence, kind));
}

bool is_unlimited_group(const Evidence& evidence, const GrowthEvidence& growth) {
  if (growth.allocator != "memcg") return false;
  const TypeEvidence* const group = evidence.type(Allocator::kMemcg, growth.name);
  return group == nullptr ? !growth.limit_seconds : !group->limit_bytes;
}

/// A program touches huge pages that it reserved: the pool has been taken from memory already, and they are its own.
bool is_of_reserved(const Evidence& evidence, const GrowthEvidence& growth) {
  if (growth.allocator != to_string(Allocator::kHugetlb)) return false;
  const TypeEvidence* const pool = evidence.type(Allocator::kHugetlb, growth.name);
  const double reserved = evidence.value(kReservedHugePages, growth.name).value_or(0);
  return pool != nullptr && reserved > 0 && reserved >= free_pages_of(*pool) / 2;
}

/// Files that are sockets, as many of which came as files did: "" if none are.
std::string_view sockets_among(const GrowthEvidence& growth) {
  constexpr std::array<std::array<std::string_view, 2>, 4> kWords{{{"uma/unpcb", "Unix sockets"},
                                                                   {"slab/UNIX", "Unix sockets"},
                                                                   {"table/sockets", "Sockets"},
                                                                   {"slab/sock_inode_cache", "Sockets"}}};
  for (const auto& [type, words] : kWords) {
    if (growth.allocator + "/" + growth.name == type ||
        std::find(growth.together.begin(), growth.together.end(), type) != growth.together.end())
      return words;
  }
  return {};
}

/// What grows, as the headline begins.
std::string words_of(const Kind& kind, const GrowthEvidence& growth) {
  const std::string_view sockets = kind.name == "file_leak" ? sockets_among(growth) : std::string_view();
  if (!sockets.empty()) return std::string(sockets);
  if (!kind.what.empty()) return std::string(kind.what);
  if (growth.allocator == kAccountAllocator) return part_words(growth.name);
  return growth.allocator + " " + short_name(growth.name, 30);
}

void look(const Evidence& evidence, const Cause& cause, Findings& found) {
  const std::size_t begin = found.size();
  for (const GrowthEvidence& growth : evidence.growing) {
    const Kind& kind = kKinds[kind_of(evidence, growth)];
    if (kind.name != cause.name || is_of_reserved(evidence, growth)) continue;
    // Parts of the account that overlap make the rest negative, and it rises to 0 as they part. No memory is allocated.
    if (kind.name == kUnaccountedGrowth && growth.now <= growth.gain / 2) continue;
    const auto to_limit = outlook(growth, growth.limit_seconds);
    const auto to_end = outlook(growth, growth.memory_seconds);
    const double before = growth.now - growth.gain;
    const bool is_worth = growth.is_bytes ? evidence.share(growth.gain * kind.brings) >=
                                                (kind.name == kUnknownGrowth ? kWorthShareOfUnknown : kWorthShare)
                                          : growth.gain >= 0.1 * before;
    if (!is_worth && !to_limit) continue;
    const bool is_soon = (to_limit && !is_of_boot(evidence, growth, *to_limit)) || (to_end && !is_of_boot(evidence));
    Finding& finding = add_finding(found, cause, is_soon ? Severity::kSoon : Severity::kNotable,
                                   is_soon && growth.together.empty() ? Certainty::kPossible : Certainty::kLikely,
                                   words_of(kind, growth) + " grew by " + amount_text(growth.gain, growth.is_bytes) +
                                       " in " + duration_words(growth.seconds) + " and did not fall");
    finding.runbook = kind.runbook;
    finding.bytes = growth.is_bytes ? growth.gain : 0;
    finding.fact({.text = amount_text(growth.all_now, growth.is_bytes) + " now, +" +
                          rate_text(growth.per_second, growth.is_bytes) + ", rising in each third of the time",
                  .source = growth.allocator + "/" + growth.name,
                  .value = growth.gain,
                  .window_seconds = growth.seconds});
    if (is_soon) {
      finding.seconds_left = std::min(to_limit.value_or(kDaySeconds), to_end.value_or(kDaySeconds));
      const bool is_limit = to_limit && *to_limit <= *finding.seconds_left;
      finding.fact({.text = duration_words(*finding.seconds_left) +
                            (is_limit ? " until its limit at this rate" : " until no memory is available at this rate"),
                    .source = growth.allocator + "/" + growth.name,
                    .value = finding.seconds_left});
    }
    add_subjects(evidence, growth, finding);
    finding.leads_to(is_unlimited_group(evidence, growth) ? "It has no limit, so it can take the memory of all others."
                                                          : kind.effect);
    finding.then(next_step(evidence, kind));
    if (!kind.what.empty()) merge_last(found, begin);
  }
  if (found.size() == begin && cause.name == "vfs_pinned") look_at_pinned_names(evidence, cause, found);
  if (found.size() == begin && cause.name == "file_leak") look_at_new_files(evidence, cause, found);
}

/// Growth that another kind of growth in the same control group explains. Each kind explains the first few kinds: namespaces
/// all, threads all but the last two, open files the first eight, and any other kind the growth of the group itself.
constexpr std::array<std::string_view, 14> kSymptoms{
    "cgroup_growth", "slab_leak",      "kmalloc_leak",     "page_table_growth",
    "table_growth",  "memory_growth",  "vfs_pinned",       "socket_memory_growth",
    "percpu_growth", "vmalloc_growth", "anonymous_growth", "bpf_memory",
    "file_leak",     "thread_growth"};
/// Pages of packets are unaccounted.
constexpr std::array<std::string_view, 3> kPacketSymptoms{"cgroup_growth", "unaccounted_growth", "unaccounted_large"};
/// A map is also an open file.
constexpr std::array<std::string_view, 5> kMapSymptoms{"cgroup_growth", "file_leak", "percpu_growth", "vmalloc_growth",
                                                       "memory_growth"};
/// In any group, because the group that creates control groups is not charged for them.
constexpr std::array<std::string_view, 2> kDirectorySymptoms{"percpu_growth", "vfs_pinned"};
constexpr std::span<const std::string_view> symptoms_of(std::string_view kind) {
  const std::span<const std::string_view> all = kSymptoms;
  if (kind == "network_namespace_growth") return all;
  if (kind == "thread_growth") return all.first(12);
  if (kind == "file_leak") return all.first(8);
  if (kind == "bpf_memory") return kMapSymptoms;
  if (kind == "packets_held") return kPacketSymptoms;
  return kind == "cgroup_growth" ? all.first(0) : all.first(1);
}

constexpr std::string_view kUses[] = {kGroupAnonymous, kGroupKernel, kGroupTasks, kGroupParts, kReservedHugePages};

constexpr auto kCauses = causes_of<kKinds>([](const Kind& kind) {
  return Cause{.name = kind.name,
               .looks_for = "It grows steadily, and was not reclaimed.",
               .system = kind.system,
               .watches = Watches::kGrowth,
               .uses = kUses,
               .explains = kind.name == "cgroups_left" ? std::span<const std::string_view>(kDirectorySymptoms)
                                                       : std::span<const std::string_view>(),
               .explains_of_group = symptoms_of(kind.name),
               .runbook = kind.runbook,
               .inspection = kind.inspection,
               .look = look};
});

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::growth
