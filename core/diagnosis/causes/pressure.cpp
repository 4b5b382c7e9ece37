// SPDX-License-Identifier: BSD-2-Clause
// Shortage of memory now: programs stall, zones are below their watermarks, swap is read and written.
#include <algorithm>
#include <array>
#include <utility>

#include "core/diagnosis/ended.h"
#include "core/diagnosis/holder.h"
#include "core/diagnosis/limit_state.h"
#include "core/diagnosis/parts.h"
#include "core/diagnosis/words.h"
#include "core/diagnosis/zones.h"

namespace memstat::causes::pressure {
namespace {

constexpr std::string_view kStalls = "memstat_pressure_stall_seconds_total";
constexpr std::string_view kDirect = "memstat_allocation_stalls_total";
constexpr std::string_view kPaged = "memstat_paged_pages_total";
constexpr std::string_view kIoStalls = "memstat_io_pressure_stall_seconds_total";
constexpr std::string_view kDirtyThreshold = "memstat_dirty_threshold_bytes";
constexpr std::string_view kWatermark = "memstat_zone_watermark_bytes";

/// Rates of swapping over less than this many seconds are meaningless.
constexpr double kMinWindow = 5;

double stalled_share(const Evidence& evidence, std::string_view kind) {
  const MetricEvidence* const stalls = evidence.sample(kStalls, kind);
  return stalls == nullptr ? 0 : evidence.time_share(stalls->change.recent);
}

Fact available_fact(const Evidence& evidence) {
  return {
      .text = bytes_text(evidence.available_bytes.value_or(0)) + " of " + bytes_text(evidence.total_bytes) + " available",
      .source = "memstat_memory_available_bytes",
      .value = evidence.available_bytes,
      .limit = evidence.total_bytes};
}

void look_at_stalls(const Evidence& evidence, const Cause& cause, Findings& found) {
  const double full = stalled_share(evidence, "full");
  const double some = stalled_share(evidence, "some");
  const bool is_bad = full >= 0.1;
  const bool is_much = is_bad || some >= 0.2;
  // Shorter stalls are often those of a group at its limit.
  const bool is_short = evidence.available_bytes && evidence.share(*evidence.available_bytes) < 0.15;
  if (!is_much && (!is_short || (full < 0.05 && some < 0.1))) return;
  const Severity severity = is_bad ? Severity::kNow : Severity::kWasteful;
  Finding& finding = add_finding(found, cause, is_much ? severity : Severity::kNotable,
                                 is_much ? Certainty::kConfirmed : Certainty::kPossible,
                                 "Programs stall for memory " + percent_text(is_bad ? full : some) + " of the time");
  finding.fact({.text = percent_text(some) + " of the time some program, " + percent_text(full) + " all of them, in " +
                        duration_words(evidence.recent_seconds),
                .source = std::string(kStalls),
                .value = is_bad ? full : some,
                .limit = is_bad ? 0.1 : 0.2,
                .window_seconds = evidence.recent_seconds});
  if (evidence.available_bytes) finding.fact(available_fact(evidence));
  name_holder(evidence, kStalled, Holds::kGainedLately, 0.3 * full * evidence.recent_seconds, finding);
  finding.leads_to("Their work takes that much longer.").then("memstatctl top").then("cat /proc/pressure/memory");
}

void look_at_direct(const Evidence& evidence, const Cause& cause, Findings& found) {
  const double rate = evidence.rate(evidence.moved(kDirect));
  const double some = stalled_share(evidence, "some");
  const bool is_much = rate >= 10 && some >= 0.05;
  if (!is_much && (rate < 2 || some < 0.02)) return;
  Finding& finding = add_finding(found, cause, is_much ? Severity::kWasteful : Severity::kNotable,
                                 is_much ? Certainty::kLikely : Certainty::kPossible,
                                 "Programs reclaim memory themselves: " + count_text(rate) + " times a second");
  finding.fact(
      {.text = count_text(evidence.moved(kDirect)) + " allocations stalled in " + duration_words(evidence.recent_seconds),
       .source = std::string(kDirect),
       .value = evidence.moved(kDirect),
       .window_seconds = evidence.recent_seconds});
  finding.leads_to("These allocations wait for reclaim.").then("sysctl vm.watermark_scale_factor");
}

/// Adds the largest part that is not a cache, including unaccounted memory, and the inspection that names its holder.
void add_largest(const Evidence& evidence, Finding& finding) {
  const auto part = largest_part(evidence);
  if (!part) return;
  const auto [name, metric, most, recent] = *part;
  finding.fact(
      {.text = std::string(name) + " holds most, " + bytes_text(most), .source = std::string(metric), .value = most});
  finding.is_about("account", name);
  constexpr std::pair<std::string_view, std::string_view> kQuestions[] = {
      {"anonymous", "anonymous"}, {"active", "anonymous"},        {"laundry", "anonymous"},
      {"shared", "tmpfs"},        {"page_tables", "page-tables"}, {"sockets", "queues"}};
  finding.inspection = {};
  for (const auto& [of_part, question] : kQuestions) {
    if (of_part == name) finding.inspection = question;
  }
  name_holder(evidence, charge_of(name), Holds::kNow, most / 3, finding);
}

/// A machine that may be doing well with so little, so nothing else is ranked below it.
void add_small_reserve(const Evidence& evidence, const Cause& cause, Findings& found) {
  const double share = evidence.share(*evidence.available_bytes);
  if (*evidence.available_bytes >= kPlentyBytes / 8 || evidence.system != EvidenceSystem::kLinux) return;
  Finding& finding = add_finding(found, cause, Severity::kNotable, Certainty::kPossible,
                                 "Little memory is left: " + percent_text(share) + " is available");
  finding.fact(available_fact(evidence));
  add_largest(evidence, finding);
  finding.leads_to("A larger load makes the kernel reclaim memory all the time, or kill a process.")
      .then("memstatctl types --sort bytes --limit 15");
}

void look_at_available(const Evidence& evidence, const Cause& cause, Findings& found) {
  if (!evidence.available_bytes || evidence.total_bytes <= 0) return;
  const double share = evidence.share(*evidence.available_bytes);
  constexpr double kSmallReserve = 0.1;
  if (share >= 0.05 && share < kSmallReserve) add_small_reserve(evidence, cause, found);
  if (share >= 0.05) return;
  const bool is_little = *evidence.available_bytes < kPlentyBytes;
  const bool is_felt = stalled_share(evidence, "full") > 0.05 || evidence.rate(evidence.moved(kDirect)) > 1;
  if (!is_little && !is_felt) return;
  const Severity severity = share < 0.02 || is_felt ? Severity::kNow : Severity::kWasteful;
  Finding& finding = add_finding(found, cause, severity, is_felt ? Certainty::kLikely : Certainty::kPossible,
                                 "Memory is nearly used up: " + percent_text(share) + " is available");
  finding.fact(available_fact(evidence));
  add_largest(evidence, finding);
  finding.bytes = evidence.total_bytes;
  finding.leads_to("The kernel reclaims memory all the time, and may soon kill a process.")
      .then("memstatctl types --sort bytes --limit 15");
}

/// Pages moved by the swap pager. The metric has the same name on Linux.
double swapped(const Evidence& evidence, std::string_view direction) {
  for (const MetricEvidence& one : evidence.samples(kPaged)) {
    if (one.labels[0] == "swap" && one.labels[1] == direction) return one.change.recent;
  }
  return 0;
}

void look_at_swap(const Evidence& evidence, const Cause& cause, Findings& found) {
  const double in = evidence.rate(swapped(evidence, "in"));
  const double out = evidence.rate(swapped(evidence, "out"));
  // A slow disk limits the rate of swapping, but not the time that programs wait.
  const bool is_fast = evidence.recent_seconds >= kMinWindow && in >= 500 && out >= 100;
  const double some = stalled_share(evidence, "some");
  const bool is_felt = in >= 50 && out >= 50 && some >= 0.2;
  if (!is_fast && !is_felt && (in < 50 || some < 0.1)) return;
  const bool is_sure = is_fast || is_felt;
  Finding& finding = add_finding(found, cause, is_sure ? Severity::kNow : Severity::kNotable,
                                 is_sure ? Certainty::kLikely : Certainty::kPossible,
                                 "Memory thrashes: " + count_text(in) + " pages a second come back from swap");
  finding.fact({.text = count_text(in) + " pages/s in, " + count_text(out) + " pages/s out",
                .source = std::string(kPaged),
                .value = in,
                .limit = is_fast ? 500 : 50,
                .window_seconds = evidence.recent_seconds});
  name_holder(evidence, kSwappedIn, Holds::kGainedLately, in * evidence.recent_seconds / 3, finding);
  finding.leads_to("Programs wait for the disk when they use swapped memory.").then("vmstat 1 5");
}

constexpr std::string_view kLogEvents = "memstat_kernel_log_events_total";

/// The lines of FreeBSD's log about pages that found no room in swap, while they continue; nullptr: none.
const MetricEvidence* refused_swap(const Evidence& evidence) {
  const MetricEvidence* const lines = evidence.sample(kLogEvents, "swap_full");
  return lines != nullptr && lines->change.recent > 0 && !ended(evidence, lines->change) ? lines : nullptr;
}

struct SwapSpace {
  double total;
  double free;
};

void add_refused_swap(const Evidence& evidence, const Cause& cause, const MetricEvidence& lines, const SwapSpace& swap,
                      Findings& found) {
  Finding& finding = add_finding(found, cause, Severity::kNow, Certainty::kConfirmed,
                                 "Swap is full: " + percent_text(1 - swap.free / swap.total) + " of " +
                                     bytes_text(swap.total) + " is in use, and pages found no room");
  finding.is_paused = has_paused(evidence, lines.change);
  finding.bytes = swap.total - swap.free;
  finding.fact(
      {.text = counted(lines.change.recent, "line") + " of the kernel's log in " + duration_words(evidence.recent_seconds),
       .source = std::string(kLogEvents),
       .value = lines.change.recent,
       .window_seconds = evidence.recent_seconds});
  if (const LoggedEvidence* const line = evidence.any_line("swap_full"); line != nullptr && !line->line.empty())
    finding.fact({.text = "\"" + cut_text(line->line, 120) + "\"", .source = "freebsd_kernel_log"});
  finding.fact(available_fact(evidence));
  finding.leads_to("Pages cannot be swapped out. When memory is gone, too, the kernel kills a process.").then("swapinfo -h");
}

void look_at_swap_space(const Evidence& evidence, const Cause& cause, Findings& found) {
  const auto total = evidence.value("memstat_swap_total_bytes");
  const auto free = evidence.value("memstat_swap_free_bytes");
  if (!total || !free || *total <= 0 || *free > 0.15 * *total || !evidence.available_bytes) return;
  if (const MetricEvidence* const lines = refused_swap(evidence); lines != nullptr) {
    add_refused_swap(evidence, cause, *lines, {*total, *free}, found);
    return;
  }
  const double available = evidence.share(*evidence.available_bytes);
  // Cold pages that no program needs.
  if (available > (*free <= 0.02 * *total ? 0.2 : 0.1) || *evidence.available_bytes >= kPlentyBytes) return;
  const bool is_short = available <= 0.1 && *free <= 0.1 * *total;
  Finding& finding =
      add_finding(found, cause, is_short ? Severity::kWasteful : Severity::kNotable,
                  is_short ? Certainty::kLikely : Certainty::kPossible,
                  percent_text(1 - *free / *total) + " of swap (" + bytes_text(*total) + ") is in use, and memory is short");
  if (!is_short) finding.bytes = *total - *free;
  finding.fact({.text = bytes_text(*free) + " of " + bytes_text(*total) + " free",
                .source = "memstat_swap_free_bytes",
                .value = free,
                .limit = total});
  finding.fact(available_fact(evidence));
  name_holder(evidence, kSwapSpace, Holds::kNow, *total / 3, finding);
  finding.leads_to("At the next shortage the kernel will kill a process.")
      .then(evidence.system == EvidenceSystem::kFreeBsd ? "swapinfo -h"
                                                        : "grep VmSwap /proc/[0-9]*/status | sort -k2 -rn | head");
}

/// A zone of Linux below `min` while the machine has memory: requests that can use no other zone fail.
void look_at_zones(const Evidence& evidence, const Cause& cause, Findings& found) {
  for (const ShortZone& zone : short_zones(evidence)) {
    const double usable = std::max(zone.free - zone.free_cma, 0.0);
    const bool is_of_cma = zone.free >= zone.reserve;
    Finding& finding =
        add_finding(found, cause, Severity::kNow, Certainty::kLikely,
                    is_of_cma ? "Zone " + zone.name + " has " + bytes_text(usable) + " for the kernel: the other " +
                                    bytes_text(zone.free_cma) + " free are CMA"
                              : "Zone " + zone.name + " is below its emergency reserve: " + bytes_text(zone.free) + " free");
    finding.fact({.text = bytes_text(usable) + " free of at least " + bytes_text(zone.reserve),
                  .source = "page/" + zone.name,
                  .value = usable,
                  .limit = zone.reserve});
    if (zone.free_cma > 0) {
      finding.fact({.text = bytes_text(zone.free_cma) + " more are free in contiguous memory areas, for movable pages only",
                    .source = "memstat_zone_free_cma_bytes",
                    .value = zone.free_cma});
    }
    finding.by("zone", zone.name).is_about("page", zone.name);
    finding.leads_to(is_of_cma ? "Kernel memory comes from this zone only: the kernel kills while other memory is free."
                               : "Only emergency allocations succeed there.");
    finding.then("grep -A6 'zone *" + zone.name.substr(zone.name.rfind(' ') + 1) + "' /proc/zoneinfo");
    if (is_of_cma) finding.then("grep Cma /proc/meminfo; grep -o 'cma=[^ ]*' /proc/cmdline");
  }
}

/// Free memory of a domain of FreeBSD; nothing: unknown.
std::optional<double> free_of_domain(const Evidence& evidence, std::string_view domain) {
  const TypeEvidence* const page = evidence.type(Allocator::kPage, "domain " + std::string(domain) + " free");
  if (page == nullptr || !page->free_objects || !page->object_bytes) return std::nullopt;
  return *page->free_objects * *page->object_bytes;
}

/// Each domain has a page daemon: that of a short domain swaps out although another domain has plenty of memory.
void look_at_short_domains(const Evidence& evidence, const Cause& cause, Findings& found) {
  constexpr double kTimes = 4;  // the other domain's target
  const double out = swapped(evidence, "out");
  if (out <= 0) return;
  for (const MetricEvidence& mark : evidence.samples(kWatermark)) {
    if (mark.labels[1] != "free" || mark.labels[2] != "target") continue;
    const auto free = free_of_domain(evidence, mark.labels[0]);
    if (!free || *free >= mark.value) continue;
    for (const MetricEvidence& other : evidence.samples(kWatermark)) {
      if (other.labels[1] != "free" || other.labels[2] != "target" || other.labels[0] == mark.labels[0]) continue;
      const auto elsewhere = free_of_domain(evidence, other.labels[0]);
      if (!elsewhere || *elsewhere < kTimes * other.value) continue;
      const std::string domain = "domain " + std::string(mark.labels[0]);
      Finding& finding = add_finding(found, cause, Severity::kWasteful, Certainty::kLikely,
                                     "Memory of " + domain + " is short: " + bytes_text(*free) + " free, and " +
                                         bytes_text(*elsewhere) + " in domain " + std::string(other.labels[0]));
      finding.fact({.text = bytes_text(*free) + " free of the " + bytes_text(mark.value) + " that its page daemon keeps",
                    .source = "page/" + domain + " free",
                    .value = free,
                    .limit = mark.value});
      finding.fact({.text = count_text(out) + " pages swapped out in " + duration_words(evidence.recent_seconds),
                    .source = std::string(kPaged),
                    .value = out,
                    .window_seconds = evidence.recent_seconds});
      finding.by("domain", mark.labels[0]).is_about("page", domain + " free");
      finding.leads_to("Its page daemon swaps out instead of using memory of the other domain.")
          .then("sysctl vm.domain")
          .then("cpuset -g -d " + std::string(mark.labels[0]));
      break;
    }
  }
}

/// FreeBSD: below `severe` page faults wait, below `min` the kernel waits, too.
void look_at_domains(const Evidence& evidence, const Cause& cause, Findings& found) {
  for (const MetricEvidence& mark : evidence.samples(kWatermark)) {
    if (mark.labels[1] != "free" || mark.labels[2] != "severe" || mark.labels[0] == "all") continue;
    const std::string domain = "domain " + std::string(mark.labels[0]) + " free";
    const auto all_free = free_of_domain(evidence, mark.labels[0]);
    if (!all_free || *all_free > mark.value) continue;
    const double free = *all_free;
    Finding& finding = add_finding(found, cause, Severity::kNow, Certainty::kLikely,
                                   "Memory of domain " + std::string(mark.labels[0]) +
                                       " is exhausted: page faults wait until " + bytes_text(mark.value) + " are free");
    finding.fact({.text = bytes_text(free) + " free", .source = "page/" + domain, .value = free, .limit = mark.value});
    finding.by("domain", mark.labels[0])
        .is_about("page", domain)
        .leads_to("Programs stop; then the kernel kills the largest.");
    finding.then("top -b -o res | head -20").then("memstatctl types --sort bytes --limit 15");
  }
  if (found.empty() || found.back().rule != &cause) look_at_short_domains(evidence, cause, found);
}

void look_at_daemon(const Evidence& evidence, const Cause& cause, Findings& found) {
  const MetricEvidence* const shortfall = evidence.sample("memstat_page_events_total", "daemon_shortfall");
  if (shortfall == nullptr || shortfall->change.recent <= 0 || swapped(evidence, "out") <= 0) return;
  Finding& finding = add_finding(
      found, cause, Severity::kWasteful, Certainty::kConfirmed,
      "The page daemon fell short " + count_text(shortfall->change.recent) + " times, and memory is swapped out");
  finding.fact(
      {.text = count_text(swapped(evidence, "out")) + " pages swapped out in " + duration_words(evidence.recent_seconds),
       .source = std::string(kPaged),
       .value = swapped(evidence, "out"),
       .window_seconds = evidence.recent_seconds});
  if (evidence.available_bytes) finding.fact(available_fact(evidence));
  finding.leads_to("Programs wait for memory.").then("top -b -o res | head -20");
}

/// Memory of a group that reclaim and writeback cannot give to files.
double fixed_bytes(const Evidence& evidence, std::string_view group) {
  return charged_to(evidence, group, kProgramMemory, Holds::kNow) + charged_to(evidence, group, kSharedMemory, Holds::kNow) +
         charged_to(evidence, group, kKernelMemory, Holds::kNow);
}

/// A group has its own share of dirty pages: the kernel slows its writers down from about 15 % of what its limit leaves for
/// files, while the machine's dirty pages are few (mm/page-writeback.c, mem_cgroup_wb_stats).
void look_at_writers_of_groups(const Evidence& evidence, const Cause& cause, double waiting, Findings& found) {
  constexpr double kShare = 0.12;
  for (const MetricEvidence& dirty : evidence.samples(kDirtyMemory.metric)) {
    if (dirty.labels[1] != kDirtyMemory.part) continue;
    const TypeEvidence* const group = evidence.type(Allocator::kMemcg, dirty.labels[0]);
    if (group == nullptr || !group->limit_bytes || !group->bytes || *group->bytes < 0.5 * *group->limit_bytes) continue;
    const double room = *group->limit_bytes - fixed_bytes(evidence, group->name);
    if (room <= 0 || dirty.value < kShare * room) continue;
    Finding& finding = add_finding(found, cause, Severity::kNotable, Certainty::kPossible,
                                   "Control group " + short_name(group->name, 36) + ": writers wait, " +
                                       bytes_text(dirty.value) + " are not written yet");
    finding.fact({.text = percent_text(dirty.value / room) + " of what its limit leaves for files is dirty",
                  .source = std::string(kDirtyMemory.metric),
                  .value = dirty.value,
                  .limit = kShare * room});
    finding.fact({.text = "programs waited for the disk " + percent_text(waiting) + " of the time",
                  .source = std::string(kIoStalls),
                  .value = waiting,
                  .window_seconds = evidence.recent_seconds});
    finding.by("group", group->name).is_about("memcg", group->name);
    finding.leads_to("Its writes are as slow as its disk.").then("cat " + group_file(evidence, group->name, "/io.pressure"));
  }
}

/// Writers that waited for most of the window, and have stopped.
void look_at_past_writers(const Evidence& evidence, const Cause& cause, const MetricEvidence& stalls, double limit,
                          Findings& found) {
  const MetricEvidence* const dirty = evidence.sample("memstat_dirty_bytes");
  const MetricEvidence* const writeback = evidence.sample("memstat_writeback_bytes");
  const double highest =
      std::max(dirty == nullptr ? 0 : dirty->change.highest, writeback == nullptr ? 0 : writeback->change.highest);
  if (limit <= 0 || highest < 0.6 * limit) return;
  const double waited = evidence.time_share(stalls.change.recent);
  const std::string when =
      stalls.change.still > 0 ? " until " + duration_words(stalls.change.still) + " ago" : std::string();
  Finding& finding = add_finding(found, cause, Severity::kNotable, Certainty::kLikely,
                                 "Writers waited for the disk " + percent_text(waited) + " of the time" + when);
  finding.fact(
      {.text = "programs waited for the disk " + percent_text(waited) + " of " + duration_words(evidence.recent_seconds),
       .source = std::string(kIoStalls),
       .value = waited,
       .window_seconds = evidence.recent_seconds});
  finding.fact({.text = bytes_text(highest) +
                        " of files were not written yet at the highest; writers are slowed down from " + bytes_text(limit) +
                        " on",
                .source = "memstat_dirty_bytes",
                .value = highest,
                .limit = limit,
                .window_seconds = evidence.recent_seconds});
  finding.is_past = true;
  finding.leads_to("Programs that write wait for the disk.").then("sysctl vm.dirty_bytes vm.dirty_ratio");
}

void look_at_throttling(const Evidence& evidence, const Cause& cause, Findings& found) {
  const double pages = evidence.moved("memstat_throttled_written_pages_total");
  const bool waits_in_reclaim = evidence.rate(pages) >= 1;
  const double dirty =
      evidence.value("memstat_dirty_bytes").value_or(0) + evidence.value("memstat_writeback_bytes").value_or(0);
  const double limit =
      (evidence.value(kDirtyThreshold, "background").value_or(0) + evidence.value(kDirtyThreshold, "throttle").value_or(0)) /
      2;
  const MetricEvidence* const stalls = evidence.sample(kIoStalls, "some");
  const double waiting = stalls == nullptr ? 0 : evidence.time_share(stalls->change.recent);
  const bool is_near_limit = limit > 0 && dirty > 0.6 * limit && dirty <= limit;
  const bool waits_in_write = limit > 0 && dirty > 0.6 * limit && waiting > 0.2;
  if (!waits_in_reclaim && !waits_in_write) {
    if (waiting > 0.2) look_at_writers_of_groups(evidence, cause, waiting, found);
    if (waiting > 0.5) look_at_past_writers(evidence, cause, *stalls, limit, found);
    return;
  }
  constexpr double kBurst = 30;  // such as copying files
  const bool is_long = waits_in_reclaim || evidence.recent_seconds >= kBurst;
  Finding& finding = add_finding(
      found, cause, is_long && (waits_in_reclaim || !is_near_limit) ? Severity::kWasteful : Severity::kNotable,
      waits_in_reclaim ? Certainty::kConfirmed
      : is_near_limit  ? Certainty::kPossible
                       : Certainty::kLikely,
      waits_in_reclaim ? "Reclaim waits for the disk: " + count_text(evidence.rate(pages)) + " dirty pages a second"
                       : "Writers wait for the disk: " + bytes_text(dirty) + " of files are not written yet");
  finding.fact(
      {.text = bytes_text(dirty) + " are dirty or being written; writers are slowed down from " + bytes_text(limit) + " on",
       .source = "memstat_dirty_bytes",
       .value = dirty,
       .limit = limit});
  if (waits_in_write) {
    finding.fact({.text = "programs waited for the disk " + percent_text(waiting) + " of the time",
                  .source = std::string(kIoStalls),
                  .value = waiting,
                  .window_seconds = evidence.recent_seconds});
  }
  name_holder(evidence, kDirtyMemory, Holds::kNow, dirty / 3, finding);
  finding.leads_to("Programs that need memory wait for writes.").then("sysctl vm.dirty_bytes vm.dirty_ratio");
}

/// The state lasts until kswapd frees something, but while memory is free kswapd does not run.
void look_at_kswapd(const Evidence& evidence, const Cause& cause, Findings& found) {
  if (evidence.available_bytes && evidence.share(*evidence.available_bytes) > 0.1) return;
  for (const MetricEvidence& node : evidence.samples("memstat_node_unreclaimable")) {
    if (node.value <= 0) continue;
    Finding& finding = add_finding(found, cause, Severity::kNow, Certainty::kConfirmed,
                                   "kswapd has given up on node " + std::string(node.labels[0]) + ": it frees nothing");
    finding.fact({.text = "16 runs without success", .source = std::string(node.metric), .value = node.value});
    finding.by("node", node.labels[0])
        .leads_to("Programs must reclaim memory themselves.")
        .then("memstatctl types --sort bytes --limit 15");
  }
}

constexpr std::string_view kStallNeeds[] = {kStalls};
constexpr std::string_view kDirectNeeds[] = {kDirect, kStalls};
constexpr std::string_view kAvailableUses[] = {kStalls,      kDirect,     kGroupAnonymous,
                                               kGroupKernel, kGroupParts, "memstat_unaccounted_bytes"};
constexpr std::string_view kSwapNeeds[] = {kPaged};
constexpr std::string_view kSpaceNeeds[] = {"memstat_swap_total_bytes", "memstat_swap_free_bytes"};
constexpr std::string_view kZoneNeeds[] = {kWatermark};
constexpr std::string_view kZoneUses[] = {"memstat_zone_free_cma_bytes"};
constexpr std::string_view kDaemonNeeds[] = {"memstat_page_events_total", kPaged};
constexpr std::string_view kThrottlingNeeds[] = {"memstat_throttled_written_pages_total"};
constexpr std::string_view kThrottlingUses[] = {"memstat_dirty_bytes", "memstat_writeback_bytes", kDirtyThreshold, kIoStalls,
                                                kGroupParts,           kGroupAnonymous,           kGroupKernel};
constexpr std::string_view kStallUses[] = {kGroupStalls};
constexpr std::string_view kSwapUses[] = {kGroupRefaults, kStalls};
constexpr std::string_view kSpaceUses[] = {kGroupSwap, kLogEvents};
constexpr std::string_view kNodeNeeds[] = {"memstat_node_unreclaimable"};
constexpr std::string_view kAccountNeeds[] = {"memstat_accounted_bytes"};
constexpr std::string_view kLowExplains[] = {"memory_stalls", "direct_reclaim", "kswapd_gave_up", "reclaim_thrash"};
constexpr std::string_view kThrashExplains[] = {"memory_stalls", "direct_reclaim", "memory_low"};
constexpr std::string_view kGoneExplains[] = {"page_daemon_short", "memory_low", "swap_thrash"};

constexpr std::array kCauses{
    Cause{.name = "memory_stalls",
          .looks_for = "Programs wait for memory for much of the time.",
          .system = CauseSystem::kLinux,
          .watches = Watches::kChange,
          .needs = kStallNeeds,
          .uses = kStallUses,
          .runbook = "MemstatMemoryPressure",
          .look = look_at_stalls},
    Cause{.name = "direct_reclaim",
          .looks_for = "Programs reclaim memory themselves instead of getting it.",
          .system = CauseSystem::kLinux,
          .watches = Watches::kChange,
          .needs = kDirectNeeds,
          .runbook = "MemstatMemoryShortfall",
          .look = look_at_direct},
    Cause{.name = "memory_low",
          .looks_for = "Less than a twentieth of memory is available.",
          .needs = kAccountNeeds,
          .uses = kAvailableUses,
          .explains = kLowExplains,
          .runbook = "MemstatMemoryLow",
          .inspection = "anonymous",
          .look = look_at_available},
    Cause{.name = "swap_thrash",
          .looks_for = "Pages go to swap and come back at once.",
          .watches = Watches::kChange,
          .needs = kSwapNeeds,
          .uses = kSwapUses,
          .explains = kThrashExplains,
          .look = look_at_swap},
    Cause{.name = "swap_full",
          .looks_for = "Swap is full while memory is short.",
          .needs = kSpaceNeeds,
          .uses = kSpaceUses,
          .look = look_at_swap_space},
    Cause{.name = "zone_short",
          .looks_for = "A zone has less free memory than its emergency reserve.",
          .system = CauseSystem::kLinux,
          .needs = kZoneNeeds,
          .uses = kZoneUses,
          .runbook = "MemstatZoneBelowMin",
          .look = look_at_zones},
    Cause{.name = "domain_exhausted",
          .looks_for =
              "So little memory of a domain is free that page faults wait, or that it swaps beside a domain with plenty.",
          .system = CauseSystem::kFreeBsd,
          .needs = kZoneNeeds,
          .uses = kSwapNeeds,
          .explains = kGoneExplains,
          .runbook = "MemstatMemoryShortfall",
          .inspection = "anonymous",
          .look = look_at_domains},
    Cause{.name = "page_daemon_short",
          .looks_for = "The page daemon cannot free enough, and memory is swapped out.",
          .system = CauseSystem::kFreeBsd,
          .watches = Watches::kChange,
          .needs = kDaemonNeeds,
          .runbook = "MemstatMemoryShortfall",
          .inspection = "anonymous",
          .look = look_at_daemon},
    Cause{.name = "writers_throttled",
          .looks_for = "Reclaim and writers wait for dirty pages to reach the disk.",
          .system = CauseSystem::kLinux,
          .watches = Watches::kChange,
          .needs = kThrottlingNeeds,
          .uses = kThrottlingUses,
          .look = look_at_throttling},
    Cause{.name = "kswapd_gave_up",
          .looks_for = "The kernel's own reclaim no longer frees anything.",
          .system = CauseSystem::kLinux,
          .needs = kNodeNeeds,
          .look = look_at_kswapd},
};

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::pressure
