// SPDX-License-Identifier: BSD-2-Clause
// From a kernel view to the memory type list: the only writer of the list.
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

/// One source with the bytes and the state that it keeps from poll to poll. Thread safety: handed from one thread to
/// another, whole.
struct SourceReader {
  /// With the defaults of the source's options; of patterns, none.
  explicit SourceReader(const SourceDescriptor& source) : descriptor(&source), state(source.steps.make_state()) {
    for (const SourceOption& option : source.options) state->options.push_back({.number = option.default_number});
  }

  const SourceDescriptor* descriptor;
  RawBytes raw;
  std::unique_ptr<ReaderState> state;  ///< Never null.
  Staging staging;
};

/// Opens what the source needs, while privileges last. Errors carry the source's name; kNotPresent: not on this kernel.
Result<void> open_source(SourceReader& reader, KernelView& view);

/// Reads the source; may block for as long as the kernel does. The list is not touched.
Result<void> read_source(SourceReader& reader, KernelView& view);

/// What to do with several types of one name.
enum class Duplicates {
  kEach,   ///< Each is a type of its own.
  kFolded  ///< libmemstat's way of a second query, see Staging::fold_duplicates.
};

/// Parses what was read into the staging. Allocates nothing in the steady state; no list is touched.
Result<void> parse_source(SourceReader& reader);

/// Parses what was read and commits it. On an error the list and all caller slots are as before.
Result<void> commit_source(SourceReader& reader, MemoryTypeList& list, std::uint64_t generation,
                           Duplicates duplicates = Duplicates::kEach);

/// Gives back what a source has read and needs no more. After commit_source: names and per-CPU figures of the staging are
/// not to be read any more, since they may be there.
void give_back_spent(SourceReader& reader);

/// The sources among `sources` that answer a question for the types of one allocator of a system, or (kUnknown) for all
/// types there, in reading order. Sources that are off by default are left out, but the roster of the allocator asked for.
std::vector<const SourceDescriptor*> sources_to_query(std::span<const SourceDescriptor* const> sources, OperatingSystem os,
                                                      Allocator allocator);

/// All three steps but the opening, for callers that do not mind blocking.
Result<void> refresh(SourceReader& reader, KernelView& view, MemoryTypeList& list, std::uint64_t generation);

}  // namespace memstat
