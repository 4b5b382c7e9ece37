// SPDX-License-Identifier: BSD-2-Clause
// Pages that cannot be allocated in the requested size, place or pool; and pages that are not accounted for.
#include <algorithm>
#include <array>

#include "core/diagnosis/culprits.h"
#include "core/diagnosis/ended.h"
#include "core/diagnosis/growth_ranking.h"
#include "core/diagnosis/holder.h"
#include "core/diagnosis/limit_state.h"
#include "core/diagnosis/parts.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::pages {
namespace {

constexpr std::string_view kFailures = "memstat_page_allocation_failures_total";
constexpr std::string_view kGfp = "memstat_gfp_failures_total";
constexpr std::string_view kOrders = "memstat_page_order_failures_total";
constexpr std::string_view kCompaction = "memstat_compaction_failures_total";
constexpr std::string_view kSuccesses = "memstat_compaction_successes_total";
constexpr std::string_view kIndex = "memstat_fragmentation_index";
constexpr std::string_view kPartMissing = "memstat_accounted_part_missing";
constexpr std::string_view kPaged = "memstat_paged_pages_total";
constexpr std::string_view kNuma = "memstat_numa_events_total";
constexpr std::string_view kWatermark = "memstat_zone_watermark_bytes";

Finding& with_count(Finding& finding, const Evidence& evidence, double moved, std::string_view what,
                    std::string_view source) {
  return finding.fact(
      {.text = count_text(moved) + " " + std::string(what) + " in " + duration_words(evidence.recent_seconds),
       .source = std::string(source),
       .value = moved,
       .window_seconds = evidence.recent_seconds});
}

/// Kernel memory of a group that is in no part of the account: pages of pipes, of queues of Unix sockets, of rings.
double uncounted_bytes(const Evidence& evidence, const MetricEvidence& kernel) {
  constexpr std::array<std::string_view, 6> kKinds{"kernel_stack", "pagetables", "sec_pagetables",
                                                   "percpu",       "vmalloc",    "slab"};
  double counted_bytes = 0;
  for (const MetricEvidence& part : evidence.samples(kGroupParts)) {
    if (part.labels[0] == kernel.labels[0] && std::find(kKinds.begin(), kKinds.end(), part.labels[1]) != kKinds.end()) {
      counted_bytes += part.value;
    }
  }
  return kernel.value - counted_bytes;
}

struct Uncounted {
  std::string_view group;
  double bytes = 0;
};
/// The innermost group with at least this much uncounted memory.
std::optional<Uncounted> holder_of_uncounted(const Evidence& evidence, double at_least) {
  std::optional<Uncounted> most;
  for (const MetricEvidence& kernel : evidence.samples(kGroupParts)) {
    if (kernel.labels[1] != "kernel" || kernel.labels[0].size() <= 1 || kernel.value < at_least) continue;
    if (most && !is_within(kernel.labels[0], most->group)) continue;
    const double bytes = uncounted_bytes(evidence, kernel);
    if (bytes >= at_least) most = {kernel.labels[0], bytes};
  }
  return most;
}

/// Bytes of ring buffers that processes have mapped. Those that processes share count more than once.
double mapped_rings(const InspectionAnswer* answer) {
  double sum = 0;
  if (answer == nullptr) return sum;
  for (const Holder& holder : answer->holders) sum += static_cast<double>(holder.bytes.value_or(0));
  return sum;
}

void add_rings(const InspectionAnswer& answer, double bytes, Finding& finding) {
  finding.fact({.text = "processes have mapped " + std::string(at_least(answer)) + bytes_text(bytes) + " of ring buffers",
                .source = "who/rings",
                .value = bytes});
  add_share(answer, finding);
}

/// Modules that hold whole pages that no file of the kernel counts, and where each tells how much.
struct HiddenHolder {
  std::string_view module;
  std::string_view what;
  std::string_view where;  ///< a command
};
constexpr HiddenHolder kHiddenHolders[] = {
    {"zfs", "the cache of ZFS (ARC)", "cat /proc/spl/kstat/zfs/arcstats"},
    {"hv_balloon", "Hyper-V's balloon", "cat /sys/kernel/debug/hv-balloon"},
    {"vmw_balloon", "VMware's balloon", "cat /sys/kernel/debug/vmmemctl"},
    {"virtio_balloon", "virtio's balloon", "grep balloon /proc/vmstat"},
    {"xen_balloon", "Xen's balloon", "cat /sys/devices/system/xen_memory/xen_memory0/info/current_kb"},
    {"bcachefs", "the btree cache of bcachefs", "grep . /sys/fs/bcachefs/*/btree_cache_size"},
    {"xfs", "metadata buffers of XFS", "memstatctl types --allocator slab xfs_buf"},
    {"amdgpu", "buffers of amdgpu", "grep . /sys/class/drm/card*/device/mem_info_gtt_used"},
    {"ttm", "the page pools of graphics drivers (TTM)", "cat /sys/kernel/debug/ttm/page_pool"},
    {"i915", "buffers of i915", "cat /sys/kernel/debug/dri/0/i915_gem_objects"},
    {"nvidia", "pages of the NVIDIA driver", "nvidia-smi -q -d MEMORY"},
    {"ceph", "the client of Ceph", "cat /sys/kernel/debug/ceph/*/caps"},
    {"drbd", "DRBD", "cat /sys/module/drbd/parameters/minor_count"},
    {"brd", "RAM disks", "lsblk -d -o NAME,SIZE /dev/ram*"},
    {"mlx5_core", "pages given to a Mellanox card", "cat /sys/kernel/debug/mlx5/*/pages/fw_pages_total"},
    {"lustre", "the client of Lustre", "lctl get_param memused"},
};

/// Names the loaded modules that may hold it. That they are loaded proves nothing, so they are facts and no culprits.
void add_hidden_holders(const Evidence& evidence, Finding& finding) {
  const InspectionAnswer* const loaded = evidence.inspection("modules");
  if (loaded == nullptr) return;
  constexpr std::size_t kMaxNamed = 3;
  std::size_t named = 0;
  for (const HiddenHolder& one : kHiddenHolders) {
    const bool is_loaded = std::any_of(loaded->holders.begin(), loaded->holders.end(),
                                       [&](const Holder& holder) { return holder.name == one.module; });
    if (!is_loaded) continue;
    if (++named > kMaxNamed) break;
    finding.fact(
        {.text = "module " + std::string(one.module) + " is loaded: " + std::string(one.what) + " may be part of it",
         .source = "who/modules"});
    finding.then(one.where);
  }
}

/// Before 5.3 the remainder has the vmalloc areas, which may have any size.
bool is_vmalloc_unreported(const Evidence& evidence) {
  for (const MetricEvidence& part : evidence.samples(kPartMissing)) {
    if (part.labels[0] == "vmalloc") return true;
  }
  return false;
}

void add_account_facts(const Evidence& evidence, const MetricEvidence& unaccounted, bool has_jumped, Finding& finding) {
  finding.fact({.text = "neither free nor in any part of the account",
                .source = "memstat_unaccounted_bytes",
                .value = unaccounted.value,
                .limit = 0.1 * evidence.total_bytes});
  if (is_vmalloc_unreported(evidence)) {
    finding.fact(
        {.text = "vmalloc areas are in it: this kernel does not report their size", .source = std::string(kPartMissing)});
  }
  if (has_jumped) {
    finding.fact({.text = bytes_text(unaccounted.change.since_start) + " more than " +
                          duration_words(evidence.watched_seconds) + " ago",
                  .source = "memstat_unaccounted_bytes",
                  .value = unaccounted.change.since_start,
                  .window_seconds = evidence.watched_seconds});
  }
}

void look_at_unaccounted(const Evidence& evidence, const Cause& cause, Findings& found) {
  const MetricEvidence* const unaccounted = evidence.sample("memstat_unaccounted_bytes");
  if (unaccounted == nullptr || evidence.view.has(ViewReason::kLxcfs)) return;  // parts of the host, total of the container
  const std::optional<double> bytes = unaccounted->value;
  const bool has_jumped = evidence.share(unaccounted->change.since_start) >= 0.05 &&
                          evidence.growth(kAccountAllocator, "unaccounted") == nullptr;  // which is its own cause
  constexpr double kChargedShare = 0.02;  // less is the sum of many small holders, as on any machine
  if (evidence.share(*bytes) < kChargedShare) return;
  const auto charged = holder_of_uncounted(evidence, *bytes / 2);
  const bool is_large = evidence.share(*bytes) >= (has_jumped ? 0.05 : 0.1);
  const InspectionAnswer* const answer = evidence.inspection("rings");
  const double rings = mapped_rings(answer);
  const bool is_of_rings = rings >= *bytes / 2 && rings <= 2 * *bytes;
  if (!is_large && !charged && !is_of_rings) return;
  const bool has_killed = has_unaccounted_killed(evidence);
  const bool is_explained = charged || is_of_rings;
  Finding& finding =
      add_finding(found, cause,
                  has_killed                                                       ? Severity::kNow
                  : is_large && (is_explained || !is_vmalloc_unreported(evidence)) ? Severity::kWasteful
                                                                                   : Severity::kNotable,
                  is_explained || has_killed ? Certainty::kLikely : Certainty::kPossible,
                  (has_killed ? "Memory ran out: " : "") + bytes_text(*bytes) + ", " + percent_text(evidence.share(*bytes)) +
                      " of memory, is not accounted for by the kernel");
  add_account_facts(evidence, *unaccounted, has_jumped, finding);
  if (is_of_rings) add_rings(*answer, rings, finding);
  finding.bytes = *bytes;
  finding.is_about("account", "unaccounted").leads_to("A driver, pipes, ring buffers or a hypervisor hold whole pages.");
  add_hidden_holders(evidence, finding);
  finding.then("lsmod | head -40").then("ss -xm | head -20");
  // Pages of pipes are unaccounted, but charged to groups.
  if (charged) {
    finding.by("group", charged->group)
        .fact(
            {.text = short_name(charged->group) + " was charged for " + bytes_text(charged->bytes) + " that is unaccounted",
             .source = std::string(kGroupParts),
             .value = charged->bytes});
  } else {
    name_holder(evidence, kKernelMemory, Holds::kNow, *bytes / 3, finding);
  }
}

void look_at_orders(const Evidence& evidence, const Cause& cause, Findings& found) {
  double failed = 0;
  for (const MetricEvidence& one : evidence.samples(kOrders)) {
    const bool is_small = one.labels[0] == "1" || one.labels[0] == "2" || one.labels[0] == "3";
    failed += is_small ? one.change.recent : 0;
  }
  if (failed <= 0) return;
  const bool is_low = evidence.available_bytes && evidence.share(*evidence.available_bytes) < 0.05;
  if (is_low) return;  // memory is short, not fragmented
  Finding& finding =
      add_finding(found, cause, Severity::kNow, Certainty::kConfirmed,
                  "Free memory is fragmented: " + counted(failed, "allocation") + " of " +
                      bytes_text(2 * evidence.page_bytes) + " to " + bytes_text(8 * evidence.page_bytes) + " failed");
  with_count(finding, evidence, failed, "failures of orders 1 to 3", kOrders);
  finding.leads_to("Packets are lost, and requests of drivers fail.")
      .then("echo 1 > /proc/sys/vm/compact_memory")
      .then("cat /proc/buddyinfo");
}

/// Huge pages that were refused although memory was available, because it was fragmented.
double huge_pages_refused_for_pieces(const Evidence& evidence) {
  const MetricEvidence* const failures = evidence.sample(kFailures, "hugetlb");
  const bool has_room = evidence.available_bytes && evidence.share(*evidence.available_bytes) >= 0.1;
  return failures != nullptr && has_room ? failures->change.recent : 0;
}

void look_at_compaction(const Evidence& evidence, const Cause& cause, Findings& found) {
  const double failed = evidence.moved(kCompaction);
  const double succeeded = evidence.moved(kSuccesses);
  const double refused = huge_pages_refused_for_pieces(evidence);
  // After failures the kernel tries less often.
  const bool is_why_refused = refused > 0 && failed > 0 && (failed >= refused || succeeded == 0);
  const bool is_often = evidence.rate(failed) >= 1;
  if ((evidence.rate(failed) < 0.2 && !is_why_refused) || failed < 2 * succeeded) return;
  std::string headline = "Compaction fails: " + count_text(failed) + " of " + count_text(failed + succeeded) + " attempts";
  if (refused > 0) headline += ", and " + counted(refused, "huge page") + " could not be allocated";
  Finding& finding = add_finding(found, cause,
                                 refused > 0 ? Severity::kNow
                                 : is_often  ? Severity::kWasteful
                                             : Severity::kNotable,
                                 refused > 0 || is_often ? Certainty::kLikely : Certainty::kPossible, std::move(headline));
  with_count(finding, evidence, failed, "failed", kCompaction);
  finding.leads_to("Large allocations stall and then use small pages.").then("cat /proc/buddyinfo");
}

void look_at_atomic(const Evidence& evidence, const Cause& cause, Findings& found) {
  double failed = 0;
  for (const MetricEvidence& one : evidence.samples(kGfp)) {
    if (one.labels[1] == "atomic" || one.labels[1] == "nowait") failed += one.change.recent;
  }
  if (failed <= 0) return;
  Finding& finding = add_finding(found, cause, Severity::kNow, Certainty::kConfirmed,
                                 counted(failed, "allocation") + " that may not wait failed");
  with_count(finding, evidence, failed, "failures", kGfp);
  finding.leads_to("Interrupt handlers get no memory, so packets are lost.")
      .then("sysctl vm.min_free_kbytes")
      .then("journalctl -k --grep 'page allocation failure' -n 20");
}

void look_at_idle_pool(const Evidence& evidence, const Cause& cause, Findings& found) {
  for (const TypeEvidence& pool : evidence.types) {
    if (pool.allocator != Allocator::kHugetlb || !pool.object_bytes || *pool.object_bytes <= 0) continue;
    const double reserved = evidence.value(kReservedHugePages, pool.name).value_or(0);
    const double idle = (free_pages_of(pool) - reserved) * *pool.object_bytes;
    const bool is_used = pool.objects.value_or(0) > 0 || reserved > 0;
    const bool is_needed = is_memory_short(evidence, 0.1);
    const bool is_old = evidence.uptime_seconds > kDaySeconds;
    if (evidence.share(idle) < (is_needed ? 0.05 : 0.1)) continue;
    // A pool in use may be filling up, unless it is large and little of it is used.
    const bool is_much = evidence.share(idle) >= 0.2 && 2 * idle > pool.objects.value_or(0) * *pool.object_bytes;
    if (!is_needed && !is_old && is_used && !is_much) continue;
    Finding& finding = add_finding(found, cause, is_needed ? Severity::kWasteful : Severity::kNotable,
                                   is_needed ? Certainty::kLikely : Certainty::kPossible,
                                   bytes_text(idle) + " of huge pages (" + std::string(pool.name) + ") are unused");
    finding.fact({.text = count_text(idle / *pool.object_bytes) + " free pages that no program has reserved",
                  .source = "hugetlb/" + std::string(pool.name),
                  .value = idle,
                  .limit = 0.1 * evidence.total_bytes});
    finding.bytes = idle;
    finding.is_about("hugetlb", pool.name).leads_to("Nothing else can use that memory.").then("sysctl vm.nr_hugepages");
  }
}

/// A pool that is deliberately full looks like one that is too small: a program that did not reserve gets SIGBUS, which no
/// counter shows.
void look_at_full_pools(const Evidence& evidence, const Cause& cause, Findings& found) {
  for (const TypeEvidence& pool : evidence.types) {
    if (pool.allocator != Allocator::kHugetlb || !pool.objects) continue;
    const double reserved = evidence.value(kReservedHugePages, pool.name).value_or(0);
    const double free = free_pages_of(pool);
    if (free > reserved || *pool.objects + free <= 0) continue;
    if (pool.limit_objects && *pool.objects + free < *pool.limit_objects) continue;  // overcommit has room
    Finding& finding = add_finding(found, cause, Severity::kNotable, Certainty::kPossible,
                                   "No huge page (" + std::string(pool.name) + ") is left: all " +
                                       count_text(*pool.objects + free) + " are in use or reserved");
    finding.fact({.text = count_text(*pool.objects) + " in use, " + count_text(reserved) + " reserved",
                  .source = "hugetlb/" + std::string(pool.name),
                  .value = pool.objects,
                  .limit = *pool.objects + free});
    finding.is_about("hugetlb", pool.name)
        .leads_to(
            "The next mmap of huge pages fails with ENOMEM, or a program that reserved none gets SIGBUS. Files in "
            "hugetlbfs keep their pages when their program has ended.")
        .then("find $(findmnt -rnt hugetlbfs -o TARGET) -type f | head -20")
        .then("sysctl vm.nr_hugepages vm.nr_overcommit_hugepages");
  }
}

void look_at_empty_pool(const Evidence& evidence, const Cause& cause, Findings& found) {
  const MetricEvidence* const failures = evidence.sample(kFailures, "hugetlb");
  if (failures == nullptr || failures->change.recent <= 0) return look_at_full_pools(evidence, cause, found);
  Finding& finding = add_finding(found, cause, Severity::kNow, Certainty::kConfirmed,
                                 counted(failures->change.recent, "huge page") + " could not be allocated");
  with_count(finding, evidence, failures->change.recent, "failures", kFailures);
  finding.leads_to("mmap fails with ENOMEM, or a program gets SIGBUS.")
      .then("grep Huge /proc/meminfo")
      .then("sysctl vm.nr_hugepages vm.nr_overcommit_hugepages");
  mark_ended(ended(evidence, failures->change), finding);
}

void look_at_pool_failures(const Evidence& evidence, const Cause& cause, Findings& found) {
  const Allocator allocator = cause.row == 0 ? Allocator::kCma : Allocator::kZswap;
  for (const TypeEvidence& pool : evidence.types) {
    if (pool.allocator != allocator || pool.failures.recent <= 0) continue;
    if (cause.row == 1 && (!pool.limit_used || *pool.limit_used < kNearShare)) continue;
    Finding& finding =
        add_finding(found, cause, cause.row == 0 ? Severity::kNow : Severity::kWasteful, Certainty::kConfirmed,
                    (cause.row == 0 ? "Contiguous memory (CMA) " + short_name(pool.name, 24) + ": "
                                    : std::string("Compressed swap is full: ")) +
                        count_text(pool.failures.recent) + " pages refused");
    with_count(finding, evidence, pool.failures.recent, "pages refused", to_string(allocator));
    finding.is_about(to_string(allocator), pool.name)
        .leads_to(cause.row == 0 ? "The device's driver fails." : "Pages go to the disk instead.");
  }
}

/// From its maximum on, zswap refuses pages until its pool is below accept_threshold_percent of it, 90 % unless changed
/// (mm/zswap.c). Reading how many it refused takes debugfs.
void look_at_full_zswap(const Evidence& evidence, const Cause& cause, Findings& found) {
  const TypeEvidence* const pool = evidence.type(Allocator::kZswap, "zswap");
  if (pool == nullptr || pool->failures.recent > 0 || !pool->limit_bytes || !pool->bytes) return;
  constexpr double kGained = 0.25;
  const bool is_filling =
      *pool->bytes >= kFillingShare * *pool->limit_bytes && pool->bytes_change.recent >= kGained * *pool->limit_bytes;
  if (*pool->bytes < kNearShare * *pool->limit_bytes && !is_filling) return;
  double written = 0;
  for (const MetricEvidence& one : evidence.samples(kPaged)) {
    if (one.labels[0] == "swap" && one.labels[1] == "out") written += one.change.recent;
  }
  Finding& finding = add_finding(found, cause, written > 0 ? Severity::kWasteful : Severity::kNotable,
                                 written > 0 ? Certainty::kLikely : Certainty::kPossible,
                                 std::string("Compressed swap (zswap) is ") +
                                     (*pool->bytes < kNearShare * *pool->limit_bytes ? "nearly " : "") +
                                     "full: " + bytes_text(*pool->bytes) + " of " + bytes_text(*pool->limit_bytes));
  finding.fact(
      {.text = percent_text(*pool->bytes / *pool->limit_bytes) + " of max_pool_percent; below 90 % it accepts pages",
       .source = "zswap/zswap",
       .value = pool->bytes,
       .limit = pool->limit_bytes});
  if (written > 0) with_count(finding, evidence, written, "pages written to the disk", kPaged);
  finding.bytes = *pool->bytes;
  finding.is_about("zswap", "zswap").leads_to("Pages go to the disk instead.").then("grep . /sys/module/zswap/parameters/*");
}

void look_at_zswap(const Evidence& evidence, const Cause& cause, Findings& found) {
  look_at_pool_failures(evidence, cause, found);
  look_at_full_zswap(evidence, cause, found);
}

/// Whether the zones of a node together are at the mark below which the kernel takes pages from other nodes.
bool is_node_full(const Evidence& evidence, std::string_view node) {
  double free = 0;
  double marks = 0;
  for (const MetricEvidence& mark : evidence.samples(kWatermark)) {
    if (mark.labels[0] != node || mark.labels[2] != "high") continue;
    const TypeEvidence* const zone =
        evidence.type(Allocator::kPage, "node " + std::string(node) + " " + std::string(mark.labels[1]));
    if (zone == nullptr || !zone->free_objects || !zone->object_bytes) continue;
    free += *zone->free_objects * *zone->object_bytes;
    marks += mark.value;
  }
  return marks > 0 && free < 2 * marks;
}

void look_at_nodes(const Evidence& evidence, const Cause& cause, Findings& found) {
  for (const MetricEvidence& one : evidence.samples(kNuma)) {
    const double rate = evidence.rate(one.change.recent);
    if (one.labels[1] != "foreign" || rate < 10 || (rate < 1000 && !is_node_full(evidence, one.labels[0]))) continue;
    Finding& finding =
        add_finding(found, cause, Severity::kNotable, Certainty::kConfirmed,
                    "Node " + std::string(one.labels[0]) + " is full: its programs get memory from other nodes");
    with_count(finding, evidence, one.change.recent, "pages", kNuma);
    finding.by("node", one.labels[0]).leads_to("Their memory is slower.").then("numastat").then("numastat -m");
  }
}

constexpr std::string_view kUnaccountedNeeds[] = {"memstat_unaccounted_bytes"};
constexpr std::string_view kUnaccountedUses[] = {kGroupKernel, kGroupParts,  kPartMissing, "memstat_oom_kills_total",
                                                 "who/rings",  "who/modules"};
constexpr std::string_view kUnaccountedExplains[] = {"machine_oom_kill"};
constexpr std::string_view kOrderNeeds[] = {kOrders};
constexpr std::string_view kCompactionNeeds[] = {kCompaction, kSuccesses};
constexpr std::string_view kCompactionUses[] = {kFailures};
constexpr std::string_view kCompactionExplains[] = {"hugetlb_exhausted"};
constexpr std::string_view kGfpNeeds[] = {kGfp};
constexpr std::string_view kPoolNeeds[] = {"hugetlb/*"};
constexpr std::string_view kPoolUses[] = {kReservedHugePages};
constexpr std::string_view kEmptyUses[] = {kFailures, kReservedHugePages};
constexpr std::string_view kCmaNeeds[] = {"cma/*"};
constexpr std::string_view kZswapNeeds[] = {"zswap/*"};
constexpr std::string_view kZswapUses[] = {kPaged};
constexpr std::string_view kZswapExplains[] = {"memory_growth"};
constexpr std::string_view kNumaNeeds[] = {kNuma};
constexpr std::string_view kNumaUses[] = {kWatermark};
constexpr std::string_view kOrderUses[] = {kIndex};

constexpr std::array kCauses{
    Cause{.name = "unaccounted_large",
          .looks_for = "More than a tenth of memory is not accounted for by the kernel.",
          .needs = kUnaccountedNeeds,
          .uses = kUnaccountedUses,
          .explains = kUnaccountedExplains,
          .runbook = "MemstatUnaccountedGrowth",
          .inspection = "rings",
          .look = look_at_unaccounted},
    Cause{.name = "fragmentation",
          .looks_for = "Memory is free, but in blocks that are too small.",
          .system = CauseSystem::kLinux,
          .watches = Watches::kChange,
          .needs = kOrderNeeds,
          .uses = kOrderUses,
          .runbook = "MemstatCompactionFails",
          .look = look_at_orders},
    Cause{.name = "compaction_fails",
          .looks_for = "The kernel moves pages to form larger free blocks, but fails.",
          .system = CauseSystem::kLinux,
          .watches = Watches::kChange,
          .needs = kCompactionNeeds,
          .uses = kCompactionUses,
          .explains = kCompactionExplains,
          .runbook = "MemstatCompactionFails",
          .look = look_at_compaction},
    Cause{.name = "atomic_failures",
          .looks_for = "Allocations that may not wait fail.",
          .system = CauseSystem::kLinux,
          .watches = Watches::kChange,
          .needs = kGfpNeeds,
          .runbook = "MemstatAllocationFailures",
          .look = look_at_atomic},
    Cause{.name = "hugetlb_unused",
          .looks_for = "No program uses the free pages of a huge page pool.",
          .system = CauseSystem::kLinux,
          .needs = kPoolNeeds,
          .uses = kPoolUses,
          .look = look_at_idle_pool},
    Cause{.name = "hugetlb_exhausted",
          .looks_for = "Programs request more huge pages than the pool has.",
          .system = CauseSystem::kLinux,
          .needs = kPoolNeeds,
          .uses = kEmptyUses,
          .look = look_at_empty_pool},
    Cause{.name = "cma_exhausted",
          .looks_for = "A driver cannot allocate contiguous memory.",
          .system = CauseSystem::kLinux,
          .watches = Watches::kChange,
          .needs = kCmaNeeds,
          .look = look_at_pool_failures,
          .row = 0},
    Cause{.name = "zswap_full",
          .looks_for = "The compressed swap cache (zswap) rejects pages.",
          .system = CauseSystem::kLinux,
          .watches = Watches::kChange,
          .needs = kZswapNeeds,
          .uses = kZswapUses,
          .explains = kZswapExplains,
          .look = look_at_zswap,
          .row = 1},
    Cause{.name = "numa_node_full",
          .looks_for = "One node is full while others have memory.",
          .system = CauseSystem::kLinux,
          .watches = Watches::kChange,
          .needs = kNumaNeeds,
          .uses = kNumaUses,
          .look = look_at_nodes},
};

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::pages
