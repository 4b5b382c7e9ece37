// SPDX-License-Identifier: BSD-2-Clause
#include "core/source.h"

namespace memstat {

const SourceDescriptor* find_source(std::string_view name) {
  for (const SourceDescriptor* source : all_sources()) {
    if (source->name == name) return source;
  }
  return nullptr;
}

}  // namespace memstat
