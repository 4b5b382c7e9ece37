// SPDX-License-Identifier: BSD-2-Clause
// A small made-up FreeBSD kernel: malloc types, uma zones and page counts in a few hundred KiB of memory, as a minidump or a
// dump of all memory, and the kernel's file with symbols and CTF. The test that made it knows all of its values.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/postmortem/container/physical_memory.h"
#include "tests/support/fake_linux_dump.h"
#include "tests/support/stream_builder.h"

namespace memstat {

/// The bytes of a CTF section, of version 2 or 3.
class CtfBuilder final : public TypeBuilder {
 public:
  struct Member {
    std::string name;
    std::uint32_t type = 0;
    std::uint64_t offset = 0;  ///< B
  };
  explicit CtfBuilder(unsigned version)
      : TypeBuilder({.integer = 1, .pointer = 3, .array = 4, .structure = 6, .enumeration = 8, .alias = 10}),
        version_(version) {}
  std::uint32_t add_function(std::uint32_t arguments);
  std::uint32_t add_struct(const std::string& name, std::uint64_t size, const std::vector<Member>& members);
  /// In zlib's format, uncompressed.
  [[nodiscard]] std::string bytes(bool is_packed) const;

 private:
  std::uint32_t add(const std::string& name, std::uint32_t kind, std::uint32_t count, std::uint64_t last, bool is_size,
                    std::string_view extra) override;
  [[nodiscard]] std::string array(std::uint32_t element, std::uint32_t count) const override;
  [[nodiscard]] std::string word(std::uint32_t number) const;

  unsigned version_;
};

/// The same bytes in zstd's format, uncompressed; needs no library.
std::string as_zstd(std::string_view bytes);

/// A malloc(9) type.
struct FakeMallocType {
  std::string name;
  std::map<std::uint32_t, MallocBlock> cpus = {};
};
/// The domains of a keg's free items and pages.
struct FakeKegDomain {
  std::uint32_t pages = 0;
  std::uint32_t free = 0;
};
struct FakeZone {
  std::string name;
  std::uint64_t limit = 0;
  std::uint64_t items = 0;  ///< uz_items, sleepers included.
  std::uint64_t sleeps = 0;
  /// Counters by CPU: allocations, frees, failures, frees of another domain's items.
  std::map<std::uint32_t, std::array<std::uint64_t, 4>> counters = {};
  std::map<std::uint32_t, UmaBlock> caches = {};
  std::vector<std::int64_t> domain_items = {};  ///< In full buckets.
};
/// A slab with the state of every item.
struct FakeUmaSlab {
  std::uint32_t domain = 0;
  /// A letter an item: '.' free, 'x' allocated; in a bucket of the keg's first zone: 'c' of the first CPU, 'd' of the
  /// slab's domain, 'o' of items of other domains there.
  std::string items;
};
struct FakeKeg {
  std::uint32_t size = 0;
  std::uint32_t footprint = 0;
  std::uint16_t pages_per_slab = 1;
  std::uint16_t items_per_slab = 1;
  bool is_internal = false;
  std::vector<FakeKegDomain> domains = {};
  std::vector<FakeZone> zones = {};
  bool is_off_page = false;  ///< Slab headers are outside of the slabs' pages. If there are slabs, the domains and the first
                             ///< zone's buckets follow from them.
  std::vector<FakeUmaSlab> slabs = {};
};

struct FakeFreeBsdOptions {
  postmortem::Machine machine = postmortem::Machine::kX86;
  /// 13, 14 and 15 have the structs of these releases; 99 has those of an unknown kernel.
  unsigned release = 15;
  unsigned minidump_version = 3;  ///< 0: a dump of all memory in ELF.
  std::uint64_t page_bytes = 4096;
  std::uint64_t load_offset = 0;  ///< Of a dump of all memory: how far from its usual place the kernel was loaded.
  bool has_fifth_level = false;   ///< For a dump of all memory of x86: five levels, as on a CPU with LA57.
  bool has_packed_types = false;
  std::vector<std::uint32_t> cpus = {0, 1};
  std::uint32_t domains = 1;
  std::vector<FakeMallocType> types = {};
  std::vector<FakeKeg> kegs = {};
  std::vector<FakeZone> cache_zones = {};
};

/// Thread safety: none.
class FakeFreeBsdDump {
 public:
  explicit FakeFreeBsdDump(FakeFreeBsdOptions options);

