// SPDX-License-Identifier: BSD-2-Clause
// Made-up machines: thousands of memory types on thousands of CPUs, with values computed by a formula, so that a test knows
// the expected result without 500 MiB on disk. Needs only the library.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "core/kernel/kernel_view.h"

namespace memstat {

/// The size of the machine.
struct SyntheticOptions {
  std::uint32_t types = 0;        ///< malloc(9) types; 0: a machine without kern.malloc_stats.
  std::uint32_t zones = 0;        ///< uma(9) zones; 0: a machine without vm.zone_stats.
  std::uint32_t caches = 0;       ///< Slab caches.
  std::uint32_t cpus = 1;         ///< CPUs present.
  std::uint32_t slots = 0;        ///< CPU slots per type in kern.malloc_stats, MAXCPU; if below `cpus`, `cpus` is used.
  std::uint32_t cpus_in_use = 0;  ///< About N CPUs have ever used a type, the others' figures are zero; 0: every CPU has.
  std::uint32_t idle_one_in = 0;  ///< One type in N was never used by any CPU; 0: none.
  std::uint32_t duplicate_one_in = 0;  ///< One slab cache in N has the name of the previous one; 0: none.
};

/// The five integers of a malloc(9) type's block of one CPU, in the order of the stream.
struct SyntheticBlock {
  std::uint64_t memalloced, memfreed, numallocs, numfrees, size_mask;
};

/// The kernel of such a machine at poll `poll`, which may be changed between reads. Counters grow from poll to poll; types
/// and CPUs stay. A read creates the bytes in place. Thread safety: reads are safe while `poll` does not change.
class SyntheticMachine final : public KernelView {
 public:
  SyntheticMachine(OperatingSystem os, const SyntheticOptions& made_of) : options(made_of), os_(os) {}

  const SyntheticOptions options;
  std::uint64_t poll = 0;

  [[nodiscard]] OperatingSystem os() const override { return os_; }
  [[nodiscard]] std::uint64_t page_size() const override { return 4096; }
  [[nodiscard]] std::uint32_t cpu_count() const override { return options.cpus; }
  [[nodiscard]] std::uint32_t slots() const { return options.slots < options.cpus ? options.cpus : options.slots; }

  static std::string type_name(std::uint32_t type) { return "malloc_type_" + std::to_string(type); }
  static std::string zone_name(std::uint32_t zone) { return "uma zone " + std::to_string(zone); }
  /// Two caches may have one name, as in real kernels.
  [[nodiscard]] std::string cache_name(std::uint32_t cache) const {
    if (options.duplicate_one_in != 0 && cache % options.duplicate_one_in == 1) --cache;
    return "cache-of-machine-" + std::to_string(cache);
  }

  /// Whether any CPU has ever used the type (or zone) of that number.
  [[nodiscard]] bool is_used(std::uint32_t type) const {
    return options.idle_one_in == 0 || type % options.idle_one_in != options.idle_one_in - 1;
  }
  /// The content of a CPU's block; all 0 if the CPU never used the type.
  [[nodiscard]] SyntheticBlock block(std::uint32_t type, std::uint32_t cpu) const {
    const std::uint64_t random = mix(0x9E3779B97F4A7C15U + (std::uint64_t{type} << 32U | cpu));
    const bool is_idle =
        cpu >= options.cpus || !is_used(type) || (options.cpus_in_use != 0 && random % options.cpus >= options.cpus_in_use);
    if (is_idle) return {};
    const std::uint64_t size_class = (random >> 32U) % 13;
    const std::uint64_t allocs = 1000 + (random & 0xFFFFFFU) + poll * (1 + (random >> 24U & 0x3FU));
    const std::uint64_t frees = allocs - 1 - (random >> 40U & 0x1FFU);
    return {allocs << (4 + size_class), frees << (4 + size_class), allocs, frees, std::uint64_t{1} << size_class};
  }
  /// The numbers of one line of slabinfo: objects in use, objects, B per object, pages per slab, slabs.
  [[nodiscard]] std::array<std::uint64_t, 5> cache(std::uint32_t cache) const {
    const std::uint64_t random = mix(1 + cache);
    const std::uint64_t slabs = 1 + random % 5000;
    const std::uint64_t per_slab = 1 + (random >> 20U) % 64;
    const std::uint64_t objects = slabs * per_slab;
    return {(objects * 7 / 8 + poll * 3) % (objects + 1), objects, 4096 / per_slab / 8 * 8, 1, slabs};
  }

