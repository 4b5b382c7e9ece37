// SPDX-License-Identifier: BSD-2-Clause
// Linux slab memory that is idle, hidden, or held although no program requests it.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "core/diagnosis/ended.h"
#include "core/diagnosis/growth_ranking.h"
#include "core/diagnosis/holder.h"
#include "core/diagnosis/limit_state.h"
#include "core/diagnosis/words.h"
#include "core/model/type_rules.h"

namespace memstat::causes::slab {
namespace {

void look_at_waste(const Evidence& evidence, const Cause& cause, Findings& found) {
  for (const TypeEvidence& cache : evidence.types) {
    if (cache.allocator != Allocator::kSlab && cache.allocator != Allocator::kUma) continue;
    if ((cache.allocator == Allocator::kSlab) != (cause.row == 0)) continue;
    if (!cache.held_bytes || !cache.bytes) continue;
    const double idle = *cache.held_bytes - *cache.bytes;
    const bool is_much = evidence.share(idle) >= 0.03 && *cache.bytes <= 0.6 * *cache.held_bytes;
    // Only entirely empty slabs are freed, so a nearly empty cache keeps its memory until its last objects are freed.
    const bool is_nearly_empty = evidence.share(idle) >= 0.01 && *cache.bytes <= 0.25 * *cache.held_bytes;
    if (!is_much && !is_nearly_empty) continue;
    Finding& finding = add_finding(found, cause, is_much ? Severity::kWasteful : Severity::kNotable, Certainty::kPossible,
                                   short_name(cache.name, 30) + " holds " + bytes_text(*cache.held_bytes) + " for " +
                                       bytes_text(*cache.bytes) + " in use");
    finding.fact({.text = bytes_text(idle) + " of free objects",
                  .source = std::string(to_string(cache.allocator)) + "/" + std::string(cache.name),
                  .value = idle,
                  .limit = (is_much ? 0.03 : 0.01) * evidence.total_bytes});
    finding.bytes = idle;
    finding.is_about(to_string(cache.allocator), cache.name)
        .leads_to("One object keeps a whole slab in use, and no other cache can use the rest of it.");
    finding.then(cause.row == 0 ? "echo 1 > " + shell_word("/sys/kernel/slab/" + std::string(cache.name) + "/shrink")
                                : "vmstat -z | grep -i " + shell_word(cache.name));
  }
}

constexpr double kLargeCache = 0.05;
/// Of a cache that has gained as much within minutes.
constexpr double kSuddenlyLargeCache = 0.02;

/// Objects of kmalloc caches with as many as `cache` has, or twice: events that leak one in each of them. At least two.
std::vector<const TypeEvidence*> leaked_with(const Evidence& evidence, const TypeEvidence& cache) {
  constexpr double kMany = 50000;
  constexpr double kTolerance = 0.03;
  std::vector<const TypeEvidence*> together;
  if (!cache.name.starts_with("kmalloc-") || cache.objects.value_or(0) < kMany) return together;
  for (const TypeEvidence& other : evidence.types) {
    if (&other == &cache || other.allocator != Allocator::kSlab || !other.name.starts_with("kmalloc-")) continue;
    const double times = other.objects.value_or(0) / *cache.objects;
    const bool is_same = std::abs(times - 1) <= kTolerance || std::abs(times - 2) <= 2 * kTolerance;
    if (is_same && other.bytes) together.push_back(&other);
  }
  if (together.size() < 2) together.clear();
  return together;
}

constexpr std::string_view kDirect = "memstat_allocation_stalls_total";

/// Whether allocations wait although most of memory is in caches that reclaim should shrink. Reclaim may be unable to: a
/// defect of the kernel, or objects in use.
bool is_kept_from_reclaim(const Evidence& evidence) {
  constexpr double kMost = 0.5;
  return evidence.rate(evidence.moved(kDirect)) > 1 &&
         evidence.share(evidence.part("slab_reclaimable").value_or(0)) >= kMost;
}

/// Caches of caches. There are about two hundred, unless, before 5.9, each control group has its own.
bool is_of_groups(std::string_view cache) { return cache == "kmem_cache" || cache == "kmem_cache_node"; }

/// Slab that cannot be reclaimed while memory is short, if no single cache explains it: it is in many, or in caches that
/// slabinfo omits. `most`: the largest that is known. Returns whether it was found.
bool look_at_sum(const Evidence& evidence, const Cause& cause, const TypeEvidence* most, Findings& found) {
  constexpr double kLargeSum = 0.25;
  constexpr double kLow = 0.05;  // like memory_low
  const auto sum = evidence.part("slab_unreclaimable");
  if (!sum || !evidence.available_bytes || evidence.share(*sum) < kLargeSum) return false;
  if (evidence.share(*evidence.available_bytes) >= kLow || (most != nullptr && *most->bytes >= *sum / 2)) return false;
  Finding& finding = add_finding(found, cause, Severity::kWasteful, Certainty::kLikely,
                                 "Slab that cannot be reclaimed takes " + bytes_text(*sum) + ", " +
                                     percent_text(evidence.share(*sum)) + " of all memory");
  finding.fact({.text = percent_text(evidence.share(*evidence.available_bytes)) + " of memory is available",
                .source = "memstat_memory_available_bytes",
                .value = evidence.available_bytes});
  if (most != nullptr) {
    finding.fact(
        {.text = "the largest cache in slabinfo, " + short_name(most->name, 30) + ", has " + bytes_text(*most->bytes),
         .source = "slab/" + std::string(most->name),
         .value = most->bytes});
  }
  finding.bytes = *sum;
  finding.is_about("account", "slab_unreclaimable")
      .leads_to("A driver, a file system, or control groups that were removed hold it.")
      .then("slabtop -o -s c | head -20");
  name_holder(evidence, kKernelMemory, Holds::kNow, *sum / 3, finding);
  return true;
}

/// Caches that reclaim cannot or does not shrink, including those that grew before memstatd started.
void look_at_large_cache(const Evidence& evidence, const Cause& cause, Findings& found) {
  const bool is_kept = is_kept_from_reclaim(evidence);
  const TypeEvidence* most = nullptr;
  for (const TypeEvidence& cache : evidence.types) {
    if (cache.allocator != Allocator::kSlab || !cache.bytes || (most != nullptr && *cache.bytes <= *most->bytes)) continue;
    if (is_kept || !is_cache(cache.allocator, cache.name)) most = &cache;
  }
  if (look_at_sum(evidence, cause, most, found) || most == nullptr) return;
  const double gained = most->bytes_change.recent;
  const bool is_sudden = evidence.share(gained) >= kSuddenlyLargeCache;
  const std::vector<const TypeEvidence*> together = leaked_with(evidence, *most);
  double bytes = *most->bytes;
  for (const TypeEvidence* const other : together) bytes += *other->bytes;
  if (evidence.share(bytes) < kLargeCache && !is_sudden) return;
  const std::string others = together.empty()
                                 ? std::string(" takes ")
                                 : " and " + std::to_string(together.size()) + " others with as many objects take ";
  Finding& finding = add_finding(found, cause, Severity::kNotable, Certainty::kPossible,
                                 "Slab cache " + short_name(most->name, 30) + others + bytes_text(bytes) + ", " +
                                     percent_text(evidence.share(bytes)) + " of all memory");
  const bool is_of_cache = is_cache(most->allocator, most->name);
  finding.fact({.text = count_text(most->objects.value_or(0)) + " objects that reclaim " +
                        (is_of_cache ? "should free, but " + count_text(evidence.moved(kDirect)) + " allocations had to wait"
                                     : std::string("cannot free")),
                .source = "slab/" + std::string(most->name),
                .value = most->bytes,
                .limit = kLargeCache * evidence.total_bytes});
  if (is_sudden) {
    finding.fact({.text = bytes_text(gained) + " more than " + duration_words(evidence.recent_seconds) + " ago",
                  .source = "slab/" + std::string(most->name),
                  .value = gained,
                  .window_seconds = evidence.recent_seconds});
  }
  finding.bytes = bytes;
  for (const TypeEvidence* const other : together) {
    finding.is_about("slab", other->name)
        .fact({.text = std::string(other->name) + ": " + count_text(other->objects.value_or(0)) + " objects, " +
                       bytes_text(*other->bytes),
               .source = "slab/" + std::string(other->name),
               .value = other->bytes});
  }
  finding.is_about("slab", most->name)
      .leads_to(
          is_of_cache ? "They count as available. If dropping caches does not free them, the kernel keeps them."
          : is_of_groups(most->name)
              ? "Before Linux 5.9 they are those of control groups: many were removed and stay, or are made all the time."
              : "Its objects were allocated and not freed: a leak that has ended, or a very large load.")
      .then(is_of_cache                ? "echo 2 > /proc/sys/vm/drop_caches; grep Slab /proc/meminfo"
            : is_of_groups(most->name) ? "cat /proc/cgroups"
                                       : "memstatctl origins --limit 10");
  name_holder(evidence, kKernelMemory, Holds::kNow, *most->bytes / 3, finding);
}

constexpr std::string_view kLogEvents = "memstat_kernel_log_events_total";

/// Whether allocations of pages fail now.
bool has_failed_pages(const Evidence& evidence) {
  const MetricEvidence* const lines = evidence.sample(kLogEvents, "page_allocation_failure");
  return lines != nullptr && lines->change.recent > 0 && !ended(evidence, lines->change);
}

/// A call site of a module with much memory, from the kernel's profile of allocations. Pages of files and programs are
/// allocated by the kernel itself.
void look_at_call_sites(const Evidence& evidence, const Cause& cause, Findings& found) {
  constexpr double kMuch = 0.1;
  constexpr double kMost = 0.25;  // it is why allocations fail
  for (const TypeEvidence& site : evidence.types) {
    if (site.allocator != Allocator::kCallSite || !site.name.ends_with(']')) continue;
    const double bytes = site.bytes.value_or(0);
    if (evidence.share(bytes) < kMuch) continue;
    const bool is_failing = evidence.share(bytes) >= kMost && has_failed_pages(evidence);
    Finding& finding = add_finding(found, cause, is_failing ? Severity::kNow : Severity::kNotable, Certainty::kLikely,
                                   "Call site " + short_name(site.name) + " has " + bytes_text(bytes) + ", " +
                                       percent_text(evidence.share(bytes)) + " of all memory");
    finding.fact({.text = count_text(site.objects.value_or(0)) + " allocations that were not freed",
                  .source = "call_site/" + std::string(site.name),
                  .value = bytes,
                  .limit = kMuch * evidence.total_bytes});
    if (is_failing) {
      finding.fact({.text = "the kernel's log has allocations of pages that fail", .source = std::string(kLogEvents)});
    }
    finding.bytes = bytes;
    finding.by("function", site.name).is_about("call_site", site.name);
    finding.leads_to("The module in brackets holds it.")
        .then("memstatctl types --allocator call_site --sort bytes --limit 10");
  }
}

/// kmalloc() above two pages takes whole pages, which are in SUnreclaim but in no cache.
void look_at_large(const Evidence& evidence, const Cause& cause, Findings& found) {
  look_at_call_sites(evidence, cause, found);
  const auto reclaimable = evidence.part("slab_reclaimable");
  const auto fixed = evidence.part("slab_unreclaimable");
  if (!reclaimable || !fixed || evidence.slab_held_bytes <= 0) return;
  // Such pages are unreclaimable: what is missing beyond that is in caches that slabinfo does not list.
  const double missing = *reclaimable + *fixed - evidence.slab_held_bytes;
  const double hidden = std::min(missing, *fixed);
  const GrowthEvidence* const growth = evidence.growth(kAccountAllocator, "slab_unreclaimable");
  const bool is_growing = growth != nullptr && hidden >= growth->gain;
  constexpr double kShare = 0.03;
  if (evidence.share(hidden) < (is_growing ? 0.02 : kShare)) return;
  const bool is_starting = evidence.uptime_seconds > 0 && evidence.uptime_seconds < kBootSeconds;
  const auto to_end = is_growing && !is_starting ? outlook(*growth, growth->memory_seconds) : std::nullopt;
  Finding& finding = add_finding(
      found, cause, to_end ? Severity::kSoon : Severity::kNotable, Certainty::kLikely,
      "Slab memory outside of caches: " + bytes_text(hidden) + " of kmalloc above " + bytes_text(2 * evidence.page_bytes));
  finding.fact(
      {.text = bytes_text(*reclaimable + *fixed) + " of slab, " + bytes_text(evidence.slab_held_bytes) + " in caches",
       .source = "memstat_accounted_bytes",
       .value = hidden,
       .limit = kShare * evidence.total_bytes});
  if (missing > hidden) {
    finding.fact({.text = "slabinfo is not complete: " + bytes_text(missing - hidden) + " are in caches that it omits",
                  .source = "memstat_accounted_bytes",
                  .value = missing - hidden});
  }
  if (is_growing) {
    finding.fact(
        {.text = "unreclaimable slab grew by " + bytes_text(growth->gain) + " in " + duration_words(growth->seconds),
         .source = "account/slab_unreclaimable",
         .value = growth->gain,
         .window_seconds = growth->seconds});
  }
  finding.seconds_left = to_end;
  finding.bytes = hidden;
  finding.is_about("account", "slab_unreclaimable")
      .leads_to("A driver or a kernel buffer holds it.")
      .then("memstatctl origins --limit 10");
  name_holder(evidence, kKernelMemory, Holds::kNow, hidden / 3, finding);
}

constexpr Charge kReclaimable{"memstat_memcg_reclaimable_kernel_bytes", "", "of reclaimable kernel memory"};

void look_at_names(const Evidence& evidence, const Cause& cause, Findings& found) {
  const auto negative = evidence.value("memstat_negative_dentries");
  const TypeEvidence* const cache = evidence.type(Allocator::kSlab, "dentry");
  const TypeEvidence* const table = evidence.type(Allocator::kTable, "dentries");
  if (!negative || cache == nullptr || table == nullptr || !cache->object_bytes) return;
  const double all = table->objects.value_or(0) + table->free_objects.value_or(0);
  const double bytes = *negative * *cache->object_bytes;
  constexpr double kVeryMany = 5e6;  // removing a directory takes seconds
  if (*negative < 0.5 * all || (evidence.share(bytes) < 0.01 && *negative < kVeryMany)) return;
  Finding& finding =
      add_finding(found, cause, Severity::kNotable, Certainty::kLikely,
                  count_text(*negative) + " cached names of files that do not exist hold " + bytes_text(bytes));
  finding.fact({.text = percent_text(*negative / std::max(all, 1.0)) + " of all cached names",
                .source = "memstat_negative_dentries",
                .value = negative,
                .limit = 0.5 * all});
  finding.bytes = bytes;
  finding.is_about("slab", "dentry").is_about("table", "dentries");
  name_holder(evidence, kReclaimable, Holds::kNow, bytes / 2, finding);
  finding.leads_to("The kernel reclaims it when memory is short. Until then, removing large directories is slow.");
  finding.then("perf trace -e openat,newfstatat --failure -a sleep 5");
}

/// Objects freed under RCU are counted as used until a grace period has passed.
void look_at_rcu(const Evidence& evidence, const Cause& cause, Findings& found) {
  const TypeEvidence* const cache = evidence.type(Allocator::kSlab, "dentry");
  const TypeEvidence* const table = evidence.type(Allocator::kTable, "dentries");
  if (cache == nullptr || table == nullptr || !cache->objects || !table->objects) return;
  const double all = *table->objects + table->free_objects.value_or(0);
  const double waiting = *cache->objects - all;
  if (waiting < 100000 || waiting < 0.5 * all) return;
  Finding& finding = add_finding(found, cause, Severity::kNotable, Certainty::kPossible,
                                 count_text(waiting) + " freed directory entries are still in memory: RCU is late");
  finding.fact({.text = count_text(*cache->objects) + " objects, " + count_text(all) + " entries",
                .source = "slab/dentry",
                .value = waiting,
                .limit = 100000});
  finding.is_about("slab", "dentry")
      .leads_to("A CPU prevents the end of an RCU grace period.")
      .then("journalctl -k --grep 'rcu.*stall' -n 20");
}

void look_at_nodes(const Evidence& evidence, const Cause& cause, Findings& found) {
  const TypeEvidence* const nodes = evidence.type(Allocator::kSlab, "radix_tree_node");
  const auto cached = evidence.part("page_cache");
  if (nodes == nullptr || !nodes->held_bytes || !cached || evidence.share(*nodes->held_bytes) < 0.025) return;
  if (*nodes->held_bytes < 0.1 * *cached) return;  // proportionate to the page cache
  Finding& finding = add_finding(found, cause, Severity::kNotable, Certainty::kLikely,
                                 "Index nodes of the page cache hold " + bytes_text(*nodes->held_bytes));
  finding.fact({.text = bytes_text(*cached) + " of page cache need less",
                .source = "slab/radix_tree_node",
                .value = nodes->held_bytes,
                .limit = 0.025 * evidence.total_bytes});
  finding.bytes = *nodes->held_bytes;
  finding.is_about("slab", "radix_tree_node")
      .leads_to("They record evicted pages when memory is short, or a program uses many identifiers.");
}

constexpr std::string_view kSlabNeeds[] = {"slab/*"};
constexpr std::string_view kCacheUses[] = {kGroupKernel, kDirect, "account/slab_reclaimable", "account/slab_unreclaimable"};
constexpr std::string_view kZoneNeeds[] = {"uma/*"};
constexpr std::string_view kLargeNeeds[] = {"account/slab_unreclaimable", "slab/*"};
constexpr std::string_view kLargeUses[] = {kGroupKernel, kLogEvents};
constexpr std::string_view kLargeSymptoms[] = {"memory_growth", "page_allocation_failed"};
constexpr std::string_view kSumSymptoms[] = {"memory_low"};
constexpr std::string_view kNameNeeds[] = {"memstat_negative_dentries", "table/dentries"};
constexpr std::string_view kNameUses[] = {kReclaimable.metric};
constexpr std::string_view kRcuNeeds[] = {"table/dentries"};

constexpr std::array kCauses{
    Cause{.name = "slab_fragmented",
          .looks_for = "A slab cache holds much more memory than its objects need.",
          .system = CauseSystem::kLinux,
          .needs = kSlabNeeds,
          .runbook = "MemstatLeakSuspected",
          .look = look_at_waste,
          .row = 0},
    Cause{.name = "zone_idle",
          .looks_for = "A zone of uma(9) holds much more memory than its items need.",
          .system = CauseSystem::kFreeBsd,
          .needs = kZoneNeeds,
          .look = look_at_waste,
          .row = 1},
    Cause{.name = "slab_large",
          .looks_for = "A slab cache that reclaim cannot shrink takes a twentieth of memory or more.",
          .system = CauseSystem::kLinux,
          .needs = kSlabNeeds,
          .uses = kCacheUses,
          .explains = kSumSymptoms,
          .runbook = "MemstatLeakSuspected",
          .look = look_at_large_cache},
    Cause{.name = "kmalloc_large",
          .looks_for = "Large kernel allocations, which no cache shows, hold much memory.",
          .system = CauseSystem::kLinux,
          .needs = kLargeNeeds,
          .uses = kLargeUses,
          .explains = kLargeSymptoms,
          .look = look_at_large},
    Cause{.name = "negative_dentries",
          .looks_for = "Lookups of missing files fill the cache of names.",
          .system = CauseSystem::kLinux,
          .needs = kNameNeeds,
          .uses = kNameUses,
          .runbook = "MemstatNegativeDentries",
          .look = look_at_names},
    Cause{.name = "rcu_backlog",
          .looks_for = "Freed objects wait for RCU.",
          .system = CauseSystem::kLinux,
          .needs = kRcuNeeds,
          .look = look_at_rcu},
    Cause{.name = "shadow_nodes",
          .looks_for = "The page cache's index is larger than its pages need.",
          .system = CauseSystem::kLinux,
          .needs = kSlabNeeds,
          .look = look_at_nodes},
};

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::slab
