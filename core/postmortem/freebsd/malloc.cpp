// SPDX-License-Identifier: BSD-2-Clause
// The malloc(9) types of a FreeBSD kernel: the list kmemstatistics of struct malloc_type (sys/kern/kern_malloc.c).
// Since FreeBSD 13 it contains the allocator's own per-CPU data (ks_mti).
#include <optional>

#include "core/postmortem/freebsd/list.h"
#include "core/postmortem/freebsd/streams.h"
#include "core/postmortem/kernel/struct_reader.h"

namespace memstat::postmortem {
namespace {

constexpr std::size_t kTypeHeaderBytes = 32;
constexpr std::uint32_t kMaxSizeClasses = 64;
constexpr const char* kStatistics[] = {"mts_memalloced", "mts_memfreed", "mts_numallocs", "mts_numfrees", "mts_size"};

/// Stores the figures of a type by CPU, with at most one line of damage.
void put_statistics(const FreeBsdMachine& machine, StructReader& statistics, const std::vector<StructField>& fields,
                    std::uint64_t pointer, StreamBytes& stream, std::string& damage) {
  for (const std::uint32_t cpu : machine.cpus) {
    if (auto loaded = statistics.load(machine.copy_of(pointer, cpu)); !loaded) {
      if (damage.empty()) damage = "of CPU " + std::to_string(cpu) + ": " + to_string(loaded.error());
      continue;
    }
    for (std::size_t i = 0; i < fields.size(); ++i) stream.put(cpu, i * 8, statistics.get(fields[i]));
  }
}

/// The anonymous struct that has a member of this name.
std::optional<std::uint32_t> struct_with(const Btf& types, std::string_view member) {
  for (std::uint32_t type = 1; type < types.type_count(); ++type) {
    if (types.find_member(type, member)) return type;
  }
  return std::nullopt;
}

}  // namespace

Result<FreeBsdStream> read_malloc_stream(FreeBsdKernel& kernel, const FreeBsdMachine& machine) {
  StructReader type(kernel, "malloc_type");
  const StructField next = type.field("ks_next");
  const StructField name = type.field("ks_shortdesc");
  const StructField pointer = type.field("ks_mti.mti_stats");
  StructReader statistics(kernel, "malloc_type_stats");
  std::vector<StructField> fields;
  for (const char* const field : kStatistics) fields.push_back(statistics.field(field));
  if (!next || !name || !pointer || !fields[0]) return missing_type(kernel, "malloc_type");
  const auto head = kernel.read_variable<std::uint64_t>("kmemstatistics");
  if (!head) return head.error();

  StreamBytes stream(machine.cpu_slots, kTypeHeaderBytes);
  FreeBsdStream result;
  const auto take = [&](std::uint64_t /*address*/) {
    std::string damage;
    const std::string words = read_name(kernel, type.get(name), damage);
    if (!stream.add(words)) return false;
    put_statistics(machine, statistics, fields, type.get(pointer), stream, damage);
    add_damage(result.damage, "malloc type " + words, damage);
    return true;
  };
  const std::string damage = walk_list("the list of types", type, *head, next, take);
  add_damage(result.damage, "malloc types", damage);
  result.count = stream.count();
  result.bytes = stream.take();
  return result;
}

Result<std::vector<std::uint32_t>> read_malloc_sizes(FreeBsdKernel& kernel) {
  const auto array = kernel.file().symbol("kmemzones");
  if (!array) return array.error();
  const auto count = kernel.read_variable<std::uint32_t>("vm_malloc_zone_count");
  if (!count) return count.error();
  StructReader element(kernel, struct_with(kernel.types(), "kz_size"));
  const StructField size = element.field("kz_size");
  if (!size || element.size() == 0) return missing_type(kernel, "kmemzones");
  std::vector<std::uint32_t> sizes;
  for (std::uint32_t i = 0; i < *count && i < kMaxSizeClasses; ++i) {
    if (auto loaded = element.load(array->address + i * element.size()); !loaded) return loaded.error();
    sizes.push_back(static_cast<std::uint32_t>(element.get(size)));
  }
  return sizes;
}

}  // namespace memstat::postmortem
