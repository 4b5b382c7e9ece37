// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/log_wordings.h"

#include <algorithm>
#include <array>

namespace memstat {
namespace {

constexpr WordingPlace kBehind = WordingPlace::kBehindName;

constexpr LogWording kLinux[] = {
    {LogEvent::kOomKill, "Out of memory: Killed process ", {}, {}, "5.1 on, EL 8"},
    {LogEvent::kOomKill, "Out of memory (oom_kill_allocating_task): Killed process ", {}, {}, "5.1 on, EL 8"},
    {LogEvent::kOomKill, "Memory cgroup out of memory: Killed process ", {}, {}, "5.1 on, EL 8"},
    {LogEvent::kOomKill, "Killed process ", " total-vm:", {}, "2.6.36 to 5.0"},
    {LogEvent::kOomKill, "Killed process ", " vsz:", {}, "2.6.34 and 2.6.35"},
    {LogEvent::kOomKill, "Killed process ", " (", ")", "to 2.6.33"},
    {LogEvent::kVictimExiting, "Out of memory: OOM victim ", " is already exiting", {}, "5.9 on"},
    {LogEvent::kVictimExiting, "Out of memory (oom_kill_allocating_task): OOM victim ", " is already exiting", {}, "5.9 on"},
    {LogEvent::kVictimExiting, "Memory cgroup out of memory: OOM victim ", " is already exiting", {}, "5.9 on"},
    {LogEvent::kNobodyToKill, "Out of memory and no killable processes"},
    {LogEvent::kNobodyToKill, "Kernel panic - not syncing: Out of memory"},
    {LogEvent::kNobodyToKill, "Kernel panic - not syncing: System is deadlocked on memory"},
    {LogEvent::kReaperFailed, "oom_reaper: unable to reap pid:", {}, {}, "4.6 on"},
    {LogEvent::kSlabAllocationFailure, "SLUB: Unable to allocate memory on "},
    {LogEvent::kSlabAllocationFailure, "SLAB: Unable to allocate memory on ", {}, {}, "to 6.7"},
    {LogEvent::kConntrackFull, "nf_conntrack: nf_conntrack: table full"},
    {LogEvent::kConntrackFull, "nf_conntrack: table full"},
    {LogEvent::kConntrackFull, "nf_conntrack: expectation table full"},
    {LogEvent::kConntrackFull, "nf_conntrack: nf_conntrack: expectation table full"},
    {LogEvent::kConntrackFull, "ip_conntrack: table full", {}, {}, "to 2.6.22"},
    {LogEvent::kNeighboursFull, "neighbour: ", ": neighbor table overflow!", {}, "3.14 on"},
    {LogEvent::kNeighboursFull, "Neighbour table overflow", {}, {}, "to 3.13"},
    {LogEvent::kNeighboursFull, "ipv4: Neighbour table overflow", {}, {}, "to 3.13"},
    {LogEvent::kFilesFull, "VFS: file-max limit "},
    {LogEvent::kPidsFull, "cgroup: fork rejected by pids controller in ", {}, {}, "4.3 on"},
    {LogEvent::kTcpMemoryFull, "TCP: out of memory -- consider tuning tcp_mem", {}, {}, "3.4 on"},
    {LogEvent::kTcpMemoryFull, "Out of socket memory", {}, {}, "to 3.3"},
    {LogEvent::kOrphansFull, "TCP: too many orphaned sockets", {}, {}, "3.4 on"},
    {LogEvent::kOrphansFull, "TCP: too many of orphaned sockets", {}, {}, "to 3.3"},
    {LogEvent::kTimeWaitFull, "TCP: time wait bucket table overflow"},
    {LogEvent::kMemoryError, "Memory failure: 0x", ": recovery action for "},
    {LogEvent::kMemoryErrorCorrected, "mce: [Hardware Error]: Machine check events logged"},
    {LogEvent::kMemoryErrorCorrected, "EDAC MC", " CE "},
    {LogEvent::kMemoryError, "EDAC MC", " UE "},
    {LogEvent::kMemoryError, "{", "section_type: memory error"},
    {LogEvent::kMemoryErrorInjected, "Injecting memory failure "},
    {LogEvent::kMemoryErrorInjected, "Memory failure: Injecting memory failure "},
    {LogEvent::kPagePoolStalled, "page_pool_release_retry() stalled pool shutdown", {}, {}, "5.5 on"},
    {LogEvent::kVmallocFailure, "vmap allocation for size ", " failed"},
    {LogEvent::kVmallocFailure, "vmalloc: allocation failure", {}, {}, "to 4.9"},
    {LogEvent::kVmallocFailure, "vmalloc_node_range for size ", " failed", {}, "6.13 on"},
    {LogEvent::kPercpuFailure, "percpu: allocation failed, "},
    {LogEvent::kPercpuFailure, "PERCPU: allocation failed, ", {}, {}, "to 3.16"},
    {LogEvent::kPagingError, "Read-error on swap-device ("},
    {LogEvent::kPagingError, "Write-error on swap-device ("},
    {LogEvent::kAuditFull, "audit: backlog limit exceeded"},
    {LogEvent::kAuditFull, "audit: audit_backlog=", " > audit_backlog_limit="},
    {LogEvent::kAuditFull, "audit: kauditd hold queue overflow", {}, {}, "4.10 on"},
    {LogEvent::kCacheLeaked, "BUG ", "): Objects remaining "},
    {LogEvent::kCacheLeaked, "kmem_cache_destroy ", ": Slab cache still has objects"},
    {LogEvent::kLeakSuspected, "kmemleak: ", " new suspected memory leaks"},
    {LogEvent::kRoutesFull, "Route cache is full: consider increasing sysctl net.ipv"},
    {LogEvent::kSynQueueFull, "TCP: ", "ossible SYN flooding on port "},
    {LogEvent::kRcuStall, "rcu: INFO: rcu_", "detected stall", {}, "4.19 on"},
    {LogEvent::kRcuStall, "INFO: rcu_", "detected stall", {}, "to 4.18"},
    {LogEvent::kDeviceHeld, "unregister_netdevice: waiting for ", " to become free"},
    {LogEvent::kBounceBuffersFull, "DMA: Out of SW-IOMMU space for ", {}, {}, "to 4.20"},
    {LogEvent::kBounceBuffersFull, "swiotlb: coherent allocation failed for device ", {}, {}, "4.15 to 4.20"},
    {LogEvent::kAllocationWaits, "XFS: ", " possible memory allocation deadlock ", {}, "to 6.8"},
    {LogEvent::kAllocationWaits, "XFS (", " possible memory allocation deadlock ", {}, "to 6.8"},
    {LogEvent::kAllocationWaits, "Possible memory allocation deadlock: size=", {}, {}, "OpenZFS"},
    {LogEvent::kCmaFailure, "cma: ", ": alloc failed, req-size: ", {}, "4.11 on"},
    {LogEvent::kHugePagesRefused, "HugeTLB: allocating ", " failed", {}, "4.14 on"},
    {LogEvent::kCommitRefused, "__vm_enough_memory: pid: ", " enough memory for the allocation", {}, "5.18 on"},
    {LogEvent::kHugePagesRefused, "hugetlb_cma: reservation failed", {}, {}, "5.7 on"},
    {LogEvent::kPageAllocationFailure, ": page allocation failure: order:", {}, {}, {}, kBehind},
    {LogEvent::kPageAllocationFailure, ": page allocation failure. order:", {}, {}, "to 3.0", kBehind},
    {LogEvent::kAllocationWaits, ": page allocation stalls for ", {}, {}, "4.10 to 4.14", kBehind},
    {LogEvent::kVmallocFailure, ": vmalloc error: size ", {}, {}, "5.12 on", kBehind},
    {LogEvent::kVmallocFailure, ": vmalloc: allocation failure", {}, {}, "4.10 to 5.11", kBehind},
    {LogEvent::kBounceBuffersFull, ": swiotlb buffer is full (sz: ", {}, {}, "3.15 on", kBehind},
    {LogEvent::kBounceBuffersFull,
     "an not allocate SWIOTLB buffer earlier and can't now provide",
     {},
     {},
     "4.0 on",
     kBehind},
};

constexpr LogWording kFreeBsd[] = {
    {LogEvent::kFilesFull, "kern.maxfiles limit exceeded by uid "},
    {LogEvent::kProcessesFull, "maxproc limit exceeded by uid "},
    {LogEvent::kThreadsFull, "maxthread limit exceeded by uid "},
    {LogEvent::kZoneFull, "[zone: ", "] ", " limit reached"},
    {LogEvent::kPipesFull, "kern.ipc.maxpipekva exceeded"},
    {LogEvent::kCacheLeaked, "Freed UMA keg (", ") was not empty (", " pages of memory."},
    {LogEvent::kSwapFull, "swap_pager: out of swap space"},
    {LogEvent::kSwapFull, "swp_pager_getswapspace(", "): failed", {}, "13 on"},
    {LogEvent::kSwapFull, "swap_pager_getswapspace(", "): failed", {}, "to 12"},
    {LogEvent::kSwapTableFull, "swap blk zone exhausted, "},
    {LogEvent::kSwapTableFull, "swap pctrie zone exhausted, "},
    {LogEvent::kSwapReservationRefused, "uid ", ": swap reservation for "},
    {LogEvent::kPagingError, "vm_fault: pager read error, pid "},
    {LogEvent::kPagingError, "swap_pager: I/O error - page", " failed; blkno "},
};

bool contains_ignoring_case(std::string_view text, std::string_view word) {
  const auto lower = [](char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter | 0x20) : letter; };
  const auto* const found =
      std::search(text.begin(), text.end(), word.begin(), word.end(), [&](char a, char b) { return lower(a) == b; });
  return found != text.end();
}

}  // namespace