  Result<void> read_sysctl(std::string_view name, Buffer& out, std::size_t) override {
    if (os_ == OperatingSystem::kFreeBsd) {
      if (name == "kern.malloc_stats" && options.types != 0) return make_malloc_stats(out);
      if (name == "vm.zone_stats" && options.zones != 0) return make_zone_stats(out);
      // The sysctls of 4 bytes that go with the streams.
      for (const auto& [known, value] :
           std::initializer_list<std::pair<std::string_view, std::uint32_t>>{{"kern.smp.maxcpus", slots()},
                                                                             {"kern.smp.maxid", options.cpus - 1},
                                                                             {"kern.malloc_count", options.types},
                                                                             {"vm.zone_count", options.zones},
                                                                             {"vm.malloc.zone_count", 13},
                                                                             {"hw.pagesize", 4096}}) {
        if (name != known) continue;
        out.resize(0);
        put(out, value);
        return {};
      }
      if (name == "vm.malloc.zone_sizes") {
        out.resize(0);
        for (std::uint32_t i = 0; i < 13; ++i) put(out, std::uint32_t{16} << i);
        put(out, std::uint32_t{0});
        return {};
      }
    }
    return system_error(name, ENOENT);
  }
  Result<void> read_file(std::string_view path, Buffer& out) override {
    if (os_ != OperatingSystem::kLinux || path != "/proc/slabinfo") return system_error(path, ENOENT);
    return make_slabinfo(out);
  }
  Result<void> keep_open(std::string_view path) override {
    if (os_ != OperatingSystem::kLinux || path != "/proc/slabinfo") return system_error(path, ENOENT);
    return {};
  }

 private:
  static constexpr std::size_t kHeader = 16;
  static constexpr std::size_t kBlock = 64;

  /// splitmix64: neighbouring numbers become unlike ones.
  static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31U);
  }
  template <typename T>
  static void put(Buffer& out, const T& value) {
    out.append({reinterpret_cast<const char*>(&value), sizeof value});
  }
  static void begin_stream(Buffer& out, std::uint32_t cpus, std::uint32_t count, std::size_t record) {
    out.resize(0);
    out.reserve(kHeader + count * record);
    put(out, std::array<std::uint32_t, 4>{1, cpus, count, 0});
  }
  static void put_name(Buffer& out, std::string_view name) {
    std::array<char, 32> field{};
    name.copy(field.data(), field.size() - 1);
    put(out, field);
  }

  Result<void> make_malloc_stats(Buffer& out) const {
    begin_stream(out, slots(), options.types, 32 + kBlock * slots());
    for (std::uint32_t type = 0; type < options.types; ++type) {
      put_name(out, type_name(type));
      for (std::uint32_t cpu = 0; cpu < slots(); ++cpu) {
        std::array<char, kBlock> bytes{};
        const SyntheticBlock figures = block(type, cpu);
        std::memcpy(bytes.data(), &figures, sizeof figures);
        put(out, bytes);
      }
    }
    return {};
  }
  /// Zones use the same blocks: allocations, frees and, as cached items, the size class's bit.
  Result<void> make_zone_stats(Buffer& out) const {
    begin_stream(out, options.cpus, options.zones, 120 + kBlock * options.cpus);
    for (std::uint32_t zone = 0; zone < options.zones; ++zone) {
      put_name(out, zone_name(zone));
      put(out, std::array<std::uint32_t, 10>{7, 64, 64, 0, 0, 1000 + zone, 3, 5, 0, 0});
      put(out, std::array<std::uint64_t, 6>{poll, 0, 0, 0, 0, 0});
      for (std::uint32_t cpu = 0; cpu < options.cpus; ++cpu) {
        const SyntheticBlock figures = block(zone, cpu);
        put(out, std::array<std::uint64_t, 8>{figures.numallocs, figures.numfrees, figures.size_mask});
      }
    }
    return {};
  }
  Result<void> make_slabinfo(Buffer& out) const {
    out.resize(0);
    out.append(
        "slabinfo - version: 2.1\n"
        "# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables <limit> <batchcount> "
        "<sharedfactor> : slabdata <active_slabs> <num_slabs> <sharedavail>\n");
    for (std::uint32_t number = 0; number < options.caches; ++number) {
      const auto [active, objects, size, pages, slabs] = cache(number);
      const auto wide = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
      char line[256];
      const int length = std::snprintf(
          line, sizeof line, "%-17s %6llu %6llu %6llu %4llu %4llu : tunables %4u %4u %4u : slabdata %6llu %6llu %6u\n",
          cache_name(number).c_str(), wide(active), wide(objects), wide(size), wide(objects / slabs), wide(pages), 0U, 0U,
          0U, wide(slabs), wide(slabs), 0U);
      out.append({line, static_cast<std::size_t>(length)});
    }
    return {};
  }

  OperatingSystem os_;
};

}  // namespace memstat
