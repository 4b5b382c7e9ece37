// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/caches/slab_caches_text.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/events/bpf/slab_caches_layout.h"
#include "core/events/table/table_text.h"

namespace memstat::events {
namespace {

constexpr std::size_t kHeadSize = offsetof(memstat_cache, name);

/// Copies the first `size` bytes of a struct off `records`. False: they are not there.
template <typename Record>
bool take_record(std::string_view& records, Record& record, std::size_t size = sizeof(Record)) {
  if (records.size() < size) return false;
  std::memcpy(&record, records.data(), size);
  records.remove_prefix(size);
  return true;
}

void append_cache(Buffer& out, const memstat_cache& cache, std::string_view name) {
  const std::uint64_t figures[] = {cache.size,          cache.object_size,   std::uint64_t{1} << (cache.order & 31U),
                                   cache.slabs,         cache.objects,       cache.free.on_lists,
                                   cache.free.in_barns, cache.free.in_slabs, cache.free.in_sheaves};
  out.append(cache.estimated == 0 ? "type" : "type_about");
  append_numbers(out, figures);
  out.append(" ");
  append_kernel_name(out, name.data(), name.size());
  out.append("\n");
}

bool append_nodes(Buffer& out, std::uint32_t count, std::string_view& records) {
  memstat_cache_node node{};
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!take_record(records, node)) return false;
    append_row(out, "node", {node.node, node.slabs, node.objects, node.partial_slabs, node.free, node.in_barn});
  }
  return true;
}

bool append_cpus(Buffer& out, std::uint32_t count, std::string_view& records) {
  memstat_cache_cpu cpu{};
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!take_record(records, cpu)) return false;
    append_row(out, "cpu", {cpu.cpu, cpu.slabs, cpu.free, cpu.in_sheaves});
  }
  return true;
}

bool append_record(Buffer& out, std::string_view& records) {
  memstat_cache cache{};
  if (!take_record(records, cache, kHeadSize) || records.size() < cache.name_size) return false;
  std::string_view name = records.substr(0, cache.name_size);
  name = name.substr(0, name.find('\0'));
  records.remove_prefix(cache.name_size);
  if (name.empty()) {  // it could not be read, and no figure has a place without it
    const std::size_t rows = std::size_t{cache.node_count} * sizeof(memstat_cache_node) +
                             std::size_t{cache.cpu_count} * sizeof(memstat_cache_cpu);
    if (records.size() < rows) return false;
    records.remove_prefix(rows);
    return true;
  }
  append_cache(out, cache, name);
  return append_nodes(out, cache.node_count, records) && append_cpus(out, cache.cpu_count, records);
}

}  // namespace

Result<void> write_slab_caches_text(std::string_view records, Buffer& out) {
  out.clear();
  out.append("slab_caches 1\n");
  const std::size_t size = records.size();
  while (!records.empty()) {
    if (!append_record(out, records)) {
      Error error = system_error("iter/kmem_cache", EIO, "the kernel's records are not whole");
      error.offset = size - records.size();
      return error;
    }
  }
  out.append("end\n");
  return {};
}

}  // namespace memstat::events
