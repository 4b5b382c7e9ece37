// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/type_figures.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "daemon/ctl/humanize.h"

namespace memstat::ctl {

bool has(const memory_type* type, const Column& column) { return (memstat_get_figures(type) & column.figure) != 0; }

std::uint64_t figure_of(const memory_type* type, const Column& column) {
  const std::uint64_t value = column.get(type);
  return value >> 63U == 0 ? value : 0;
}

std::string amount_text(std::uint64_t amount, bool is_bytes, bool is_human) {
  return is_human && is_bytes ? humanize(amount, Base::k1024, true) : std::to_string(amount);
}

std::string cell(const memory_type* type, const Column& column, bool is_human) {
  return has(type, column) ? amount_text(figure_of(type, column), column.is_bytes, is_human) : "-";
}

NearestLimit nearest_limit(const memory_type* type) {
  NearestLimit nearest;
  const auto consider = [&](const Column& limit, bool is_known, std::uint64_t amount) {
    if (!has(type, limit)) return;
    const std::uint64_t most = figure_of(type, limit);
    const std::optional<double> used =
        is_known && most != 0 ? std::optional(static_cast<double>(amount) / static_cast<double>(most)) : std::nullopt;
    if (nearest.column == nullptr || used > nearest.used) nearest = {.column = &limit, .counted = amount, .used = used};
  };
  std::uint64_t objects = figure_of(type, kObjectsInUse);
  // uma(9) counts what is in its caches, too, but not what is free in slabs.
  if (memstat_get_allocator(type) == ALLOCATOR_UMA) {
    const std::uint64_t slabs = memstat_get_kegfree(type);
    const std::uint64_t free = figure_of(type, kFreeObjects);
    objects += free - std::min(free, slabs >> 63U == 0 ? slabs : 0);
  }
  consider(kObjectLimit, has(type, kObjectsInUse), objects);
  consider(kByteLimit, has(type, kBytesInUse), figure_of(type, kBytesInUse));
  return nearest;
}

std::string percent(double part) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.0f%%", 100 * part);
  return text.data();
}

bool fails_routinely(const memory_type* type) {
  return memstat_get_allocator(type) == ALLOCATOR_UMA && std::string_view(memstat_get_name(type)).ends_with(" Bucket");
}

}  // namespace memstat::ctl
