// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as both of FreeBSD's streams, queried twice through the C API, with and without folding; walks
// everything that a user of the library can reach. Aborts if a promise of memstat.h is broken.
#include <algorithm>
#include <cstring>

#include "tests/fuzz/fuzz_source.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/c_list.h"

namespace memstat {
namespace {

/// Reads everything of a list, and fills slots. Checks what must be true of every list. Returns a sum over all values.
std::uint64_t walk(memory_type_list* list) {
  std::uint64_t sum = 0;
  std::size_t count = 0;
  for (memory_type* type = memstat_mtl_first(list); type != nullptr; type = memstat_mtl_next(type), ++count) {
    const int allocator = memstat_get_allocator(type);
    MEMSTAT_FUZZ_REQUIRE(allocator == ALLOCATOR_MALLOC || allocator == ALLOCATOR_UMA);
    MEMSTAT_FUZZ_REQUIRE(std::strlen(memstat_get_name(type)) < MEMTYPE_MAXNAME);
    MEMSTAT_FUZZ_REQUIRE(is_valid_label_text(memstat_get_name(type)));
    MEMSTAT_FUZZ_REQUIRE(memstat_mtl_find(list, allocator, memstat_get_name(type)) != nullptr);
    for (const Accessor& accessor : kAccessors) sum = sum * 31 + accessor.get(type);
    sum += memstat_get_held_bytes(type) + memstat_get_figures(type);
    for (const CpuAccessor& accessor : kCpuAccessors) {
      for (int cpu = -1; cpu <= memstat_get_cpu_count(type); ++cpu) sum = sum * 31 + accessor.get(type, cpu);
    }
    for (std::size_t n = 0; n < 34; ++n) sum += static_cast<std::uint64_t>(memstat_malloc_zone_used(type, n));
    MEMSTAT_FUZZ_REQUIRE(memstat_get_percpu_memalloced(type, memstat_get_cpu_count(type)) == 0);
  }
  MEMSTAT_FUZZ_REQUIRE(count == memstat_mtl_get_count(list));
  return sum;
}

void set_slots(memory_type_list* list) {
  for (memory_type* type = memstat_mtl_first(list); type != nullptr; type = memstat_mtl_next(type)) {
    const int last_cpu = memstat_get_cpu_count(type) - 1;
    memstat_set_caller_pointer(type, 15, type);
    memstat_set_percpu_caller_pointer(type, last_cpu, 15, type);
  }
}

/// Types never move and keep their slots, whatever is queried.
void require_slots(memory_type_list* list, std::size_t least) {
  std::size_t kept = 0;
  for (memory_type* type = memstat_mtl_first(list); type != nullptr; type = memstat_mtl_next(type)) {
    void* const pointer = memstat_get_caller_pointer(type, 15);
    MEMSTAT_FUZZ_REQUIRE(pointer == nullptr || pointer == type);
    kept += pointer == type ? 1 : 0;
  }
  MEMSTAT_FUZZ_REQUIRE(kept == least);
}

void query(memory_type_list* list, int (*call)(memory_type_list*, int)) {
  const std::size_t before = memstat_mtl_get_count(list);
  if (call(list, 0) == 0) return;
  const int error = memstat_mtl_geterror(list);
  MEMSTAT_FUZZ_REQUIRE(error == MEMSTAT_ERROR_VERSION || error == MEMSTAT_ERROR_DATAERROR);
  MEMSTAT_FUZZ_REQUIRE(*memstat_mtl_get_message(list) != '\0');
  MEMSTAT_FUZZ_REQUIRE(call == memstat_sysctl_all || memstat_mtl_get_count(list) == before);
}

void fuzz_lists(const std::string& first, const std::string& second) {
  for (const int folding : {0, 1}) {
    const auto kernel = std::make_shared<FakeKernelView>(OperatingSystem::kFreeBsd, 1 + first.size() % 5);
    if (first.size() % 2 == 0) {
      kernel->set("vm.malloc.zone_sizes", first.substr(0, 200));
      kernel->set("vm.malloc.zone_count", first.size() < 4 ? bytes_of(32) : bytes_of(load<std::uint32_t>(first, 0) % 34));
    }
    const ListPtr list = make_list(kernel);
    memstat_mtl_set_folding(list.get(), folding);
    set_malloc(*kernel, first);
    set_uma(*kernel, first);
    query(list.get(), memstat_sysctl_all);
    walk(list.get());
    set_slots(list.get());
    const std::size_t types = memstat_mtl_get_count(list.get());
    set_malloc(*kernel, second);
    set_uma(*kernel, second);
    // The kernel reports fewer CPUs than the stream has figures for. In each query a source checks a part of the slots
    // beyond them, and all after kTurns queries.
    constexpr int kTurns = 16;
    for (int turn = 0; turn < kTurns; ++turn) {
      query(list.get(), memstat_sysctl_malloc);
      query(list.get(), memstat_sysctl_uma);
    }
    const std::uint64_t sum = walk(list.get());
    require_slots(list.get(), types);
    query(list.get(), memstat_sysctl_malloc);
    query(list.get(), memstat_sysctl_uma);
    // With folding the first query of an allocator may still have shown each of a name, which then stay as they are.
    MEMSTAT_FUZZ_REQUIRE(walk(list.get()) == sum || folding != 0);
    MEMSTAT_FUZZ_REQUIRE(memstat_kvm_all(list.get(), nullptr) == -1);
  }
}

/// The bytes with a header that fits them for records of that size, because a fuzzer rarely guesses one.
std::string with_header(std::string bytes, std::size_t type_size) {
  constexpr std::size_t kHeaderSize = 16;
  if (bytes.size() < kHeaderSize) return bytes;
  const std::uint32_t maxcpus = 1 + load<std::uint32_t>(bytes, 4) % 8;
  const std::size_t record_size = type_size + 64 * std::size_t{maxcpus};
  const std::uint32_t header[4] = {1, maxcpus, static_cast<std::uint32_t>((bytes.size() - kHeaderSize) / record_size), 0};
  std::memcpy(bytes.data(), header, sizeof header);
  return bytes;
}

}  // namespace
}  // namespace memstat

void memstat::fuzz(std::string_view whole) {
  constexpr std::size_t kMax = 2048;  // a dozen types: more would only take time
  const std::string bytes(whole.substr(0, kMax));
  fuzz_lists(bytes, with_header(bytes, 120));
  fuzz_lists(with_header(bytes, 32), with_header(bytes.substr(bytes.size() / 2), 32));
}
