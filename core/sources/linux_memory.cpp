// SPDX-License-Identifier: BSD-2-Clause
// The memory account of a Linux machine: disjoint parts, and the remainder of MemTotal - MemFree. From /proc/meminfo
// (fs/proc/meminfo.c), /proc/vmstat and /proc/zoneinfo (mm/vmstat.c), and small files in /sys.
//
// The kernel's figures overlap, so a part is a figure minus the parts contained in it:
//
// - Cached contains Shmem.
// - AnonPages counts mapped pages, so a mapped page that was swapped in is in both AnonPages and SwapCached.
// - The LRU lists contain each of these pages exactly once. Their pages beyond AnonPages, Cached and Buffers are not mapped:
//   first the swap cache, then `detached`. Those are pages that only a reference holds (a pipe, a device) after their
//   mapping or file is gone, and the rest of partly unmapped huge pages.
// - KReclaimable contains SReclaimable; `kernel_misc` is the rest.
// - VmallocUsed contains the kernel stacks if they are mapped (CONFIG_VMAP_STACK). The kernel does not report that, but then
//   /proc/vmallocinfo has areas for threads, so it is read once.
// - nr_zspages contains the zswap pool if zsmalloc stores it: always since 6.18, before that if the parameter zpool is
// zsmalloc.
// - SecPageTables contains nr_iommu_pages. Unaccepted and CmaFree are in MemFree. Mapped, Mlocked, AnonHugePages and the
//   like are views of other parts.
// - The memory map made at boot is not in MemTotal; memory map added later is.
// - A balloon is in MemTotal with some drivers (VMware, virtio with deflate-on-oom) but not with others. It is counted if
//   that much memory is otherwise unaccounted, which is true exactly in the first case.
// - Percpu contains the first chunk of every CPU (about 250 KiB), which is not in MemTotal; its size is unknown.
// - Socket data is in pages of its own or in slab caches. The kernel's count (mem of TCP and UDP in /proc/net/sockstat) does
//   not separate them, and includes packet heads, which are in slab caches. So `sockets` comes last and is that count,
//   limited to what is otherwise unaccounted. SCTP and fragments, at most 4 MiB, are omitted.
// - `tracing` is ftrace's ring buffer, without those of instances, which no single file reports.
// - `arc` is the cache of ZFS, which takes whole pages that meminfo does not count. MemAvailable has none of it, although it
//   is given back like the page cache.
//
// The kernel has no figure for pages that drivers allocate directly, or for those of pipes, Unix sockets, packet rings, RAM
// disks and firmware. They are the unaccounted memory.
//
// A part is missing if the kernel has such memory but reports no value, or if the file cannot be read. Kernels before 6.1 do
// not count secondary page tables, and those before 6.10 do not count the memory map of hot-plugged memory. Before 4.4,
// VmallocUsed is address space, with that of devices; VmallocChunk is 0 since. Before 4.16 no line has the huge pages of
// all sizes, so their pools are read. Before 2.6.19 `slab` stands for both kinds of slab memory.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/base/arithmetic.h"
#include "core/base/text.h"
#include "core/collect/listed_name.h"
#include "core/collect/plan_reader.h"
#include "core/model/accounts.h"
#include "core/model/headroom.h"
#include "core/model/page_metrics.h"
#include "core/model/zfs_metrics.h"
#include "core/parse/key_values.h"
#include "core/parse/memory_amounts.h"
#include "core/source.h"

