// SPDX-License-Identifier: BSD-2-Clause
// Common to all fuzzers of sources: parse, commit twice, and abort if a promise is broken.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "core/base/text.h"
#include "core/query.h"

namespace memstat {

#define MEMSTAT_FUZZ_REQUIRE(condition)                                                   \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                       \
    }                                                                                     \
  } while (false)

/// An error of a parser says what is wrong, and where.
inline void require_typed(const Error& error, const SourceReader& reader) {
  MEMSTAT_FUZZ_REQUIRE(error.code == ErrorCode::kData || error.code == ErrorCode::kVersion);
  MEMSTAT_FUZZ_REQUIRE(error.source == reader.descriptor->name && !error.path.empty() && !error.detail.empty());
  std::size_t longest = 0;
  for (const Buffer& part : reader.raw.parts) longest = std::max(longest, part.size());
  MEMSTAT_FUZZ_REQUIRE(error.offset.has_value() && *error.offset <= longest);
}

/// Checks that every type of a list filled only by this source is well-formed. Returns a sum over all values.
inline std::uint64_t require_sane(const MemoryTypeList& list, const SourceDescriptor& source) {
  std::uint64_t sum = 0;
  std::size_t count = 0;
  for (const MemoryType* type = list.first(); type != nullptr; type = type->next(), ++count) {
    MEMSTAT_FUZZ_REQUIRE(type->allocator() == source.allocator && type->is_present());
    MEMSTAT_FUZZ_REQUIRE(is_valid_label_text(type->name()));
    MEMSTAT_FUZZ_REQUIRE((type->fields() - source.fields).empty());
    MEMSTAT_FUZZ_REQUIRE(type->ordinal() < type->duplicates());
    for (std::size_t i = 0; i < kFieldCount; ++i) sum = sum * 31 + type->figure(static_cast<Field>(i));
    for (std::uint32_t cpu = 0; cpu < type->cpu_count(); ++cpu) {
      for (std::size_t i = 0; i < kCpuFieldCount; ++i) sum = sum * 31 + type->cpu_figure(static_cast<CpuField>(i), cpu);
    }
  }
  MEMSTAT_FUZZ_REQUIRE(count == list.size());
  return sum;
}

/// Checks that every statistic has labels that fit a page and are unique. Returns a sum over all of them.
inline std::uint64_t require_sane(const StagedStatistics& statistics) {
  std::set<std::string> seen;
  std::uint64_t sum = 0;
  for (const StagedStatistics::Entry& entry : statistics.entries()) {
    std::string key(entry.metric->facts.name);
    for (std::size_t i = 0; i < entry.metric->label_names().size(); ++i) {
      MEMSTAT_FUZZ_REQUIRE(is_valid_label_text(statistics.label(entry, i)));
      key += '\n';
      key += statistics.label(entry, i);
    }
    MEMSTAT_FUZZ_REQUIRE(seen.insert(key).second);
    sum = sum * 31 + entry.bits;
  }
  return sum;
}

/// Parses and commits `reader.raw`, twice if it is valid: the second time must change nothing. `may_be_empty`: a source of
/// types whose bytes may contain none.
inline void fuzz_commit(SourceReader& reader, bool may_be_empty = false) {
  MemoryTypeList list;
  const Result<void> first = commit_source(reader, list, 1);
  if (!first) {
    require_typed(first.error(), reader);
    MEMSTAT_FUZZ_REQUIRE(list.size() == 0);
    return;
  }
  const bool has_types = reader.descriptor->allocator != Allocator::kUnknown;
  MEMSTAT_FUZZ_REQUIRE(list.size() == reader.staging.types().size());
  MEMSTAT_FUZZ_REQUIRE((list.size() > 0) == has_types || (has_types && may_be_empty));
  const std::uint64_t sum = require_sane(list, *reader.descriptor);
  const std::uint64_t statistics = require_sane(reader.staging.statistics());
  MEMSTAT_FUZZ_REQUIRE(commit_source(reader, list, 2).has_value());
  MEMSTAT_FUZZ_REQUIRE(require_sane(list, *reader.descriptor) == sum);
  MEMSTAT_FUZZ_REQUIRE(require_sane(reader.staging.statistics()) == statistics);
}

/// Parses and commits `reader.raw` of a source that is not a roster, twice. It creates no types, and its figures of other
/// sources' types are well-formed. False if the bytes were rejected.
inline bool fuzz_contribution(SourceReader& reader) {
  MemoryTypeList list;
  for (std::uint64_t generation = 1; generation <= 2; ++generation) {
    if (const Result<void> committed = commit_source(reader, list, generation); !committed) {
      require_typed(committed.error(), reader);
      return false;
    }
    MEMSTAT_FUZZ_REQUIRE(list.size() == 0);
  }
  Staging& staging = reader.staging;
  MEMSTAT_FUZZ_REQUIRE(staging.node_count() <= kMaxNodes && staging.cpu_count() <= reader.raw.cpu_count);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < staging.types().size(); ++i) {
    const StagedType& type = staging.types()[i];
    MEMSTAT_FUZZ_REQUIRE(is_valid_label_text(type.name));
    MEMSTAT_FUZZ_REQUIRE((type.fields - reader.descriptor->fields).empty());
    MEMSTAT_FUZZ_REQUIRE((type.node_fields - staging.node_fields()).empty());
    for (std::uint32_t node = 0; node < staging.node_count(); ++node) {
      for_each_of(staging.node_fields(), [&](NodeField field) { sum += staging.node_figure(type, field, node); });
    }
    for_each_of(staging.cpu_fields(), [&](CpuField field) { sum += staging.cpu_figure(i, field, 0); });
  }
  volatile std::uint64_t read = sum;  // it only matters that everything can be read
  (void)read;
  return true;
}

}  // namespace memstat
