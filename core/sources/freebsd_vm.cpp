// SPDX-License-Identifier: BSD-2-Clause
// FreeBSD's page allocator, which libmemstat does not cover: page queues by domain, the memory account, and the page daemon,
// from integer sysctls (sys/vm/vm_meter.c, vm_page.c, vm_pageout.c, vm_reserv.c, amd64/amd64/pmap.c).
//
// Types are named like "domain 0 active". The queues of a domain are free, active, inactive, laundry and unswappable
// (vm.domain.N.stats). Every page of the machine is in one of them, wired, or briefly in use. If a kernel does not report a
// queue by domain (free pages before 12.0), the type is of all domains: "all domains free". "wired" is always of all
// domains.
//
// Parts of the account: the queues, and the wired pages by holder. These are the kernel's own, disjoint figures. kmem is the
// memory of uma(9) and malloc(9). Page tables and pv entries are the pmap's, on amd64 only. buffers are wired by the buffer
// cache, user_wired by mlock(2), and no more in the active queue; a page wired by both counts as buffers.
// wired_other is the rest of v_wire_count: kernel stacks, the array of pages, driver memory. Unaccounted are pages in
// per-CPU caches (zones "vm pgcache" of uma, if the kernel reports them) and pages in transit.
//
// The ARC, the cache of ZFS, is in kmem. It gives memory back down to its minimum, so that part is available. An ARC above
// its target is not shrinking as it should, and what it holds above the target is not counted. The kernel computes all of
// arcstats for each leaf, so only three are read.
//
// This kernel counts neither out-of-memory kills nor failed page allocations.
#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string>

#include "core/base/arithmetic.h"
#include "core/base/ascii.h"
#include "core/base/text.h"
#include "core/collect/listed_name.h"
#include "core/collect/sysctl_list.h"
#include "core/model/accounts.h"
#include "core/model/page_metrics.h"
#include "core/model/zfs_metrics.h"
#include "core/source.h"

