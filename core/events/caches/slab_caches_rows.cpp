// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/caches/slab_caches_rows.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/events/bpf/slab_caches_layout.h"

namespace memstat::events {
namespace {

constexpr std::size_t kHeadSize = offsetof(memstat_cache, name);

/// Copies the first `size` bytes of a struct from `records` and consumes them. Returns false if there are fewer.
template <typename Record>
bool take_record(std::string_view& records, Record& record, std::size_t size = sizeof(Record)) {
  if (records.size() < size) return false;
  std::memcpy(&record, records.data(), size);
  records.remove_prefix(size);
  return true;
}

void add_cache(TableWriter& rows, const memstat_cache& cache, std::string_view name) {
  const std::uint64_t figures[] = {cache.size,          cache.object_size,   std::uint64_t{1} << (cache.order & 31U),
                                   cache.slabs,         cache.objects,       cache.free.on_lists,
                                   cache.free.in_barns, cache.free.in_slabs, cache.free.in_sheaves};
  rows.add(cache.estimated == 0 ? "type" : "type_about", figures, {name});
}

bool add_nodes(TableWriter& rows, std::uint32_t count, std::string_view& records) {
  memstat_cache_node node{};
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!take_record(records, node)) return false;
    rows.add("node", {node.node, node.slabs, node.objects, node.partial_slabs, node.free, node.in_barn});
  }
  return true;
}

bool add_cpus(TableWriter& rows, std::uint32_t count, std::string_view& records) {
  memstat_cache_cpu cpu{};
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!take_record(records, cpu)) return false;
    rows.add("cpu", {cpu.cpu, cpu.slabs, cpu.free, cpu.in_sheaves});
  }
  return true;
}

bool add_record(TableWriter& rows, std::string_view& records) {
  memstat_cache cache{};
  if (!take_record(records, cache, kHeadSize) || records.size() < cache.name_size) return false;
  std::string_view name = records.substr(0, cache.name_size);
  name = name.substr(0, name.find('\0'));
  records.remove_prefix(cache.name_size);
  if (name.empty()) {  // the name was unreadable, and figures need one
    const std::size_t size = std::size_t{cache.node_count} * sizeof(memstat_cache_node) +
                             std::size_t{cache.cpu_count} * sizeof(memstat_cache_cpu);
    if (records.size() < size) return false;
    records.remove_prefix(size);
    return true;
  }
  add_cache(rows, cache, name);
  return add_nodes(rows, cache.node_count, records) && add_cpus(rows, cache.cpu_count, records);
}

}  // namespace

Result<void> write_slab_caches_rows(std::string_view records, Buffer& out) {
  TableWriter rows(kSlabCachesTable, out);
  const std::size_t size = records.size();
  while (!records.empty()) {
    if (!add_record(rows, records)) {
      Error error = system_error("iter/kmem_cache", EIO, "the kernel's records are truncated");
      error.offset = size - records.size();
      return error;
    }
  }
  return {};
}

}  // namespace memstat::events