namespace memstat::sources::linux_memory {
namespace {

constexpr SystemMetric kCommitLimitBytes =
    gauge_metric("memstat_commit_limit_bytes", Tier::kDefault,
                 "Maximum bytes that programs may commit in total; enforced only with vm.overcommit_memory=2.");

constexpr SystemMetric kOvercommitMode = gauge_metric("memstat_overcommit_mode", Tier::kDefault,
                                                      "vm.overcommit_memory now: 0 refuses only a request larger than all "
                                                      "memory, 1 refuses none, 2 enforces the commit limit.");

constexpr SystemMetric kCommittedBytes =
    gauge_metric("memstat_committed_bytes", Tier::kDefault, "Bytes committed to programs now, used or not.");

constexpr SystemMetric kLockedBytes =
    gauge_metric("memstat_locked_bytes", Tier::kDefault, "Bytes of memory locked by programs now.");

constexpr SystemMetric kUnevictableBytes = gauge_metric("memstat_unevictable_bytes", Tier::kDefault,
                                                        "Bytes of unevictable memory now: locked memory, ramfs and others.");

constexpr SystemMetric kBalloonBytes =
    gauge_metric("memstat_balloon_bytes", Tier::kDefault,
                 "Bytes that the host has taken back by a balloon now, whether or not they are in the total.");

constexpr SystemMetric kAnonymousHugeBytes =
    gauge_metric("memstat_anonymous_huge_bytes", Tier::kDefault, "Bytes of anonymous memory in transparent huge pages now.");

constexpr SystemMetric kDirtyBytes =
    gauge_metric("memstat_dirty_bytes", Tier::kDefault, "Bytes of cached files not yet written to disk now.");

constexpr SystemMetric kWritebackBytes =
    gauge_metric("memstat_writeback_bytes", Tier::kDefault, "Bytes that are being written to disk now.");

constexpr SystemMetric kDirtyThresholdBytes =
    gauge_metric("memstat_dirty_threshold_bytes", Tier::kDefault,
                 "Dirty bytes above which the kernel starts to write (background) or delays writers (throttle).", {"kind"});

constexpr SystemMetric kPagePins = gauge_metric(
    "memstat_page_pins", Tier::kDefault, "Pins that keep pages in place for devices and others now (pin_user_pages).");

constexpr SystemMetric kFreeWholeBlockBytes =
    gauge_metric("memstat_free_whole_block_bytes", Tier::kDefault, "Free bytes in entirely free page blocks now.");

constexpr SystemMetric kZramBytes =
    gauge_metric("memstat_zram_bytes", Tier::kDefault,
                 "Bytes of a block device that is compressed in memory now, by part: original (before compression), "
                 "compressed, held (including free space in its pages), peak of held, and limit of held if one is set.",
                 {"device", "part"});

constexpr std::string_view kMeminfo = "/proc/meminfo";
constexpr std::string_view kZoneinfo = "/proc/zoneinfo";
constexpr std::string_view kOvercommit = "/proc/sys/vm/overcommit_memory";
constexpr std::string_view kVmallocinfo = "/proc/vmallocinfo";
constexpr std::string_view kCmaAreas = "/sys/kernel/mm/cma/";
constexpr std::string_view kZpool = "/sys/module/zswap/parameters/zpool";
constexpr std::string_view kSockstat = "/proc/net/sockstat";
constexpr std::string_view kTracing = "/sys/kernel/tracing/buffer_total_size_kb";
constexpr std::string_view kArcstats = "/proc/spl/kstat/zfs/arcstats";
constexpr std::string_view kZswapPool = "/sys/kernel/debug/zswap/pool_total_size";
constexpr std::string_view kHyperVBalloon = "/sys/kernel/debug/hv-balloon";
constexpr std::string_view kPools = "/sys/kernel/mm/hugepages/";

// A file that cannot be read is a missing part of the account, which is exported. Other zram devices are not read.
constexpr ReadNeed kExtra = ReadNeed::kExtra;
constexpr ReadTime kSeldom = ReadTime::kSeldom;
enum File : std::size_t { kMeminfoFile, kVmstatFile };
bool has_no_sum_of_pools(const RawBytes& raw, const ReaderState&) {  // before 4.19
  return raw.content(kMeminfoFile).find("\nHugetlb:") == std::string_view::npos;
}
constexpr PlannedFile kPlan[] = {
    {.path = kMeminfo, .need = ReadNeed::kRequired, .is_kept_open = true},
    {.path = "/proc/vmstat", .need = kExtra, .is_kept_open = true},
    {.path = "/sys/kernel/mm/cma/*/alloc_pages_success", .need = kExtra},
    {.path = "/sys/kernel/mm/cma/*/available_pages", .need = kExtra},
    {.path = "/sys/kernel/mm/cma/*/release_pages_success", .need = kExtra},
    {.path = "/sys/kernel/mm/cma/*/total_pages", .need = kExtra},
    {.path = "/sys/kernel/mm/hugepages/*/nr_hugepages", .need = kExtra, .is_wanted = has_no_sum_of_pools},
    {.path = kZswapPool, .need = kExtra, .is_kept_open = true},
    {.path = kZoneinfo, .need = kExtra, .is_kept_open = true},
    {.path = kTracing, .need = kExtra, .is_kept_open = true},
    {.path = kArcstats, .need = kExtra, .is_kept_open = true},
    {.path = kHyperVBalloon, .need = kExtra, .is_kept_open = true},
    {.path = kZpool, .time = kSeldom, .need = kExtra},
    {.path = kOvercommit, .time = kSeldom, .need = kExtra},
    {.path = "/sys/block/zram0/mm_stat", .time = kSeldom, .need = kExtra},
    {.path = "/sys/block/zram1/mm_stat", .time = kSeldom, .need = kExtra},
    {.path = "/sys/block/zram2/mm_stat", .time = kSeldom, .need = kExtra},
    {.path = "/sys/block/zram3/mm_stat", .time = kSeldom, .need = kExtra},
    {.path = kSockstat, .need = kExtra},
};

/// The kind of memory from which the kernel allocates thread stacks.
enum class Stacks : std::uint8_t {
  kNotAsked,
  kUnknown,  ///< /proc/vmallocinfo cannot be read.
  kMapped,   ///< In vmalloc areas.
  kPages,
};

struct State final : ReaderState {
  Stacks stacks = Stacks::kNotAsked;
};

constexpr std::string_view kLines[] = {
    "MemTotal",        "MemFree",           "MemAvailable",  "Buffers",      "Cached",       "SwapCached",   "Active",
    "Inactive",        "Unevictable",       "Mlocked",       "SwapTotal",    "SwapFree",     "Zswap",        "Dirty",
    "Writeback",       "AnonPages",         "Shmem",         "KReclaimable", "SReclaimable", "SUnreclaim",   "KernelStack",
    "PageTables",      "SecPageTables",     "Bounce",        "WritebackTmp", "CommitLimit",  "Committed_AS", "VmallocUsed",
    "Percpu",          "HardwareCorrupted", "AnonHugePages", "CmaTotal",     "Balloon",      "GPUActive",    "GPUReclaim",
    "HugePages_Total", "Hugepagesize",      "Hugetlb",       "Slab",         "VmallocChunk"};
using Line = ListedName<kLines>;

constexpr std::string_view kCounters[] = {
    "nr_free_pages_blocks", "nr_zspages",           "nr_isolated_anon",   "nr_isolated_file",
    "nr_foll_pin_acquired", "nr_foll_pin_released", "nr_dirty_threshold", "nr_dirty_background_threshold",
    "nr_memmap_pages",      "balloon_inflate",      "balloon_deflate"};
using Counter = ListedName<kCounters>;

/// Counts the pages of contiguous memory areas that drivers hold. Free ones are in MemFree, and those lent to processes are
/// in their parts. Areas for huge pages ("hugetlb0") are in the pools.
class CmaPages {
 public:
  void take(std::string_view area, std::string_view file, Amount number) {
    if (area != area_) {
      finish_area();
      area_ = area;
      total_ = available_ = allocated_ = released_ = std::nullopt;
    }
    if (file == "total_pages") total_ = number;
    if (file == "available_pages") available_ = number;
    if (file == "alloc_pages_success") allocated_ = number;
    if (file == "release_pages_success") released_ = number;
  }
  /// Nothing if some area does not report it.
  Amount finish() {
    finish_area();
    return is_reported_ ? pages_ : std::nullopt;
  }

