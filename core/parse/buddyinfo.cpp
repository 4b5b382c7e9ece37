// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/buddyinfo.h"

#include "core/base/text.h"

namespace memstat {
namespace {

double pages_of_order(std::size_t order) { return static_cast<double>(std::uint64_t{1} << order); }

}  // namespace

std::optional<FreeBlocks> FreeBlocks::parse(std::string_view row) {
  FreeBlocks blocks;
  std::string_view word;
  while (next_word(row, word)) {
    if (word.starts_with('>')) word.remove_prefix(1);
    const auto count = parse_u64(word);
    if (!count || blocks.orders_ == kMaxOrders) return std::nullopt;
    blocks.counts_[blocks.orders_++] = *count;
  }
  if (blocks.orders_ == 0) return std::nullopt;
  // Doubles cannot overflow here. The kernel itself rounds down to thousandths.
  double pages = 0;
  for (std::size_t order = blocks.orders_; order-- > 0;) {
    pages += static_cast<double>(blocks.counts_[order]) * pages_of_order(order);
    blocks.pages_from_[order] = pages;
    blocks.blocks_ += static_cast<double>(blocks.counts_[order]);
  }
  return blocks;
}

std::uint64_t FreeBlocks::largest_block() const {
  for (std::size_t order = orders_; order-- > 0;) {
    if (counts_[order] != 0) return std::uint64_t{1} << order;
  }
  return 0;
}

double FreeBlocks::fragmentation_index(std::size_t order) const {
  if (blocks_ == 0) return 0;
  if (pages_from_[order] > 0) return -1;
  return 1 - (1 + pages_from_[0] / pages_of_order(order)) / blocks_;
}

double FreeBlocks::unusable_ratio(std::size_t order) const {
  const double free = pages_from_[0];
  return free == 0 ? 1 : (free - pages_from_[order]) / free;
}

}  // namespace memstat