std::span<const LogWording> linux_wordings() { return kLinux; }
std::span<const LogWording> freebsd_wordings() { return kFreeBsd; }

std::size_t place_behind_name(std::string_view line, std::string_view text) {
  return line.substr(0, kMaxNameBefore + text.size()).find(text);
}

bool is_like(std::string_view line, const LogWording& wording) {
  const std::size_t at = wording.place == kBehind           ? place_behind_name(line, wording.prefix)
                         : line.starts_with(wording.prefix) ? 0
                                                            : std::string_view::npos;
  if (at == std::string_view::npos) return false;
  const std::string_view rest = line.substr(at + wording.prefix.size());
  return rest.find(wording.inside) != std::string_view::npos && rest.ends_with(wording.end);
}

bool may_be_refusal(std::string_view line) {
  // Overflows of numbers and of the stack are not about memory that could not be had.
  constexpr std::array kNot = {std::string_view("integer overflow"), std::string_view("integer-overflow"),
                               std::string_view("stack overflow"), std::string_view("refcount_t: overflow")};
  constexpr std::array kWords = {std::string_view("out of memory"),      std::string_view("allocation fail"),
                                 std::string_view("cannot allocate"),    std::string_view("table full"),
                                 std::string_view("overflow"),           std::string_view("unable to allocate"),
                                 std::string_view("failed to allocate"), std::string_view("could not allocate")};
  const auto has = [&](std::string_view word) { return contains_ignoring_case(line, word); };
  return std::any_of(kWords.begin(), kWords.end(), has) && std::none_of(kNot.begin(), kNot.end(), has);
}

}  // namespace memstat
