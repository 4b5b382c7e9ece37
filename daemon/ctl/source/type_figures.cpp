// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/source/type_figures.h"

#include <algorithm>

#include "core/base/text.h"
#include "daemon/ctl/output/cells.h"

namespace memstat::ctl {

std::string other_names(const TypeRow& type, std::string_view last) {
  return join_words(std::vector<std::string_view>(type.also.begin(), type.also.end()), last);
}

int allocator_number(std::string_view name) {
  for (int number = ALLOCATOR_MALLOC; number < static_cast<int>(kAllocatorCount); ++number) {
    if (to_string(static_cast<Allocator>(number)) == name) return number;  // the numbers are the same in memstat.h
  }
  return ALLOCATOR_ANY;
}

bool has(const TypeRow& type, const Column& column) { return (type.figures & column.figure) != 0; }

std::uint64_t figure_of(const TypeRow& type, const Column& column) { return type.*column.value; }

std::string figure_text(std::uint64_t amount, bool is_bytes, bool is_human) {
  return is_human && is_bytes ? humanize(amount, Base::k1024, true) : std::to_string(amount);
}

std::optional<double> use_of(const TypeRow& type) {
  if (!has(type, kObjectsInUse) || !has(type, kFreeObjects) || type.objects + type.free == 0) return std::nullopt;
  return static_cast<double>(type.objects) / static_cast<double>(type.objects + type.free);
}

std::string cell(const TypeRow& type, const Column& column, bool is_human) {
  return has(type, column) ? figure_text(figure_of(type, column), column.is_bytes, is_human) : "-";
}

NearestLimit nearest_limit(const TypeRow& type) {
  NearestLimit nearest;
  const auto consider = [&](const Column& limit, bool is_known, std::uint64_t amount) {
    if (!has(type, limit)) return;
    const std::uint64_t most = figure_of(type, limit);
    const std::optional<double> used =
        is_known && most != 0 ? std::optional(static_cast<double>(amount) / static_cast<double>(most)) : std::nullopt;
    if (nearest.column == nullptr || used > nearest.used) nearest = {.column = &limit, .counted = amount, .used = used};
  };
  consider(kObjectLimit, has(type, kObjectsInUse), type.objects);
  consider(kByteLimit, has(type, kBytesInUse), type.bytes);
  if (!type.limit_used || nearest.column == nullptr) return nearest;
  // The snapshot's share includes amounts that a row lacks: for uma(9), free items in slabs. It is in units of 1/10 000
  // and belongs to the nearer of two limits, or to objects if both are equally near.
  const auto is_part = [&](std::uint64_t amount, std::uint64_t most) {
    constexpr double kRounding = 0.0001;
    const double part = static_cast<double>(amount) / static_cast<double>(most);
    return most != 0 && part > *type.limit_used - kRounding && part < *type.limit_used + kRounding;
  };
  const bool is_in_use = is_part(type.objects, type.limit_objects);
  const bool is_of_bytes = type.limit_objects == 0 || (!is_in_use && is_part(type.bytes, type.limit_bytes));
  if (is_of_bytes) return {.column = &kByteLimit, .counted = type.bytes, .used = type.limit_used};
  const auto counted =
      static_cast<std::uint64_t>(std::min(1e18, *type.limit_used * static_cast<double>(type.limit_objects) + 0.5));
  return {.column = &kObjectLimit, .counted = is_in_use ? type.objects : counted, .used = type.limit_used};
}

}  // namespace memstat::ctl