namespace memstat::sources::freebsd_vm {
namespace {

constexpr SystemMetric kPageEvents = counter_metric(
    "memstat_page_events_total", Tier::kDefault,
    "Events of FreeBSD's page daemon since boot, by kind: wakeups, shortfalls, reactivated pages and others.", {"kind"});

constexpr SystemMetric kDaemonWantedPages =
    gauge_metric("memstat_page_daemon_wanted_pages", Tier::kDefault,
                 "Pages that the controller of FreeBSD's page daemon wants to be freed now, by domain.", {"node"});

constexpr std::string_view kOrigin = "sysctl vm";

constexpr std::size_t kBundlePart = 0;

constexpr std::string_view kDomains = "vm.domain.";
constexpr std::string_view kDomainStats = ".stats.";
constexpr std::string_view kDomainOutput = ".pidctrl.output";

// The first three are also read by freebsd_table. They are adjacent, so that the others need one request.
constexpr std::string_view kLeaves[] = {"vm.stats.vm.v_user_wire_count",
                                        "vm.uma_kmem_total",
                                        "vfs.bufspace",
                                        "vm.stats.vm.v_page_count",
                                        "vm.stats.vm.v_free_count",
                                        "vm.stats.vm.v_wire_count",
                                        "vm.stats.vm.v_active_count",
                                        "vm.stats.vm.v_inactive_count",
                                        "vm.stats.vm.v_laundry_count",
                                        "vm.stats.vm.v_cache_count",
                                        "vm.stats.page.nofreeq_size",
                                        "vm.pmap.kernel_pt_page_count",
                                        "vm.pmap.user_pt_page_count",
                                        "vm.pmap.pv_page_count",
                                        "vfs.bufmallocspace",
                                        "vm.stats.vm.v_pageout_free_min",
                                        "vm.stats.vm.v_interrupt_free_min",
                                        "vm.stats.vm.v_free_min",
                                        "vm.stats.vm.v_free_reserved",
                                        "vm.stats.vm.v_free_severe",
                                        "vm.stats.vm.v_free_target",
                                        "vm.stats.vm.v_inactive_target",
                                        "vm.stats.vm.v_tfree",
                                        "vm.stats.vm.v_dfree",
                                        "vm.stats.vm.v_pdpages",
                                        "vm.stats.vm.v_pdwakeups",
                                        "vm.stats.vm.v_pdshortfalls",
                                        "vm.stats.vm.v_reactivated",
                                        "vm.stats.vm.v_intrans",
                                        "vm.pageout_lock_miss",
                                        "vm.reserv.broken",
                                        "vm.reserv.reclaimed",
                                        "vm.largepages.reclaim_tries",
                                        "vm.stats.vm.v_swappgsin",
                                        "vm.stats.vm.v_swappgsout",
                                        "vm.stats.vm.v_vnodepgsin",
                                        "vm.stats.vm.v_vnodepgsout",
                                        "kstat.zfs.misc.arcstats.size",
                                        "kstat.zfs.misc.arcstats.c",
                                        "kstat.zfs.misc.arcstats.c_min"};
using Leaf = ListedName<kLeaves>;

constexpr std::size_t kQueueCount = 5;
constexpr std::size_t kThresholdCount = 5;

struct Queue {
  std::string_view word;
  std::string_view size;     ///< Leaf of a domain.
  std::string_view scanned;  ///< Leaf of a domain; "": the page daemon does not scan this queue.
  Leaf all = {};             ///< The size over all domains.
};
constexpr std::array<Queue, kQueueCount> kQueues = {{{"free", "free_count", "", "vm.stats.vm.v_free_count"},
                                                     {"active", "active", "actpdpgs", "vm.stats.vm.v_active_count"},
                                                     {"inactive", "inactive", "inactpdpgs", "vm.stats.vm.v_inactive_count"},
                                                     {"laundry", "laundry", "laundpdpgs", "vm.stats.vm.v_laundry_count"},
                                                     {"unswappable", "unswappable", "unswppdpgs", {}}}};
constexpr std::size_t kFreeQueue = 0;
constexpr std::size_t kUnswappable = 4;

struct Threshold {
  std::string_view leaf;
  std::string_view zone;
  std::string_view word;
  Leaf all;
};
constexpr std::array<Threshold, kThresholdCount> kThresholds = {
    {{"free_min", "free", "min", "vm.stats.vm.v_free_min"},
     {"free_reserved", "free", "reserved", "vm.stats.vm.v_free_reserved"},
     {"free_severe", "free", "severe", "vm.stats.vm.v_free_severe"},
     {"free_target", "free", "target", "vm.stats.vm.v_free_target"},
     {"inactive_target", "inactive", "target", "vm.stats.vm.v_inactive_target"}}};

using Amount = std::optional<std::uint64_t>;

struct AllDomains {
  Amount sizes[kQueueCount];
  std::uint64_t scanned[kQueueCount] = {};
  bool has_scanned = false;
  bool has_thresholds = false;
};

using TypeName = StackText<64>;

void add_queue(std::string_view name, std::uint64_t pages, bool is_free, std::uint64_t page_size, Staging& staging) {
  const std::size_t count = staging.types().size();
  StagedType& type = staging.merge(name);
  if (staging.types().size() == count) return;  // already named
  type.fields = FieldMask(Field::kHeldBytes, Field::kSize);
  type.figures[Field::kHeldBytes] = saturating_product(pages, page_size);
  type.figures[Field::kSize] = page_size;
  if (is_free) {
    type.set(Field::kFree, pages);
    return;
  }
  type.fields = type.fields | FieldMask(Field::kBytes, Field::kCount);
  type.figures[Field::kBytes] = type.figures[Field::kHeldBytes];
  type.figures[Field::kCount] = pages;
}

/// Splits "vm.domain.N.stats.LEAF". False for every other name.
bool split_domain(std::string_view name, std::uint32_t& number, std::string_view& leaf) {
  if (!name.starts_with(kDomains)) return false;
  name.remove_prefix(kDomains.size());
  const std::size_t end = name.find(kDomainStats);
  if (end == std::string_view::npos) return false;
  const auto parsed = parse_u64(name.substr(0, end));
  if (!parsed || *parsed >= kMaxNodes) return false;
  number = static_cast<std::uint32_t>(*parsed);
  leaf = name.substr(end + kDomainStats.size());
  return true;
}

/// False if the bytes are not a number.
bool take_domain_leaf(std::uint32_t domain, std::string_view leaf, std::string_view bytes, std::uint64_t page_size,
                      AllDomains& all, Staging& staging) {
  const Amount pages = sysctl_number(bytes);
  if (!pages) return false;
  for (std::size_t i = 0; i < kQueueCount; ++i) {
    if (leaf == kQueues[i].size) {
      add_queue(TypeName("domain ", domain, " ", kQueues[i].word).view(), *pages, i == kFreeQueue, page_size, staging);
      all.sizes[i] = saturating_sum(all.sizes[i].value_or(0), *pages);
    } else if (leaf == kQueues[i].scanned) {
      all.scanned[i] = saturating_sum(all.scanned[i], *pages);
      all.has_scanned = true;
    }
  }
  for (const Threshold& threshold : kThresholds) {
    if (leaf != threshold.leaf) continue;
    staging.statistics().add(kZoneWatermarkBytes, saturating_product(*pages, page_size),
                             {std::uint64_t{domain}, threshold.zone, threshold.word});
    all.has_thresholds = true;
  }
  return true;
}

using Numbers = std::array<KeyedNumber, std::size(kLeaves)>;

ArcStats arc_of(const Numbers& numbers) {
  return {.size = numbers[Leaf("kstat.zfs.misc.arcstats.size")].value,
          .target = numbers[Leaf("kstat.zfs.misc.arcstats.c")].value,
          .minimum = numbers[Leaf("kstat.zfs.misc.arcstats.c_min")].value,
          .evictable = {}};
}

/// The bytes of pages that are wired by mlock(2) and still in the active queue, until the page daemon meets them there: what
/// the parts exceed the used memory by, at most all that is locked.
std::uint64_t counted_twice(const Numbers& numbers, const AllDomains& all, std::uint64_t page_size) {
  const auto pages = [&](Leaf leaf) { return numbers[leaf].value.value_or(0); };
  std::uint64_t counted = all.sizes[kUnswappable].value_or(0);
  for (const Leaf leaf :
       {Leaf("vm.stats.vm.v_active_count"), Leaf("vm.stats.vm.v_inactive_count"), Leaf("vm.stats.vm.v_laundry_count"),
        Leaf("vm.stats.vm.v_cache_count"), Leaf("vm.stats.page.nofreeq_size"), Leaf("vm.stats.vm.v_wire_count")}) {
    counted = saturating_sum(counted, pages(leaf));
  }
  const std::uint64_t total = pages("vm.stats.vm.v_page_count");
  const std::uint64_t used = total - std::min(total, pages("vm.stats.vm.v_free_count"));
  const std::uint64_t excess = counted - std::min(counted, used);
  return saturating_product(std::min(excess, pages("vm.stats.vm.v_user_wire_count")), page_size);
}

void add_accounts(const Numbers& numbers, const AllDomains& all, std::uint64_t page_size, StagedStatistics& statistics) {
  const auto bytes = [&](Leaf leaf) -> Amount { return numbers[leaf].value; };
  const auto pages = [&](Leaf leaf) -> Amount {
    if (!numbers[leaf].value) return std::nullopt;
    return saturating_product(*numbers[leaf].value, page_size);
  };
  Accounts accounts(statistics);
  Amount active = pages("vm.stats.vm.v_active_count");
  if (active) *active -= std::min(*active, counted_twice(numbers, all, page_size));
  accounts.add("active", active);
  accounts.add("inactive", pages("vm.stats.vm.v_inactive_count"));
  accounts.add_if_reported("laundry", pages("vm.stats.vm.v_laundry_count"));  // since 11.2
  // The only queue without a total in vm.stats.
  if (all.sizes[kUnswappable])
    accounts.add_if_reported("unswappable", saturating_product(*all.sizes[kUnswappable], page_size));
  accounts.add_if_reported("cache",
                           pages("vm.stats.vm.v_cache_count"));  // until 11.2; later kernels count cached pages as free
  accounts.add_if_reported("set_aside",
                           pages("vm.stats.page.nofreeq_size"));  // since 15.0: for allocations that are never freed
  Amount wired = pages("vm.stats.vm.v_wire_count");
  if (!wired) {
    accounts.add("wired_other", std::nullopt);
  } else {
    const auto add_wired = [&](std::string_view part, Amount amount) {
      if (!amount) return;
      const std::uint64_t share = std::min(*amount, *wired);
      accounts.add(part, share);
      *wired -= share;
    };
    Amount page_tables = pages("vm.pmap.kernel_pt_page_count");
    if (page_tables) page_tables = saturating_sum(*page_tables, pages("vm.pmap.user_pt_page_count").value_or(0));
    Amount buffers = bytes("vfs.bufspace");
    if (buffers) *buffers -= std::min(*buffers, bytes("vfs.bufmallocspace").value_or(0));
    add_wired("kmem", bytes("vm.uma_kmem_total"));
    add_wired("page_tables", page_tables);
    add_wired("pv_entries", pages("vm.pmap.pv_page_count"));
    add_wired("buffers", buffers);
    add_wired("user_wired", pages("vm.stats.vm.v_user_wire_count"));
    accounts.add("wired_other", wired);
  }
  accounts.finish(*pages("vm.stats.vm.v_page_count"), *pages("vm.stats.vm.v_free_count"));
  // Dirty inactive pages go to the laundry first.
  const Amount cached =
      saturating_sum(pages("vm.stats.vm.v_inactive_count").value_or(0), pages("vm.stats.vm.v_cache_count").value_or(0));
  statistics.add(kAvailableBytes, saturating_sum(saturating_sum(*pages("vm.stats.vm.v_free_count"), *cached),
                                                 add_arc(arc_of(numbers), statistics)));
}

struct Counter {
  Leaf leaf;
  const SystemMetric* metric;
  std::string_view label;
  std::string_view second = {};
};
constexpr Counter kCounters[] = {
    {"vm.stats.vm.v_tfree", &kPageFrees, {}},
    {"vm.stats.vm.v_dfree", &kReclaimedPages, "page_daemon"},
    {"vm.stats.vm.v_pdwakeups", &kPageEvents, "daemon_wakeup"},
    {"vm.stats.vm.v_pdshortfalls", &kPageEvents, "daemon_shortfall"},
    {"vm.stats.vm.v_reactivated", &kPageEvents, "reactivated"},
    {"vm.stats.vm.v_intrans", &kPageEvents, "transit_wait"},
    {"vm.pageout_lock_miss", &kPageEvents, "daemon_lock_miss"},
    {"vm.reserv.broken", &kPageEvents, "reservation_broken"},
    {"vm.reserv.reclaimed", &kPageEvents, "reservation_reclaimed"},
    {"vm.largepages.reclaim_tries", &kPageEvents, "large_page_reclaim"},
    {"vm.stats.vm.v_swappgsin", &kPagedPages, "swap", "in"},
    {"vm.stats.vm.v_swappgsout", &kPagedPages, "swap", "out"},
    {"vm.stats.vm.v_vnodepgsin", &kPagedPages, "vnode", "in"},
    {"vm.stats.vm.v_vnodepgsout", &kPagedPages, "vnode", "out"},
};

void add_statistics(const Numbers& numbers, const AllDomains& all, std::uint64_t page_size, StagedStatistics& statistics) {
  if (!all.has_thresholds) {
    for (const Threshold& threshold : kThresholds) {
      if (const Amount pages = numbers[threshold.all].value) {
        statistics.add(kZoneWatermarkBytes, saturating_product(*pages, page_size), {"all", threshold.zone, threshold.word});
      }
    }
  }
  for (const auto& [leaf, word] : {std::pair(Leaf("vm.stats.vm.v_pageout_free_min"), "pageout_min"),
                                   std::pair(Leaf("vm.stats.vm.v_interrupt_free_min"), "interrupt_min")}) {
    if (const Amount pages = numbers[leaf].value) {
      statistics.add(kZoneWatermarkBytes, saturating_product(*pages, page_size), {"all", "free", word});
    }
  }
  if (all.has_scanned) {
    for (std::size_t i = 0; i < kQueueCount; ++i) {
      if (i != kFreeQueue) statistics.add(kReclaimScannedPages, all.scanned[i], {kQueues[i].word});
    }
  } else if (const Amount pages = numbers[Leaf("vm.stats.vm.v_pdpages")].value) {
    statistics.add(kReclaimScannedPages, *pages, {"page_daemon"});
  }
  for (const Counter& counter : kCounters) {
    if (const Amount value = numbers[counter.leaf].value) {
      statistics.add(*counter.metric, *value, {counter.label, counter.second});
    }
  }
}

/// False if the bytes are not a number. The controller may want a negative number of pages.
bool take_output(std::string_view name, std::string_view bytes, StagedStatistics& statistics) {
  name.remove_prefix(kDomains.size());
  name.remove_suffix(kDomainOutput.size());
  const auto domain = sysctl_index(name, kMaxNodes);
  const auto pages = sysctl_amount(bytes);
  if (domain && pages) statistics.add(kDaemonWantedPages, *pages, {*domain});
  return pages.has_value();
}

Result<void> parse(const RawBytes& raw, Staging& staging) {
  staging.reset({}, 0);
  const std::string_view bundle = raw.parts[kBundlePart].view();
  Numbers numbers = keyed_numbers(kLeaves);
  std::size_t cursor = 0;
  AllDomains all;
  const auto take = [&](std::string_view name, std::string_view bytes) {
    std::uint32_t number = 0;
    std::string_view leaf;
    if (name.starts_with(kDomains) && name.ends_with(kDomainOutput) &&
        name.size() > kDomains.size() + kDomainOutput.size()) {
      return take_output(name, bytes, staging.statistics());
    }
    if (!split_domain(name, number, leaf)) return take_sysctl(name, bytes, sysctl_number, numbers, cursor);
    return take_domain_leaf(number, leaf, bytes, raw.page_size, all, staging);
  };
  if (auto result = for_each_listed_sysctl(kOrigin, bundle, take); !result) return result;
  for (const Leaf leaf : {Leaf("vm.stats.vm.v_page_count"), Leaf("vm.stats.vm.v_free_count")}) {
    if (!numbers[leaf].value) return data_error(kOrigin, bundle.size(), std::string(kLeaves[leaf]) + " is missing");
  }
  for (std::size_t i = 0; i < kQueueCount; ++i) {
    if (all.sizes[i] || kQueues[i].all == std::size(kLeaves) || !numbers[kQueues[i].all].value) continue;
    add_queue(TypeName("all domains ", kQueues[i].word).view(), *numbers[kQueues[i].all].value, i == kFreeQueue,
              raw.page_size, staging);
  }
  if (numbers[Leaf("vm.stats.vm.v_wire_count")].value)
    add_queue("wired", *numbers[Leaf("vm.stats.vm.v_wire_count")].value, false, raw.page_size, staging);
  add_accounts(numbers, all, raw.page_size, staging.statistics());
  add_statistics(numbers, all, raw.page_size, staging.statistics());
  return {};
}

/// Without the first two there is no account; and a domain does not disappear while a kernel runs.
bool is_needed(std::string_view name) {
  return name == "vm.stats.vm.v_page_count" || name == "vm.stats.vm.v_free_count" || name.starts_with(kDomains);
}

bool is_setting(std::string_view name) {
  for (const std::string_view other :
       {"vm.stats.vm.v_page_count", "vm.stats.vm.v_pageout_free_min", "vm.stats.vm.v_interrupt_free_min"}) {
    if (name == other) return true;
  }
  std::uint32_t domain = 0;
  std::string_view leaf;
  const bool is_of_domain = split_domain(name, domain, leaf);
  return std::any_of(kThresholds.begin(), kThresholds.end(),
                     [&](const Threshold& one) { return is_of_domain ? one.leaf == leaf : kLeaves[one.all] == name; });
}

struct State final : ReaderState, SysctlListState {};

Result<void> find_sysctls(KernelView& view, SysctlListState& state) {
  SysctlList& list = state.list;
  state.clear();
  for (const std::string_view name : kLeaves) {
    const std::size_t before = list.size();
    if (auto result = list_sysctl(view, kOrigin, name, state); !result) return result;
    if (!is_needed(name) || list.size() != before) continue;
    list.clear();
    return as_error_of(kOrigin, system_error(name, ENOENT));
  }
  bool has_scanned = false;
  bool has_thresholds = false;
  // Domains are numbered without gaps; the first one without a queue ends them.
  for (std::uint32_t number = 0; number < kMaxNodes; ++number) {
    const std::string prefix = std::string(kDomains) + std::to_string(number) + std::string(kDomainStats);
    const std::size_t before = list.size();
    const auto find = [&](std::string_view leaf) -> Result<void> {
      return leaf.empty() ? Result<void>() : list_sysctl(view, kOrigin, prefix + std::string(leaf), state);
    };
    for (const Queue& queue : kQueues) {
      if (auto result = find(queue.size); !result) return result;
      const std::size_t unscanned = list.size();
      if (auto result = find(queue.scanned); !result) return result;
      has_scanned = has_scanned || list.size() > unscanned;
    }
    if (list.size() == before) break;
    const std::size_t queues = list.size();
    for (const Threshold& threshold : kThresholds) {
      if (auto result = find(threshold.leaf); !result) return result;
    }
    has_thresholds = has_thresholds || list.size() > queues;
    const std::string output = std::string(kDomains) + std::to_string(number) + std::string(kDomainOutput);
    if (auto result = list_sysctl(view, kOrigin, output, state); !result) return result;
  }
  // Each sysctl is a system call. parse() does not use these if the domains have their own.
  if (has_scanned) std::erase(list, "vm.stats.vm.v_pdpages");
  for (const Threshold& threshold : kThresholds) {
    if (has_thresholds) std::erase(list, kLeaves[threshold.all]);
  }
  return {};
}

Result<void> open(KernelView& view, RawBytes&, State& state) { return find_sysctls(view, state); }

constexpr SysctlRules kRules{.find = find_sysctls, .is_needed = is_needed, .is_setting = is_setting};

Result<void> read(KernelView& view, RawBytes& raw, State& state) {
  return read_listed_sysctls(view, kOrigin, kRules, state, raw.parts[kBundlePart]);
}

constexpr MetricOrigin kOrigins[] = {
    {Field::kBytes, "pages of the queue x page size"},
    {Field::kCount,
     "active, inactive, laundry, unswappable of vm.domain.N.stats, or vm.stats.vm.v_QUEUE_count, wired: "
     "vm.stats.vm.v_wire_count"},
    {Field::kHeldBytes, "pages of the queue x page size, also of free ones"},
    {Field::kFree, "free_count of vm.domain.N.stats, or vm.stats.vm.v_free_count, of queues called free only"},
    {Field::kSize, "page size"},
    {kAccountedBytes, "active, inactive, laundry, cache: vm.stats.vm.v_PART_count x page size"},
    {kAccountedBytes, "unswappable: unswappable of all vm.domain.N.stats x page size"},
    {kAccountedBytes, "set_aside: vm.stats.page.nofreeq_size x page size"},
    {kAccountedBytes, "kmem: vm.uma_kmem_total"},
    {kAccountedBytes, "page_tables: (vm.pmap.kernel_pt_page_count + vm.pmap.user_pt_page_count) x page size"},
    {kAccountedBytes, "pv_entries: vm.pmap.pv_page_count x page size"},
    {kAccountedBytes, "buffers: vfs.bufspace - vfs.bufmallocspace"},
    {kAccountedBytes, "user_wired: vm.stats.vm.v_user_wire_count x page size"},
    {kAccountedBytes, "wired_other: vm.stats.vm.v_wire_count x page size - the five parts before"},
    {kUnaccountedBytes, "(vm.stats.vm.v_page_count - vm.stats.vm.v_free_count) x page size - every part"},
    {kTotalBytes, "vm.stats.vm.v_page_count x page size"},
    {kAvailableBytes,
     "(v_free_count + v_inactive_count + v_cache_count) of vm.stats.vm x page size, with ZFS also the lower of size and c, "
     "- c_min, of kstat.zfs.misc.arcstats"},
    {kPartMissing, "1 for active, inactive or wired_other without its sysctl"},
    {kZoneWatermarkBytes,
     "free_min, free_reserved, free_severe, free_target, inactive_target of vm.domain.N.stats, "
     "or vm.stats.vm.v_FIGURE (node \"all\"), vm.stats.vm.v_pageout_free_min, v_interrupt_free_min"},
    {kDaemonWantedPages, "vm.domain.N.pidctrl.output"},
    {kPageFrees, "vm.stats.vm.v_tfree"},
    {kReclaimScannedPages,
     "by queue: actpdpgs, inactpdpgs, laundpdpgs, unswppdpgs of all vm.domain.N.stats, or vm.stats.vm.v_pdpages"},
    {kReclaimedPages, "page_daemon: vm.stats.vm.v_dfree"},
    {kPageEvents,
     "v_pdwakeups, v_pdshortfalls, v_reactivated, v_intrans of vm.stats.vm, "
     "vm.pageout_lock_miss, broken, reclaimed of vm.reserv, vm.largepages.reclaim_tries"},
    {kArcBytes, "kstat.zfs.misc.arcstats.size"},
    {kArcTargetBytes, "kstat.zfs.misc.arcstats.c"},
    {kArcMinBytes, "kstat.zfs.misc.arcstats.c_min"},
    {kPagedPages, "v_swappgsin, v_swappgsout, v_vnodepgsin, v_vnodepgsout of vm.stats.vm"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "freebsd_vm",
    .origin = "sysctl vm.stats, vm.domain, kstat.zfs.misc.arcstats",
    .os = OperatingSystem::kFreeBsd,
    .allocator = Allocator::kPage,
    .is_roster = true,
    .origins = kOrigins,
    .notes =
        "no privilege needed; unaccounted bytes are pages in per-CPU caches, and those that change while the sysctls are "
        "read; only amd64 reports page tables and pv entries, elsewhere they are in wired_other; the figures of ZFS are "
        "missing if it was loaded after memstatd started; this kernel does not count "
        "out-of-memory kills or failed page allocations",
    .steps = source_steps<State, open, read, parse>(),
};

}  // namespace memstat::sources::freebsd_vm
