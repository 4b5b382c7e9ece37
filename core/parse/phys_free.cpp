// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/phys_free.h"

#include <algorithm>

#include "core/base/arithmetic.h"
#include "core/base/text.h"

namespace memstat {
namespace {

/// Parses "TITLE N:". Returns false for other lines. `number` is empty if N is not a number.
bool take_title(std::string_view line, std::string_view title, std::optional<std::uint32_t>& number) {
  if (!line.starts_with(title) || !line.ends_with(':')) return false;
  line.remove_prefix(title.size());
  line.remove_suffix(1);
  const auto parsed = parse_u64(line);
  constexpr std::uint64_t kMax = 0xFFFF;
  number = parsed && *parsed <= kMax ? std::optional(static_cast<std::uint32_t>(*parsed)) : std::nullopt;
  return true;
}

}  // namespace

std::uint64_t PhysFreeList::largest_block() const {
  for (std::size_t order = orders; order > 0; --order) {
    if (blocks[order - 1] != 0) return std::uint64_t{1} << (order - 1);
  }
  return 0;
}

bool PhysFreeReader::take_row(std::string_view line, PhysFreeList& list) {
  const std::string_view number = trim(line.substr(0, line.find('(')));
  const auto order = parse_u64(number);
  std::size_t bar = line.find('|');
  if (!order || *order >= PhysFreeList::kMaxOrders || bar == std::string_view::npos) return false;
  std::uint64_t sum = 0;
  while (bar != std::string_view::npos) {
    line.remove_prefix(bar + 1);
    bar = line.find('|');
    const auto blocks = parse_u64(trim(line.substr(0, bar)));
    if (!blocks) return false;
    sum = saturating_sum(sum, *blocks);
  }
  list.blocks[*order] = sum;
  list.orders = std::max(list.orders, static_cast<std::size_t>(*order) + 1);
  return true;
}

bool PhysFreeReader::next(PhysFreeList& list) {
  list = {};
  bool has_rows = false;
  while (!error_ && at_ < text_.size()) {
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    const std::string_view line = trim(text_.substr(at_, end - at_));
    std::optional<std::uint32_t> number;
    const bool is_domain = take_title(line, "DOMAIN ", number);
    const bool is_list = !is_domain && take_title(line, "FREE LIST ", number);
    if (is_domain || is_list) {
      if (has_rows) return true;  // the next call reads the title again
      const bool is_in_order = is_domain ? !has_title_ || number > domain_ : !list_ || number > list_;
      if (!number || !is_in_order) error_ = at_;
      has_title_ = true;
      if (is_domain) domain_ = number.value_or(0);
      if (is_domain) list_.reset();
      if (is_list) list_ = number;
    } else if (!line.empty() && line.front() >= '0' && line.front() <= '9') {
      if (!list_ || !take_row(line, list)) error_ = at_;
      list.domain = domain_;
      list.list = list_.value_or(0);
      has_rows = true;
    }
    at_ = end + 1;
  }
  return has_rows && !error_;
}

}  // namespace memstat
