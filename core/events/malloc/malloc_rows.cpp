// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/malloc/malloc_rows.h"

#include <algorithm>

#include "core/base/arithmetic.h"

namespace memstat::events {
namespace {

constexpr std::size_t kMaxProbeNameSize = 191;

}  // namespace

void MallocRows::set(std::string_view probe, std::uint32_t cpu, std::uint64_t size, MallocAmount amount,
                     std::uint64_t value) {
  name_.assign(probe.substr(0, kMaxProbeNameSize));
  std::replace_if(
      name_.begin(), name_.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  auto row = rows_.find(KeyView(name_, cpu, size));
  if (row == rows_.end()) {
    if (rows_.size() == kMaxRows || name_.empty()) {
      const bool is_count = amount == MallocAmount::kAllocations || amount == MallocAmount::kFrees;
      if (is_count) unplaced_ = saturating_sum(unplaced_, value);
      return;
    }
    row = rows_.try_emplace(Key(name_, cpu, size)).first;
  }
  row->second[static_cast<std::size_t>(amount)] = value;
}

void MallocRows::write(std::uint64_t dropped, Buffer& out) const {
  TableWriter rows(kMallocTable, out);
  rows.add("unplaced", {unplaced_});
  rows.add("dropped", {dropped});
  std::string_view last;
  for (const auto& [key, amounts] : rows_) {
    const auto& [probe, cpu, size] = key;
    if (probe != last) rows.add("probe", std::span<const std::uint64_t>(), {probe});
    last = probe;
    const auto& [allocations, allocated, frees, freed] = amounts;
    if (size == kLarge) {
      rows.add("large", {cpu, allocations, allocated, frees, freed});
    } else {
      rows.add("size", {cpu, size, allocations, frees});
    }
  }
}

}  // namespace memstat::events
