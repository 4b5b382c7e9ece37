// SPDX-License-Identifier: BSD-2-Clause
// Memory statistics of FreeBSD that are not plain numbers: swap devices (vm.swap_info.N, struct xswdev of
// sys/vm/vm_param.h, in pages), and free blocks by order (core/parse/phys_free.h).
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/base/arithmetic.h"
#include "core/base/text.h"
#include "core/collect/sysctl_list.h"
#include "core/model/page_metrics.h"
#include "core/parse/phys_free.h"
#include "core/source.h"

namespace memstat::sources::freebsd_memory {
namespace {

constexpr SystemMetric kSwapDeviceBytes =
    gauge_metric("memstat_swap_device_bytes", Tier::kDefault, "Bytes of a swap device, in use or free.", {"device"});

constexpr SystemMetric kSwapDeviceUsedBytes = gauge_metric("memstat_swap_device_used_bytes", Tier::kDefault,
                                                           "Bytes of a swap device that are in use now.", {"device"});

constexpr std::string_view kOrigin = "sysctl vm.phys_free, vm.swap_info";
constexpr std::string_view kPhysFree = "vm.phys_free";
constexpr std::string_view kSwapDevices = "vm.nswapdev";
constexpr std::string_view kSwapInfo = "vm.swap_info";
constexpr std::uint32_t kMaxSwapDevices = 32;
constexpr std::size_t kBundlePart = 0;

/// The offset of xsw_nblks, which xsw_used follows; nothing if no known kernel has a structure of this size.
std::optional<std::size_t> place_of_blocks(std::size_t size) {
  switch (size) {
    case 20: return 12;  // before 12.0, with a device number of 32 bits
    case 24: return 16;  // 32-bit machines that align 64 bits to 4 bytes
    case 32: return 20;
    default: return std::nullopt;
  }
}

/// Pages of swap.
struct Swap {
  std::uint64_t total = 0;
  std::uint64_t used = 0;
  bool is_complete = true;  ///< No device has an unknown structure.
};

/// Returns false if `name` is not that of a device.
bool take_device(std::string_view name, std::string_view bytes, std::uint64_t page_size, Swap& swap,
                 StagedStatistics& statistics) {
  if (!name.starts_with(kSwapInfo) || name.size() <= kSwapInfo.size() + 1) return false;
  const auto device = sysctl_index(name.substr(kSwapInfo.size() + 1), kMaxSwapDevices);
  if (!device) return false;
  const auto place = place_of_blocks(bytes.size());
  if (!place) swap.is_complete = false;
  if (!place) return true;
  const auto pages_at = [&](std::size_t at) {
    return static_cast<std::uint64_t>(std::max<std::int32_t>(load<std::int32_t>(bytes, at), 0));
  };
  const std::uint64_t total = pages_at(*place);
  const std::uint64_t used = std::min(pages_at(*place + sizeof(std::int32_t)), total);
  swap.total = saturating_sum(swap.total, total);
  swap.used = saturating_sum(swap.used, used);
  statistics.add(kSwapDeviceBytes, saturating_product(total, page_size), {*device});
  statistics.add(kSwapDeviceUsedBytes, saturating_product(used, page_size), {*device});
  return true;
}

/// Returns the offset of a malformed line, or nothing.
std::optional<std::size_t> add_free_blocks(std::string_view text, std::uint64_t page_size, StagedStatistics& statistics) {
  PhysFreeReader reader(text);
  PhysFreeList list;
  while (reader.next(list)) {
    statistics.add(kZoneLargestFreeBlock, saturating_product(list.largest_block(), page_size), {list.domain, list.list});
    for (std::size_t order = 0; order < list.orders; ++order) {
      statistics.add(kBuddyFreeBlocks, list.blocks[order], {list.domain, list.list, order});
    }
  }
  return reader.error();
}

Result<void> parse(const RawBytes& raw, Staging& staging) {
  staging.reset({}, 0);
  const std::string_view bundle = raw.parts[kBundlePart].view();
  StagedStatistics& statistics = staging.statistics();
  Swap swap;
  bool has_swap_count = false;
  const auto take = [&](std::string_view name, std::string_view bytes) {
    if (name == kPhysFree) return !add_free_blocks(bytes, raw.page_size, statistics);
    if (name == kSwapDevices) return has_swap_count = sysctl_number(bytes).has_value();
    return take_device(name, bytes, raw.page_size, swap, statistics);
  };
  if (auto result = for_each_listed_sysctl(kOrigin, bundle, take); !result) return result;
  if (!has_swap_count || !swap.is_complete) return {};
  statistics.add(kSwapTotalBytes, saturating_product(swap.total, raw.page_size));
  statistics.add(kSwapFreeBytes, saturating_product(swap.total - swap.used, raw.page_size));
  return {};
}

struct State final : ReaderState, SysctlListState {};

/// Number of swap devices, as far as they are read.
std::uint32_t count_devices(std::string_view number) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(sysctl_number(number).value_or(0), kMaxSwapDevices));
}