 private:
  void finish_area() {
    if (area_.empty() || area_.starts_with("hugetlb")) return;
    // 6.15 added the number of free pages, 6.9 that of freed ones. Allocated pages alone are not enough.
    if (total_ && available_) {
      pages_ = sum_of(pages_, without(total_, available_));
    } else if (allocated_ && released_) {
      pages_ = sum_of(pages_, without(allocated_, released_));
    } else {
      is_reported_ = false;
    }
  }
  std::string_view area_;
  Amount total_, available_, allocated_, released_;
  Amount pages_;
  bool is_reported_ = true;
};

struct Files {
  Amount socket_pages;
  Amount tracing;  ///< B
  ZoneAmounts zones;
  Amount cma_pages;
  Amount zswap_pool;  ///< B
  Amount overcommit_mode;
  ArcStats arc;
  Amount huge_pools;      ///< B of all pools; nothing: not read, or not complete
  Amount hyperv_balloon;  ///< B
  bool has_zram = false;
  std::string_view zpool;  ///< allocator of the zswap pool; empty if not reported
};

Files files_of(const RawBytes& raw) {
  Files files;
  CmaPages cma;
  for (const RawFile& read : raw.files) {
    if (!read.has_content()) continue;
    const std::string_view path = read.path;
    const std::string_view content = read.bytes.view();
    std::string_view file;
    if (path == kZoneinfo) {
      files.zones = read_zone_amounts(content);
    } else if (path == kZpool) {
      files.zpool = trim(content);
    } else if (path == kSockstat) {
      files.socket_pages = count_socket_pages(content);
    } else if (path == kTracing) {
      files.tracing = tracing_bytes(content);
    } else if (path == kZswapPool) {
      files.zswap_pool = parse_u64(trim(content));
    } else if (path == kArcstats) {
      files.arc = read_arcstats(content);
    } else if (path == kOvercommit) {
      files.overcommit_mode = parse_u64(trim(content));
    } else if (path.ends_with("/mm_stat")) {
      files.has_zram = true;
    } else if (path == kHyperVBalloon) {
      files.hyperv_balloon = hyperv_bytes(content);
    } else if (const std::string_view pool = component_after(path, kPools, file); !pool.empty()) {
      files.huge_pools = sum_of(files.huge_pools, pool_bytes(pool, content));
    } else if (const std::string_view area = component_after(path, kCmaAreas, file); !area.empty()) {
      cma.take(area, file, parse_u64(trim(content)));
    }
  }
  files.cma_pages = cma.finish();
  return files;
}

/// Whether VmallocUsed contains the kernel stacks.
bool are_stacks_mapped(Stacks known, Amount vmalloc, Amount stacks) {
  if (known == Stacks::kMapped) return true;
  if (known == Stacks::kPages) return false;
  // Even without reading the areas: stacks that exceed them cannot be part of them.
  return vmalloc.value_or(0) >= stacks.value_or(0);
}

/// Pages on the LRU lists that are neither mapped nor in a file.
Amount unmapped_pages(const std::array<KeyedNumber, std::size(kLines)>& lines, Amount isolated) {
  Amount lists = isolated.value_or(0);
  for (const Line line : {Line("Active"), Line("Inactive"), Line("Unevictable")}) {
    const bool is_optional = line == Line("Unevictable");  // before 2.6.28 there is no such list
    if (!lines[line].value && !is_optional) return std::nullopt;
    lists = sum_of(lists, lines[line].value).value_or(0);
  }
  for (const Line line : {Line("AnonPages"), Line("Cached"), Line("Buffers")}) lists = without(lists, lines[line].value);
  return lists;
}

using Lines = std::array<KeyedNumber, std::size(kLines)>;
using Counters = std::array<KeyedNumber, std::size(kCounters)>;

/// A file that is truncated or malformed gives no values.
Counters read_counters(std::string_view vmstat) {
  Counters counters = keyed_numbers(kCounters);
  if (!vmstat.ends_with('\n') || read_keyed_numbers(vmstat, counters)) counters = keyed_numbers(kCounters);
  return counters;
}

/// Linux 6.12 lacks the line, but counts virtio's balloon by events. Other drivers do not count them, so without an event
/// the amount is unknown.
Amount balloon_bytes(const Lines& lines, const Counters& counters, const Files& files, std::uint64_t page) {
  if (const Amount reported = lines[Line("Balloon")].value) return reported;
  if (files.hyperv_balloon) return files.hyperv_balloon;
  const auto pages = [&](Counter number) { return times(counters[number].value, page); };
  const Amount inflated = pages("balloon_inflate");
  return inflated.value_or(0) != 0 ? without(inflated, pages("balloon_deflate")) : std::nullopt;
}

/// Slab memory. Nothing is missing if the kernel reports only the sum.
void add_slab(const Lines& lines, Accounts& accounts) {
  const Amount reclaimable = lines[Line("SReclaimable")].value;
  const Amount unreclaimable = lines[Line("SUnreclaim")].value;
  const Amount both = lines[Line("Slab")].value;
  if (!reclaimable && !unreclaimable && both) return accounts.add("slab", both);
  accounts.add("slab_reclaimable", reclaimable);
  accounts.add("slab_unreclaimable", unreclaimable);
}

void add_parts(const Files& files, std::uint64_t page, Stacks stacks, const Lines& lines, const Counters& counters,
               Accounts& accounts) {
  const auto line = [&](Line number) -> Amount { return lines[number].value; };
  const auto pages = [&](Counter number) { return times(counters[number].value, page); };

  accounts.add("anonymous", line("AnonPages"));
  accounts.add("page_cache", without(line("Cached"), line("Shmem")));
  accounts.add("shared", line("Shmem"));
  accounts.add("buffers", line("Buffers"));
  const Amount unmapped = unmapped_pages(lines, sum_of(pages("nr_isolated_anon"), pages("nr_isolated_file")));
  const Amount swapped =
      unmapped && line("SwapCached") ? Amount(std::min(*unmapped, *line("SwapCached"))) : line("SwapCached");
  accounts.add("swap_cache", swapped);
  accounts.add("detached", without(unmapped, swapped));

  add_slab(lines, accounts);
  accounts.add_if_reported("kernel_misc", without(line("KReclaimable"), line("SReclaimable")));
  accounts.add("kernel_stacks", line("KernelStack"));
  // Always 0 from 4.4 to 5.2, although every kernel has vmalloc areas.
  const bool is_memory = line("VmallocUsed").value_or(0) != 0 && line("VmallocChunk").value_or(0) == 0;
  const Amount vmalloc = is_memory ? line("VmallocUsed") : std::nullopt;
  const bool is_mapped = are_stacks_mapped(stacks, vmalloc, line("KernelStack"));
  accounts.add("vmalloc", is_mapped ? without(vmalloc, line("KernelStack")) : vmalloc);
  accounts.add("page_tables", line("PageTables"));
  accounts.add("secondary_page_tables", line("SecPageTables"));
  accounts.add("percpu", line("Percpu"));
  accounts.add("per_cpu_pages", times(files.zones.cpu_pages, page));
  accounts.add("memory_map", pages("nr_memmap_pages"));

  // Without the line, the number of pages is that of the pool of the default size.
  const Amount default_pool = times(line("HugePages_Total"), line("Hugepagesize").value_or(0));
  accounts.add_if_reported("hugetlb", line("Hugetlb")    ? line("Hugetlb")
                                      : files.huge_pools ? files.huge_pools
                                                         : default_pool);
  if (line("CmaTotal").value_or(0) != 0) accounts.add("cma", times(files.cma_pages, page));
  // meminfo has no line before 5.19, but a kernel with the parameter has the pool.
  const Amount zswap = line("Zswap") ? line("Zswap") : files.zswap_pool;
  const bool is_zsmalloc = files.zpool.empty() || files.zpool == "zsmalloc";
  accounts.add_if_reported("zswap", zswap);
  if (!zswap && !is_zsmalloc) accounts.add_missing("zswap");
  accounts.add_if_reported("zsmalloc", is_zsmalloc ? without(pages("nr_zspages"), zswap) : pages("nr_zspages"));
  accounts.add_if_reported("bounce", line("Bounce"));
  accounts.add_if_reported("writeback_copies", line("WritebackTmp"));
  accounts.add_if_reported("gpu", sum_of(line("GPUActive"), line("GPUReclaim")));
  accounts.add_if_reported("hardware_corrupted", line("HardwareCorrupted"));
  accounts.add_if_reported("tracing", files.tracing);
  accounts.add_if_reported("arc", files.arc.size);

  const Amount balloon = balloon_bytes(lines, counters, files, page);
  const std::uint64_t rest = without(without(*line("MemTotal"), *line("MemFree")), accounts.sum());
  if (balloon) accounts.add_if_reported("balloon", rest >= *balloon ? *balloon : 0);
  const Amount sockets = times(files.socket_pages, page);
  const std::uint64_t unheld = without(without(*line("MemTotal"), *line("MemFree")), accounts.sum());
  if (sockets) accounts.add_if_reported("sockets", std::min(*sockets, unheld));
}

/// Figures outside the account: swap, commitments, and views of memory that is in a part.
void add_views(const Lines& lines, const Counters& counters, const Files& files, std::uint64_t page_size,
               StagedStatistics& statistics) {
  struct View {
    Line line;
    const SystemMetric* metric;
  };
  constexpr View kViews[] = {
      {"SwapTotal", &kSwapTotalBytes},         {"SwapFree", &kSwapFreeBytes}, {"CommitLimit", &kCommitLimitBytes},
      {"Committed_AS", &kCommittedBytes},      {"Mlocked", &kLockedBytes},    {"Unevictable", &kUnevictableBytes},
      {"AnonHugePages", &kAnonymousHugeBytes}, {"Dirty", &kDirtyBytes},       {"Writeback", &kWritebackBytes}};
  for (const View& view : kViews) {
    if (const Amount amount = lines[view.line].value) statistics.add(*view.metric, *amount);
  }
  const auto bytes = [&](Counter number) { return times(counters[number].value, page_size); };
  if (const Amount amount = bytes("nr_dirty_background_threshold"))
    statistics.add(kDirtyThresholdBytes, *amount, {"background"});
  if (const Amount amount = bytes("nr_dirty_threshold")) statistics.add(kDirtyThresholdBytes, *amount, {"throttle"});
  if (const Amount amount = bytes("nr_free_pages_blocks")) statistics.add(kFreeWholeBlockBytes, *amount);
  // Each is summed over CPUs that keep pinning, so `released` may be ahead.
  if (const Amount pins =
          without(counters[Counter("nr_foll_pin_acquired")].value, counters[Counter("nr_foll_pin_released")].value))
    statistics.add(kPagePins, *pins);
  if (const Amount balloon = balloon_bytes(lines, counters, files, page_size)) statistics.add(kBalloonBytes, *balloon);
}

/// Swap on zram takes memory as zswap does.
void add_headroom(std::string_view meminfo, const Files& files, std::uint64_t page_size, std::uint64_t released_by_arc,
                  StagedStatistics& statistics) {
  const auto amounts = read_machine_amounts(meminfo, files.zones, page_size);
  if (!amounts) return;
  const std::uint64_t kernel = saturating_sum(amounts->kernel, released_by_arc);
  const bool is_swap_sure = !amounts->has_zswap && !files.has_zram;
  const std::uint64_t sure = saturating_sum(amounts->sure, is_swap_sure ? amounts->swap_free : 0);
  const Room room{.sure = sure,
                  .possible = saturating_sum(sure, saturating_sum(kernel, is_swap_sure ? 0 : amounts->swap_free))};
  if (room.is_certain()) return statistics.add(kHeadroomBytes, room.middle());
  const bool is_kernel = is_swap_sure || kernel >= amounts->swap_free;
  statistics.add(kHeadroomUncertain, 1, {to_string(is_kernel ? HeadroomDoubt::kKernel : HeadroomDoubt::kSwap)});
}

constexpr std::array<std::string_view, 5> kZramParts = {"original", "compressed", "held", "limit", "peak"};

/// Nothing if there are fewer numbers, or one of them does not fit in 64 bits.
std::optional<std::array<std::uint64_t, kZramParts.size()>> zram_amounts(std::string_view text) {
  std::array<std::uint64_t, kZramParts.size()> amounts{};
  for (std::uint64_t& amount : amounts) {
    std::string_view word;
    const auto parsed = next_word(text, word) ? parse_u64(word) : std::nullopt;
    if (!parsed) return std::nullopt;
    amount = *parsed;
  }
  return amounts;
}

/// "original compressed held limit peak ..." of each zram device, B (drivers/block/zram/zram_drv.c, mm_stat_show).
void add_zram(const RawBytes& raw, StagedStatistics& statistics) {
  for (const RawFile& read : raw.files) {
    std::string_view file;
    const std::string_view device = component_after(read.path, "/sys/block/", file);
    if (device.empty() || !read.has_content()) continue;
    const auto amounts = zram_amounts(read.bytes.view());
    for (std::size_t i = 0; amounts && i < amounts->size(); ++i) {
      if (kZramParts[i] != "limit" || (*amounts)[i] != 0) statistics.add(kZramBytes, (*amounts)[i], {device, kZramParts[i]});
    }
  }
}

Result<void> parse(const RawBytes& raw, const State& state, Staging& staging) {
  staging.reset({}, 0);
  const std::string_view text = raw.content(kMeminfoFile);
  if (!text.empty() && !text.ends_with('\n')) return data_error(kMeminfo, text.rfind('\n') + 1, "ends within a line");
  Lines lines = keyed_numbers(kLines);
  if (const auto offset = read_keyed_numbers(text, lines)) {
    return data_error(kMeminfo, *offset, "expected a number of at most 64 bits after the name");
  }
  for (const Line line : {Line("MemTotal"), Line("MemFree")}) {
    if (!lines[line].value) {
      return data_error(kMeminfo, text.size(), line == Line("MemTotal") ? "has no line MemTotal" : "has no line MemFree");
    }
  }
  // Linux commit 34e431b0ae39 ("/proc/meminfo: provide estimated available memory") (v3.14)
  const Files files = files_of(raw);
  const std::uint64_t released_by_arc = add_arc(files.arc, staging.statistics());
  if (const Amount available = lines[Line("MemAvailable")].value)
    staging.statistics().add(kAvailableBytes, saturating_sum(*available, released_by_arc));
  Accounts accounts(staging.statistics());
  const Counters counters = read_counters(raw.content(kVmstatFile));
  add_parts(files, raw.page_size, state.stacks, lines, counters, accounts);
  if (files.overcommit_mode) staging.statistics().add(kOvercommitMode, *files.overcommit_mode);
  add_views(lines, counters, files, raw.page_size, staging.statistics());
  add_zram(raw, staging.statistics());
  add_headroom(text, files, raw.page_size, released_by_arc, staging.statistics());
  accounts.finish(*lines[Line("MemTotal")].value, *lines[Line("MemFree")].value);
  return {};
}

/// Whether /proc/vmallocinfo has areas for threads.
Stacks kind_of_stacks(std::string_view vmallocinfo) {
  // Allocators of a stack's area; _do_fork until 5.9.
  for (const std::string_view caller : {" kernel_clone+0x", " fork_idle+0x", " _do_fork+0x", " copy_process+0x",
                                        " dup_task_struct+0x", " alloc_thread_stack_node+0x"}) {
    if (vmallocinfo.find(caller) != std::string_view::npos) return Stacks::kMapped;
  }
  return Stacks::kPages;
}

Result<void> read(KernelView& view, RawBytes& raw, State& state) {
  if (state.stacks == Stacks::kNotAsked) {
    Buffer areas;
    state.stacks = view.read_file(kVmallocinfo, areas) ? kind_of_stacks(areas.view()) : Stacks::kUnknown;
  }
  return read_plan(view, kPlan, raw, state);
}

// Links of /sys/block lead to the first; files of the second return their content only once per descriptor.
constexpr std::string_view kReopened[] = {"/sys/devices/virtual/block", "/sys/kernel/debug/zswap"};

constexpr MetricOrigin kOrigins[] = {
    {kAccountedBytes, "anonymous: AnonPages"},
    {kAccountedBytes, "page_cache: Cached - Shmem"},
    {kAccountedBytes, "shared: Shmem"},
    {kAccountedBytes, "buffers: Buffers"},
    {kAccountedBytes, "swap_cache: SwapCached, as far as it is not mapped (see detached)"},
    {kAccountedBytes,
     "detached: Active + Inactive + Unevictable + nr_isolated_* - AnonPages - Cached - Buffers - swap_cache"},
    {kAccountedBytes, "slab_reclaimable: SReclaimable"},
    {kAccountedBytes, "slab_unreclaimable: SUnreclaim"},
    {kAccountedBytes, "slab: Slab, of a kernel that reports neither of the two"},
    {kAccountedBytes, "kernel_misc: KReclaimable - SReclaimable"},
    {kAccountedBytes, "kernel_stacks: KernelStack"},
    {kAccountedBytes,
     "vmalloc: VmallocUsed - KernelStack (without the latter if stacks are not areas), unless VmallocChunk shows that it is "
     "address space"},
    {kAccountedBytes, "page_tables: PageTables"},
    {kAccountedBytes, "secondary_page_tables: SecPageTables"},
    {kAccountedBytes, "percpu: Percpu"},
    {kAccountedBytes, "per_cpu_pages: count of all pagesets in /proc/zoneinfo x page size"},
    {kAccountedBytes, "memory_map: nr_memmap_pages x page size"},
    {kAccountedBytes, "hugetlb: Hugetlb, or the sum over /sys/kernel/mm/hugepages"},
    {kAccountedBytes,
     "cma: total_pages - available_pages, or alloc_pages_success - release_pages_success, "
     "of /sys/kernel/mm/cma/AREA x page size, without areas of huge pages"},
    {kAccountedBytes, "zswap: Zswap, or pool_total_size of debugfs"},
    {kAccountedBytes, "zsmalloc: nr_zspages x page size - zswap (without the latter if zswap uses another allocator)"},
    {kAccountedBytes, "bounce: Bounce"},
    {kAccountedBytes, "writeback_copies: WritebackTmp"},
    {kAccountedBytes, "gpu: GPUActive + GPUReclaim"},
    {kAccountedBytes, "hardware_corrupted: HardwareCorrupted"},
    {kAccountedBytes,
     "balloon: Balloon, or pages_ballooned of Hyper-V's driver in debugfs, or (balloon_inflate - balloon_deflate) x page "
     "size, 0 if MemTotal does not include it"},
    {kAccountedBytes, "tracing: buffer_total_size_kb of /sys/kernel/tracing, without instances"},
    {kAccountedBytes, "arc: size of /proc/spl/kstat/zfs/arcstats"},
    {kAccountedBytes,
     "sockets: mem of TCP and UDP in /proc/net/sockstat x page size, at most the otherwise unaccounted memory"},
    {kUnaccountedBytes, "MemTotal - MemFree - every part"},
    {kTotalBytes, "MemTotal"},
    {kAvailableBytes,
     "MemAvailable, and of the cache of ZFS min(size, c) - c_min, at most the sum of its four *_evictable_* amounts"},
    {kHeadroomBytes,
     "MemFree, without min and the largest protection of all zones of /proc/zoneinfo, + count of their pagesets + "
     "Active(file) + Inactive(file) + SwapFree, and half of KReclaimable"},
    {kHeadroomUncertain, "1 if KReclaimable, or SwapFree with zram or Zswap, makes it uncertain"},
    {kArcBytes, "size of /proc/spl/kstat/zfs/arcstats"},
    {kArcTargetBytes, "c of arcstats"},
    {kArcMinBytes, "c_min of arcstats"},
    {kSwapTotalBytes, "SwapTotal"},
    {kSwapFreeBytes, "SwapFree"},
    {kCommitLimitBytes, "CommitLimit"},
    {kOvercommitMode, "/proc/sys/vm/overcommit_memory"},
    {kCommittedBytes, "Committed_AS"},
    {kLockedBytes, "Mlocked"},
    {kUnevictableBytes, "Unevictable"},
    {kBalloonBytes,
     "Balloon, or pages_ballooned of /sys/kernel/debug/hv-balloon, or (balloon_inflate - balloon_deflate) of vmstat x page "
     "size if the driver counts them"},
    {kAnonymousHugeBytes, "AnonHugePages"},
    {kDirtyBytes, "Dirty"},
    {kWritebackBytes, "Writeback"},
    {kDirtyThresholdBytes, "nr_dirty_background_threshold, nr_dirty_threshold, of vmstat, x page size"},
    {kPagePins, "nr_foll_pin_acquired - nr_foll_pin_released, of vmstat"},
    {kZramBytes, "the first five numbers of /sys/block/zram0 to zram3/mm_stat"},
    {kFreeWholeBlockBytes, "nr_free_pages_blocks, of vmstat, x page size"},
    {kPartMissing, "1 for a part whose line or file this kernel does not have, or that memstatd may not read"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "linux_memory",
    .origin = "/proc/meminfo",
    .os = OperatingSystem::kLinux,
    .origins = kOrigins,
    .plan = kPlan,
    .reopened_directories = kReopened,
    .notes =
        "needs no privilege; as root it can also determine whether kernel stacks are vmalloc areas, and the trace buffer if "
        "tracefs is mounted; unaccounted bytes are pages allocated directly by drivers, those of pipes, Unix sockets, "
        "packet rings and RAM disks, before Linux 6.14 the upper levels of page tables, and the few that change while the "
        "files are read; zram devices, the overcommit mode and the allocator of zswap's pool are read at every fourth read",
    .steps = planned_steps_with<State, kPlan, read, parse>(),
};

}  // namespace memstat::sources::linux_memory
