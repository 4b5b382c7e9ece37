// SPDX-License-Identifier: BSD-2-Clause
#include "core/query.h"

#include <new>
#include <utility>

#include "core/base/peak_watch.h"

namespace memstat {
namespace {

/// Adds the source's name to an error, and turns std::bad_alloc into one.
template <typename Step>
Result<void> with_source_name(const SourceReader& reader, Step step) {
  Result<void> result;
  try {
    result = step();
  } catch (const TooManyTypes&) {
    result = too_many_types();
  } catch (const std::bad_alloc&) {
    Error error;  // without text, which would need memory
    error.code = ErrorCode::kNoMemory;
    result = std::move(error);
  }
  try {
    if (!result) result.error().source = reader.descriptor->name;
  } catch (const std::bad_alloc&) {  // then the error goes without the name
  }
  return result;
}

}  // namespace

Result<void> open_source(SourceReader& reader, KernelView& view) {
  const std::size_t kept = view.kept_count();
  Result<void> opened =
      with_source_name(reader, [&] { return reader.descriptor->steps.open(view, reader.raw, *reader.state); });
  if (!opened) view.close_kept_after(kept);  // release its descriptors for the sources after it
  return opened;
}

Result<void> read_source(SourceReader& reader, KernelView& view) {
  return with_source_name(reader, [&] {
    reader.raw.page_size = view.page_size();
    reader.raw.cpu_count = view.cpu_count();
    return reader.descriptor->steps.read(view, reader.raw, *reader.state);
  });
}

Result<void> parse_source(SourceReader& reader) {
  return with_source_name(reader, [&] { return reader.descriptor->steps.parse(reader.raw, *reader.state, reader.staging); });
}

Result<void> commit_source(SourceReader& reader, MemoryTypeList& list, std::uint64_t generation, Duplicates duplicates) {
  const SourceDescriptor& source = *reader.descriptor;
  return with_source_name(reader, [&]() -> Result<void> {
    ReaderState& state = *reader.state;
    if (auto result = source.steps.parse(reader.raw, state, reader.staging); !result) return result;
    state.is_stale = reader.staging.is_incomplete();
    state.parsed_cpu_count = reader.staging.cpu_count();
    ++state.parse_count;
    if (source.allocator == Allocator::kUnknown) return {};  // statistics only: they remain in the staging
    if (duplicates == Duplicates::kFolded) reader.staging.fold_duplicates();
    const CommitScope scope{.source = source.name,
                            .allocator = source.allocator,
                            .is_roster = source.is_roster || !source.replaces.empty(),
                            .fields = source.fields - reader.staging.omitted_fields() - state.given_fields,
                            .cpu_fields = source.cpu_fields - reader.staging.omitted_cpu_fields(),
                            .node_fields = source.node_fields - state.given_node_fields};
    return list.commit(scope, reader.staging, generation);
  });
}

void release_after_commit(SourceReader& reader) {
  for (std::size_t i = 0; i < RawBytes::kPartCount; ++i) {
    if ((reader.descriptor->release_after_commit >> i & 1U) != 0) reader.raw.parts[i].give_back_if_large();
  }
}

void shrink(SourceReader& reader) {
  for (Buffer& part : reader.raw.parts) shrink(part);
  for (RawFile& file : reader.raw.files) shrink(file.bytes);
  Staging kept;
  kept.size_classes() = reader.staging.size_classes();
  kept.statistics() = reader.staging.statistics();  // a copy has no spare room
  kept.add_note(reader.staging.note());
  kept.set_kernel_log(reader.staging.kernel_log());
  reader.staging = std::move(kept);
}

std::vector<const SourceDescriptor*> sources_to_query(std::span<const SourceDescriptor* const> sources, OperatingSystem os,
                                                      Allocator allocator) {
  std::vector<const SourceDescriptor*> wanted = in_reading_order(sources);
  std::erase_if(wanted, [&](const SourceDescriptor* source) {
    if (source->os != os) return true;
    if (allocator == Allocator::kUnknown) return !source->is_on_by_default;
    return source->allocator != allocator || !(source->is_on_by_default || source->is_roster);
  });
  return wanted;
}

Result<void> refresh(SourceReader& reader, KernelView& view, MemoryTypeList& list, std::uint64_t generation) {
  if (auto result = read_source(reader, view); !result) return result;
  return commit_source(reader, list, generation);
}

}  // namespace memstat
