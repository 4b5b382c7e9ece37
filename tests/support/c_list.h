// SPDX-License-Identifier: BSD-2-Clause
// Lists of the C API over kernels made by a test, and everything that the C API returns for them.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/c_api/handle.h"
#include "core/include/memstat.h"
#include "tests/support/fake_kernel_view.h"
#include "tests/support/stream_builder.h"

namespace memstat {

struct ListDeleter {
  void operator()(memory_type_list* list) const { memstat_mtl_free(list); }
};
using ListPtr = std::unique_ptr<memory_type_list, ListDeleter>;

/// A list that reads `view` only.
inline ListPtr make_list(std::shared_ptr<KernelView> view) { return ListPtr(new memory_type_list(std::move(view))); }
/// A list as users of the library get it.
inline ListPtr make_list() { return ListPtr(memstat_mtl_alloc()); }

struct Accessor {
  const char* name;  // as in the dumps of FreeBSD's libmemstat
  std::uint64_t (*get)(const memory_type* type);
};
inline constexpr Accessor kAccessors[] = {{"countlimit", memstat_get_countlimit}, {"byteslimit", memstat_get_byteslimit},
                                          {"sizemask", memstat_get_sizemask},     {"size", memstat_get_size},
                                          {"rsize", memstat_get_rsize},           {"memalloced", memstat_get_memalloced},
                                          {"memfreed", memstat_get_memfreed},     {"numallocs", memstat_get_numallocs},
                                          {"numfrees", memstat_get_numfrees},     {"bytes", memstat_get_bytes},
                                          {"count", memstat_get_count},           {"free", memstat_get_free},
                                          {"failures", memstat_get_failures},     {"sleeps", memstat_get_sleeps},
                                          {"xdomain", memstat_get_xdomain},       {"zonefree", memstat_get_zonefree},
                                          {"kegfree", memstat_get_kegfree}};

struct CpuAccessor {
  const char* name;
  std::uint64_t (*get)(const memory_type* type, int cpu);
};
inline constexpr CpuAccessor kCpuAccessors[] = {
    {"memalloced", memstat_get_percpu_memalloced}, {"memfreed", memstat_get_percpu_memfreed},
    {"allocs", memstat_get_percpu_numallocs},      {"frees", memstat_get_percpu_numfrees},
    {"sizemask", memstat_get_percpu_sizemask},     {"free", memstat_get_percpu_free}};

/// Everything that the C API returns for one type, except its slots and address: the same for two equal queries.
inline std::string figures_of(const memory_type* type) {
  std::ostringstream text;
  text << memstat_get_allocator(type) << ' ' << memstat_get_name(type) << ':';
  for (const Accessor& accessor : kAccessors) text << ' ' << accessor.name << '=' << accessor.get(type);
  text << " held=" << memstat_get_held_bytes(type) << " figures=" << memstat_get_figures(type)
       << " present=" << memstat_is_present(type) << " ordinal=" << memstat_get_ordinal(type) << '/'
       << memstat_get_duplicates(type) << " cpus=" << memstat_get_cpu_count(type);
  for (const CpuAccessor& accessor : kCpuAccessors) {
    text << ' ' << accessor.name << ':';
    for (int cpu = -1; cpu <= memstat_get_cpu_count(type); ++cpu) text << ' ' << accessor.get(type, cpu);
  }
  return text.str();
}

/// Everything visible of a list, including addresses and slots, but not its error.
inline std::string everything(memory_type_list* list) {
  std::ostringstream text;
  text << memstat_mtl_get_count(list) << '\n';
  for (memory_type* type = memstat_mtl_first(list); type != nullptr; type = memstat_mtl_next(type)) {
    text << type << ' ' << figures_of(type) << " slots:";
    for (int slot = 0; slot < MEMSTAT_MAXCALLER; ++slot) {
      text << ' ' << memstat_get_caller_uint64(type, slot) << ' ' << memstat_get_caller_pointer(type, slot);
      for (int cpu = 0; cpu < memstat_get_cpu_count(type); ++cpu) {
        text << ' ' << memstat_get_percpu_caller_uint64(type, cpu, slot) << ' '
             << memstat_get_percpu_caller_pointer(type, cpu, slot);
      }
    }
    text << '\n';
  }
  return text.str();
}

/// Gives every slot of every type and CPU a different value.
inline void fill_slots(memory_type_list* list) {
  std::uint64_t value = 1;
  for (memory_type* type = memstat_mtl_first(list); type != nullptr; type = memstat_mtl_next(type)) {
    for (int slot = 0; slot < MEMSTAT_MAXCALLER; ++slot) {
      memstat_set_caller_uint64(type, slot, value++);
      memstat_set_caller_pointer(type, slot, reinterpret_cast<void*>(value++));
      for (int cpu = 0; cpu < memstat_get_cpu_count(type); ++cpu) {
        memstat_set_percpu_caller_uint64(type, cpu, slot, value++);
        memstat_set_percpu_caller_pointer(type, cpu, slot, reinterpret_cast<void*>(value++));
      }
    }
  }
}

/// "allocator:name" of every type in order.
inline std::vector<std::string> order_of(memory_type_list* list) {
  std::vector<std::string> order;
  for (memory_type* type = memstat_mtl_first(list); type != nullptr; type = memstat_mtl_next(type)) {
    order.push_back(std::to_string(memstat_get_allocator(type)) + ":" + memstat_get_name(type));
  }
  return order;
}

inline std::string bytes_of(std::uint32_t value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

/// Gives the kernel a stream and the integers that belong to its header.
inline void set_malloc(FakeKernelView& kernel, const std::string& stream) {
  kernel.set("kern.malloc_stats", stream);
  kernel.set("kern.smp.maxcpus", stream.size() < 16 ? bytes_of(1) : stream.substr(4, 4));
  kernel.set("kern.malloc_count", stream.size() < 16 ? bytes_of(0) : stream.substr(8, 4));
}
inline void set_uma(FakeKernelView& kernel, const std::string& stream) {
  std::uint32_t cpus = 1;
  if (stream.size() >= 16) std::memcpy(&cpus, stream.data() + 4, sizeof cpus);
  kernel.set("vm.zone_stats", stream);
  kernel.set("kern.smp.maxid", bytes_of(cpus - 1));
  kernel.set("vm.zone_count", stream.size() < 16 ? bytes_of(0) : stream.substr(8, 4));
}
inline void set_size_classes(FakeKernelView& kernel, const std::vector<std::uint32_t>& sizes) {
  std::string bytes;
  for (const std::uint32_t size : sizes) bytes += bytes_of(size);
  kernel.set("vm.malloc.zone_sizes", bytes);
  kernel.set("vm.malloc.zone_count", bytes_of(static_cast<std::uint32_t>(sizes.size())));
}
/// Those of FreeBSD 13 and later.
inline const std::vector<std::uint32_t> kSizeClasses13 = {16,   32,   64,   128,   256,   384,   512, 1024,
                                                          2048, 4096, 8192, 16384, 32768, 65536, 0};

/// A FreeBSD 13 (or later) kernel with these streams.
inline std::shared_ptr<FakeKernelView> make_kernel(const std::string& malloc_stream, const std::string& uma_stream,
                                                   std::uint32_t cpus = 2) {
  auto kernel = std::make_shared<FakeKernelView>(OperatingSystem::kFreeBsd, cpus);
  set_size_classes(*kernel, kSizeClasses13);
  set_malloc(*kernel, malloc_stream);
  set_uma(*kernel, uma_stream);
  return kernel;
}

}  // namespace memstat
