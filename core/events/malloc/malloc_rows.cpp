// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/malloc/malloc_rows.h"

#include <algorithm>

#include "core/base/arithmetic.h"
#include "core/events/table/table_text.h"

namespace memstat::events {
namespace {

constexpr std::size_t kLongestProbeName = 191;

}  // namespace

void MallocRows::set(std::string_view probe, std::uint32_t cpu, std::uint64_t size, MallocAmount amount,
                     std::uint64_t value) {
  name_.assign(probe.substr(0, kLongestProbeName));
  std::replace_if(
      name_.begin(), name_.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  auto row = rows_.find(KeyView(name_, cpu, size));
  if (row == rows_.end()) {
    if (rows_.size() == kMostRows || name_.empty()) {
      const bool is_count = amount == MallocAmount::kAllocations || amount == MallocAmount::kFrees;
      if (is_count) unplaced_ = saturating_sum(unplaced_, value);
      return;
    }
    row = rows_.try_emplace(Key(name_, cpu, size)).first;
  }
  row->second[static_cast<std::size_t>(amount)] = value;
}

void MallocRows::write(std::uint64_t dropped, Buffer& out) const {
  out.clear();
  out.append("dtmalloc 1\n");
  append_line(out, "unplaced", unplaced_);
  append_line(out, "dropped", dropped);
  std::string_view last;
  for (const auto& [key, amounts] : rows_) {
    const auto& [probe, cpu, size] = key;
    if (probe != last) {
      out.append("probe ");
      out.append(probe);
      out.append("\n");
      last = probe;
    }
    const auto& [allocations, allocated, frees, freed] = amounts;
    if (size == kLarge) {
      append_row(out, "large", {cpu, allocations, allocated, frees, freed});
    } else {
      append_row(out, "size", {cpu, size, allocations, frees});
    }
  }
  out.append("end\n");
}

}  // namespace memstat::events