Result<void> find_sysctls(KernelView& view, SysctlListState& state) {
  state.clear();
  std::vector<std::string> names{std::string(kPhysFree), std::string(kSwapDevices)};
  if (view.read_sysctl(kSwapDevices, state.scratch, sizeof(std::uint64_t))) {
    const std::uint32_t devices = count_devices(state.scratch.view());
    for (std::uint32_t i = 0; i < devices; ++i) names.push_back(std::string(kSwapInfo) + "." + std::to_string(i));
  }
  for (const std::string& name : names) {
    if (auto result = list_sysctl(view, kOrigin, name, state); !result) return result;
  }
  // Announces the reads of later devices to a reader process. The live kernel lists nothing here.
  static_cast<void>(view.list_sysctls(kSwapInfo, names));
  return state.list.empty() ? system_error(kOrigin, ENOENT) : Result<void>();
}

constexpr SysctlRules kRules{.find = find_sysctls};

/// Whether the bundle has other devices than the kernel.
bool has_other_devices(std::string_view bundle) {
  std::uint32_t expected = 0;
  std::uint32_t devices = 0;
  FileBundleReader records(bundle);
  std::string_view name;
  std::string_view bytes;
  while (records.next(name, bytes)) {
    if (name == kSwapDevices) expected = count_devices(bytes);
    devices += name.starts_with(kSwapInfo) ? 1 : 0;
  }
  return devices != expected;
}

Result<void> open(KernelView& view, RawBytes&, State& state) { return find_sysctls(view, state); }

Result<void> read(KernelView& view, RawBytes& raw, State& state) {
  Buffer& bundle = raw.parts[kBundlePart];
  auto result = read_listed_sysctls(view, kOrigin, kRules, state, bundle);
  if (!result || !has_other_devices(bundle.view())) return result;
  state.clear();  // a device was added or removed
  return read_listed_sysctls(view, kOrigin, kRules, state, bundle);
}

constexpr MetricOrigin kOrigins[] = {
    {kZoneLargestFreeBlock, "the highest order with a free block in vm.phys_free (the zone is the number of the free list)"},
    {kBuddyFreeBlocks, "vm.phys_free, summed over all pools (the zone is the number of the free list)"},
    {kSwapTotalBytes, "sum of xsw_nblks of all vm.swap_info x page size"},
    {kSwapFreeBytes, "sum of xsw_nblks - xsw_used of all vm.swap_info x page size"},
    {kSwapDeviceBytes, "xsw_nblks of vm.swap_info.DEVICE x page size"},
    {kSwapDeviceUsedBytes, "xsw_used of vm.swap_info.DEVICE x page size"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "freebsd_memory",
    .origin = kOrigin,
    .os = OperatingSystem::kFreeBsd,
    .origins = kOrigins,
    .interval = std::chrono::seconds(30),
    .notes = "no privilege needed; the kernel numbers swap devices in the order of swapinfo(8)",
    .steps = source_steps<State, open, read, parse>(),
};

}  // namespace memstat::sources::freebsd_memory
