// SPDX-License-Identifier: BSD-2-Clause
#include "core/source.h"

#include <algorithm>

namespace memstat {

std::vector<const SourceDescriptor*> in_reading_order(std::span<const SourceDescriptor* const> sources) {
  std::vector<const SourceDescriptor*> ordered(sources.begin(), sources.end());
  std::stable_partition(ordered.begin(), ordered.end(), [](const SourceDescriptor* source) { return source->is_roster; });
  return ordered;
}

const SourceDescriptor* find_source(std::string_view name) {
  for (const SourceDescriptor* source : all_sources()) {
    if (source->name == name) return source;
  }
  return nullptr;
}

}  // namespace memstat
