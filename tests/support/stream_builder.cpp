// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/stream_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

namespace memstat {
namespace {

template <typename T>
void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_name(std::string& bytes, std::string_view name) {
  std::string field(name.substr(0, 32));
  field.resize(32, '\0');
  bytes += field;
}

std::string make_header(std::uint32_t version, std::uint32_t maxcpus, std::uint32_t count) {
  std::string header;
  put<std::uint32_t>(header, version);
  put<std::uint32_t>(header, maxcpus);
  put<std::uint32_t>(header, count);
  put<std::uint32_t>(header, 0);
  return header;
}

template <typename Block>
Block block_of(const std::map<std::uint32_t, Block>& blocks, std::uint32_t cpu) {
  const auto found = blocks.find(cpu);
  return found == blocks.end() ? Block{} : found->second;
}

}  // namespace

MallocStream& MallocStream::add(std::string_view name, const std::map<std::uint32_t, MallocBlock>& blocks) {
  put_name(records_, name);
  for (std::uint32_t cpu = 0; cpu < maxcpus_; ++cpu) {
    const MallocBlock block = block_of(blocks, cpu);
    for (const std::uint64_t value : {block.memalloced, block.memfreed, block.numallocs, block.numfrees, block.size_mask}) {
      put<std::uint64_t>(records_, value);
    }
    records_.append(24, '\0');
  }
  ++count_;
  return *this;
}

std::string MallocStream::bytes(std::uint32_t version, std::optional<std::uint32_t> says_maxcpus,
                                std::optional<std::uint32_t> says_count) const {
  return make_header(version, says_maxcpus.value_or(maxcpus_), says_count.value_or(count_)) + records_;
}

UmaStream& UmaStream::add(const UmaZone& zone) {
  put_name(records_, zone.name);
  // The first is the alignment, the fourth the most pages, the ninth the bucket size: not needed.
  for (const std::uint32_t value :
       {7U, zone.size, zone.rsize, 0U, zone.limit, zone.pages, zone.keg_free, zone.zone_free, 0U, zone.flags}) {
    put<std::uint32_t>(records_, value);
  }
  for (const std::uint64_t value : {zone.allocs, zone.frees, zone.fails, zone.sleeps, zone.xdomain, std::uint64_t{0}}) {
    put<std::uint64_t>(records_, value);
  }
  for (std::uint32_t cpu = 0; cpu < maxcpus_; ++cpu) {
    const UmaBlock block = block_of(zone.blocks, cpu);
    for (const std::uint64_t value : {block.allocs, block.frees, block.cache_free}) put<std::uint64_t>(records_, value);
    records_.append(40, '\0');
  }
  ++count_;
  return *this;
}

std::string UmaStream::bytes(std::uint32_t version, std::optional<std::uint32_t> says_maxcpus,
                             std::optional<std::uint32_t> says_count) const {
  return make_header(version, says_maxcpus.value_or(maxcpus_), says_count.value_or(count_)) + records_;
}

std::string slabinfo_header() {
  return "slabinfo - version: 2.1\n"
         "# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables <limit> <batchcount> "
         "<sharedfactor> : slabdata <active_slabs> <num_slabs> <sharedavail>\n";
}

std::string slabinfo_line(std::string_view name, std::uint64_t active_objects, std::uint64_t objects,
                          std::uint64_t object_size, std::uint64_t pages_per_slab, std::uint64_t slabs) {
  std::string line(name);
  if (line.size() < 17) line.resize(17, ' ');
  char rest[256];
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::snprintf(rest, sizeof rest,
                " %6llu %6llu %6llu %4llu %4llu : tunables    0    0    0 : slabdata %6llu %6llu      0\n",
                number(active_objects), number(objects), number(object_size), number(slabs == 0 ? 1 : objects / slabs),
                number(pages_per_slab), number(slabs), number(slabs));
  return line + rest;
}

RawBytes make_raw(std::string_view bytes, std::uint32_t cpu_count, std::uint64_t page_size) {
  RawBytes raw;
  raw.parts[0].assign(bytes);
  raw.cpu_count = cpu_count;
  raw.page_size = page_size;
  return raw;
}

namespace {

/// Whether a planned path, with "*" at the end of components, is this one.
bool matches(std::string_view planned, std::string_view path) {
  for (std::size_t star = planned.find('*'); star != std::string_view::npos; star = planned.find('*')) {
    if (!path.starts_with(planned.substr(0, star))) return false;
    path.remove_prefix(std::min(path.find('/', star), path.size()));
    planned.remove_prefix(star + 1);
  }
  return planned == path;
}

}  // namespace

const PlannedFile& main_file(const SourceDescriptor& source) {
  return *std::find_if(source.plan.begin(), source.plan.end(),
                       [](const PlannedFile& file) { return file.need == ReadNeed::kRequired; });
}

void set_file(const SourceDescriptor& source, std::string_view path, std::string_view content, RawBytes& raw) {
  for (RawFile& file : raw.files) {
    if (file.path == path) return file.bytes.assign(content);
  }
  for (std::size_t i = 0; i < source.plan.size(); ++i) {
    if (!matches(source.plan[i].path, path)) continue;
    raw.files.push_back({.path = std::string(path), .planned = i, .state = FileState::kRead, .bytes = Buffer(content)});
    return;
  }
  ADD_FAILURE() << path << " is not in the plan of " << source.name;
}

Result<void> parse_bytes(const SourceDescriptor& source, const RawBytes& raw, Staging& staging) {
  return source.steps.parse(raw, *source.steps.make_state(), staging);
}

const StagedType* find_staged(const Staging& staging, std::string_view name, std::size_t ordinal) {
  for (const StagedType& type : staging.types()) {
    if (type.name == name && ordinal-- == 0) return &type;
  }
  return nullptr;
}

}  // namespace memstat