  [[nodiscard]] const FakeFreeBsdOptions& options() const { return options_; }
  /// The dump, and the kernel's file.
  [[nodiscard]] std::string dump() const;
  [[nodiscard]] std::string kernel() const;
  [[nodiscard]] std::string types() const;  ///< The kernel's CTF section. Virtual addresses of the created objects: a
                                            ///< symbol, "type NAME", "keg 0", "zone NAME", "name NAME" (of a type).
  [[nodiscard]] std::uint64_t address(const std::string& what) const;
  /// Changes 64 bits of memory at such an address.
  void poke(std::uint64_t address, std::uint64_t value);

  /// What the kernel would have returned, computed without reading the dump.
  [[nodiscard]] std::string malloc_stream() const;
  [[nodiscard]] std::string zone_stream() const;

  static constexpr std::uint64_t kPhysical = 0x200000;  ///< Where its memory begins.

 private:
  struct Layout;
  [[nodiscard]] const Layout& layout() const;
  [[nodiscard]] std::uint32_t slots() const { return options_.cpus.back() + 1; }
  [[nodiscard]] std::uint64_t kernel_base() const;
  [[nodiscard]] std::uint64_t direct_base() const;
  [[nodiscard]] std::uint64_t physical(std::uint64_t offset) const { return kPhysical + options_.load_offset + offset; }
  [[nodiscard]] std::uint64_t direct(std::uint64_t offset) const;
  [[nodiscard]] std::uint64_t image(std::uint64_t offset) const { return kernel_base() + kPhysical + offset; }

  std::uint64_t allocate(std::uint64_t size, std::uint64_t alignment = 64);
  template <typename Number>
  void put(std::uint64_t offset, Number value) {
    memory_.replace(static_cast<std::size_t>(offset), sizeof value, reinterpret_cast<const char*>(&value), sizeof value);
  }
  std::uint64_t add_text(std::string_view text);
  std::uint64_t add_variable(const std::string& name, std::string_view bytes);
  /// The pointer that the kernel would keep to a per-CPU variable, and the offset of CPU 0's copy.
  std::pair<std::uint64_t, std::uint64_t> add_per_cpu(std::uint64_t size);
  std::uint64_t add_counter(const FakeZone& zone, std::size_t which);
  void make_variables();
  void make_types();
  void make_malloc();
  void make_zones();
  std::uint64_t make_zone(const FakeZone& zone, std::uint64_t keg, std::uint64_t next);
  void count_slabs(FakeKeg& keg) const;
  void make_slabs(const FakeKeg& keg, std::uint64_t keg_offset);
  std::uint64_t make_bucket(const std::vector<std::uint64_t>& items, bool counts, std::uint64_t next);
  void make_pages();
  void make_page_tables();
  std::uint64_t map_page(std::uint64_t address, std::uint64_t to, std::uint64_t root, unsigned top_shift = 39);
  [[nodiscard]] std::string minidump() const;
  [[nodiscard]] std::string elf() const;
  [[nodiscard]] std::uint64_t pages() const { return memory_.size() / options_.page_bytes; }

  FakeFreeBsdOptions options_;
  std::string memory_;
  std::string types_;
  std::uint64_t pcpu_ = 0;  // offsets in memory_
  std::uint64_t per_cpu_ = 0;
  std::uint64_t per_cpu_used_ = 0;
  std::string directory_;                                                   // the page tables of a minidump
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> symbols_;  // address and size
  std::map<std::string, std::uint64_t> addresses_;
};

/// Types, kegs with a secondary zone and one with a limit, an internal one, and a zone without a keg, on CPUs 0, 1 and 3 of
/// two domains.
FakeFreeBsdOptions small_freebsd();

/// The same with kegs that have slabs, whose objects can be listed: 13 of "tidhash", 70 of "ucred", whose slab headers are
/// elsewhere, and 2 of "shared" and "shared again".
FakeFreeBsdOptions freebsd_with_slabs();

}  // namespace memstat
