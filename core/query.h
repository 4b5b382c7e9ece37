// SPDX-License-Identifier: BSD-2-Clause
// Reads sources through a kernel view into the memory type list. The only writer of the list.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/kernel/kernel_view.h"
#include "core/model/memory_type_list.h"
#include "core/source.h"

namespace memstat {

/// One source with the data and state that it keeps between polls. Thread safety: none; may be moved between threads.
struct SourceReader {
  /// Starts with the defaults of the source's options, and no patterns.
  explicit SourceReader(const SourceDescriptor& source) : descriptor(&source), state(source.steps.make_state()) {
    for (const SourceOption& option : source.options) state->options.push_back({.number = option.default_number});
  }

  const SourceDescriptor* descriptor;
  RawBytes raw;
  std::unique_ptr<ReaderState> state;  ///< Never null.
  Staging staging;
};

/// Opens what the source needs, while the process has privileges. Errors contain the source's name; kNotPresent: this kernel
/// does not provide it.
Result<void> open_source(SourceReader& reader, KernelView& view);

/// Reads the source. May block for as long as the kernel does. Does not access the list.
Result<void> read_source(SourceReader& reader, KernelView& view);

enum class Duplicates {
  kEach,   ///< Keep each as a separate type.
  kFolded  ///< As libmemstat does on a second query; see Staging::fold_duplicates.
};

/// Parses the raw bytes into the staging. Allocates nothing in the steady state and does not access a list.
Result<void> parse_source(SourceReader& reader);

/// Parses the raw bytes and commits the result. On an error the list and all caller slots are unchanged.
Result<void> commit_source(SourceReader& reader, MemoryTypeList& list, std::uint64_t generation,
                           Duplicates duplicates = Duplicates::kEach);

/// Frees raw bytes that the source no longer needs. Call it after commit_source; names and per-CPU figures of the staging
/// become invalid, since they may point into them.
void release_after_commit(SourceReader& reader);

/// Frees storage that the last poll did not need. Call it like release_after_commit(). Throws std::bad_alloc.
void shrink(SourceReader& reader);

/// The sources among `sources` for the types of one allocator of a system or, with kUnknown, for all its types, in reading
/// order. Omits sources that are off by default, except the roster of the requested allocator.
std::vector<const SourceDescriptor*> sources_to_query(std::span<const SourceDescriptor* const> sources, OperatingSystem os,
                                                      Allocator allocator);

/// Reads, parses and commits in one call, for callers that may block.
Result<void> refresh(SourceReader& reader, KernelView& view, MemoryTypeList& list, std::uint64_t generation);

}  // namespace memstat
