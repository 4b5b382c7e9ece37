// SPDX-License-Identifier: BSD-2-Clause
// A small made-up Linux kernel: page tables, kallsyms, BTF and slab caches in a few hundred KiB of memory, as an ELF dump.
// The test that made it knows all of its values, and can damage them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/postmortem/container/physical_memory.h"
#include "core/postmortem/linux/kallsyms.h"

namespace memstat {

/// Numbers as memory holds them.
template <typename... Numbers>
std::string raw_bytes(Numbers... numbers) {
  return (std::string(reinterpret_cast<const char*>(&numbers), sizeof numbers) + ...);
}

/// The header of a 64-bit ELF file of this type (2 a program, 4 a core), with its program headers behind it.
std::string elf_header(std::uint16_t type, postmortem::Machine machine, std::uint16_t program_headers, char system = 0);

/// The start of memory, and its size in bytes. It is mapped by one large page, and by 512 small ones.
inline constexpr std::uint64_t kFakePhysical = 0x1000000;
inline constexpr std::uint64_t kFakeMemoryBytes = 2U << 20U;

/// How a kernel keeps its slabs.
enum class SlabKernel { kPages, kSlabs, kSheaves };  // until 5.16, until 6.17, since 7.0

struct FakeSlab {
  std::uint32_t objects = 0;
  std::uint32_t used = 0;
};
struct FakeCacheNode {
  std::uint64_t slabs = 0;
  std::uint64_t objects = 0;
  std::vector<FakeSlab> partial = {};
  std::uint32_t full_sheaves = 0;  ///< In its barn; SlabKernel::kSheaves only.
};
struct FakeCacheCpu {
  std::vector<FakeSlab> slabs = {};         ///< The first is the active one. Not with SlabKernel::kSheaves.
  std::uint32_t free_list = 0;              ///< Objects on the CPU's own list.
  std::vector<std::uint32_t> sheaves = {};  ///< Objects in main, spare and rcu_free; SlabKernel::kSheaves only.
};
/// Slabs that are not on a list are full. The free objects of a slab are its last ones. The first word of an allocated
/// object is its number in the slab, the second its address.
struct FakeCache {
  std::string name;
  std::uint32_t object_size = 0;
  std::uint32_t size = 0;
  std::uint32_t per_slab = 0;
  std::uint32_t order = 0;
  std::vector<FakeCacheNode> nodes = {};
  std::vector<FakeCacheCpu> cpus = {};
  /// Object N was allocated N minutes before the end by thread 100 + N on CPU N % 2, from alloc_things (make_memory()),
  /// which the module's function called. Needs room after the object: see tracked_cache().
  bool has_owners = false;
};

struct FakeKernelOptions {
  postmortem::Machine machine = postmortem::Machine::kX86;
  SlabKernel slabs = SlabKernel::kSlabs;
  bool has_five_levels = false;
  postmortem::SymbolAddresses addresses = postmortem::SymbolAddresses::kPerCpuAbsolute;
  std::vector<std::uint32_t> cpus = {0, 1};
  std::uint32_t nodes = 1;
  std::string without = {};    ///< Lines of VMCOREINFO whose key contains this are omitted.
  bool hides_symbols = false;  ///< As before Linux 6.0: VMCOREINFO does not have the addresses of the symbol tables.
  bool has_memory = true;      ///< Zones, counters and areas of vmalloc; make_memory() says which.
  std::vector<FakeCache> caches = {};
};

class BtfBuilder;

/// Thread safety: none.
class FakeLinuxDump {
 public:
  explicit FakeLinuxDump(FakeKernelOptions options);

  /// The dump, 2 MiB.
  [[nodiscard]] std::string elf() const;
  /// The same in a sparse file, followed by an empty range of memory of that many bytes.
  void write_sparse(const std::string& path, std::uint64_t empty_bytes) const;

  /// VMCOREINFO's text.
  [[nodiscard]] const std::string& info() const { return info_; }
  /// The bytes of a table of the kernel's: "btf", "kallsyms_names", "kallsyms_token_table" or "kallsyms_token_index"; for a
  /// kernel that hides them "kallsyms", all tables as they are laid out in memory.
  [[nodiscard]] std::string table(const std::string& name) const;
  /// Virtual addresses of the created objects: "cache NAME", "node NAME 0", "slab NAME 0 2" (of node 0's list, from 0), a
  /// symbol.
  [[nodiscard]] std::uint64_t address(const std::string& what) const;
  /// Changes 64 bits of memory at a virtual address.
  void poke(std::uint64_t address, std::uint64_t value);

 private:
  struct Range {
    std::uint64_t offset = 0;  // in memory_
    std::uint64_t size = 0;
  };

  std::uint64_t allocate(std::uint64_t size, std::uint64_t alignment = 64);  // an offset in memory_
  template <typename Number>
  void put(std::uint64_t offset, Number value) {
    memory_.replace(static_cast<std::size_t>(offset), sizeof value, reinterpret_cast<const char*>(&value), sizeof value);
  }
  std::uint64_t add_table(const std::string& name, std::string_view bytes);
  [[nodiscard]] std::uint64_t direct(std::uint64_t offset) const;  // its address in the map of all memory
  [[nodiscard]] std::uint64_t image(std::uint64_t offset) const;   // its address in the map of the kernel's image
  std::uint64_t add_variable(const std::string& name, std::string_view bytes);

  void map_page(std::uint64_t address, std::uint64_t physical, unsigned level);
  void make_page_tables();
  void make_types();
  void make_memory_types(BtfBuilder& types);
  void make_variables();
  void make_caches();
  /// Pages of 4 KiB. Node 0: DMA with 3000 pages of which 1000 are free, Normal with 100000 of which 40000 are, Movable with
  /// none. MemTotal 103000 pages. Areas: 4 pages of alloc_things, one of registers at 0xfed00000, one page of mod_alloc of
  /// the module fakemod, one vm_map_ram, one unpurged. 2 huge pages of 2 MiB. 300 pages of block devices.
  void make_memory();
  void make_counters();
  void make_zones();
  void make_areas();
  void make_module();
  [[nodiscard]] std::uint64_t add_text(std::string_view text);                   // its address
  void add_list(std::uint64_t head, const std::vector<std::uint64_t>& entries);  // addresses of each list_head
  [[nodiscard]] std::uint64_t per_cpu_base() const;
  [[nodiscard]] std::uint64_t per_cpu_area(std::size_t index) const;  // an offset in memory_
  void make_slab_types(BtfBuilder& types);
  void make_owner_types(BtfBuilder& types);
  void make_page_map();
  void make_depot();
  // The offset of its struct page.
  std::uint64_t make_slab(const FakeCache& cache, std::uint64_t cache_offset, const FakeSlab& slab, std::uint32_t node);
  void make_owner(const FakeCache& cache, std::uint64_t object, std::uint32_t number);
  void link_free(const FakeCache& cache, std::uint64_t head, const std::vector<std::uint64_t>& objects);
  std::uint64_t make_sheaf(std::uint32_t size);
  void make_node(const FakeCache& cache, std::uint64_t cache_offset, std::uint32_t number);
  void make_cpu(const FakeCache& cache, std::uint64_t cache_offset, std::uint64_t per_cpu, std::size_t index);
  void make_symbols();
  void hide_symbols();
  void make_info();
  [[nodiscard]] std::string headers(std::uint64_t empty_bytes) const;

  FakeKernelOptions options_;
  std::string memory_;  // from kPhysical on
  std::uint64_t root_ = 0;
  std::map<std::string, Range> tables_;
  std::map<std::string, std::uint64_t> symbols_;    // addresses
  std::map<std::string, std::uint64_t> addresses_;  // of objects that are not symbols
  std::uint64_t page_map_ = 0;                      // the struct page of the first page
  std::vector<std::uint64_t> full_objects_;         // of the cache under construction, in full slabs and not yet in a sheaf
  std::string info_;
};

/// Three caches on two CPUs: "dentry" with partial slabs, "kmalloc-64" with slabs on CPUs, "empty" with none.
FakeKernelOptions small_kernel(SlabKernel slabs = SlabKernel::kSlabs);

/// "tracked", whose objects have owners: two slabs of 8 objects, 3 of one in use.
FakeCache tracked_cache();

/// The bytes of a description of types that begins with these: a BTF's or a CTF's, by how they are written.
class TypeBuilder {
 public:
  std::uint32_t add_integer(const std::string& name, std::uint32_t size);
  std::uint32_t add_pointer(std::uint32_t target);
  std::uint32_t add_typedef(const std::string& name, std::uint32_t target);
  std::uint32_t add_array(std::uint32_t element, std::uint32_t count);
  std::uint32_t add_enum(const std::string& name, const std::vector<std::pair<std::string, std::uint32_t>>& constants);

 protected:
  /// The numbers of the kinds of type.
  struct Kinds {
    std::uint32_t integer, pointer, array, structure, enumeration, alias;
  };
  explicit TypeBuilder(const Kinds& kinds) : kinds_(kinds) {}
  ~TypeBuilder() = default;
  TypeBuilder(const TypeBuilder&) = default;
  TypeBuilder& operator=(const TypeBuilder&) = delete;

  /// `last` is a size, or the number of a type. Returns the number of the new type.
  virtual std::uint32_t add(const std::string& name, std::uint32_t kind, std::uint32_t count, std::uint64_t last,
                            bool is_size, std::string_view extra) = 0;
  /// The bytes of an array's element, index type and length.
  [[nodiscard]] virtual std::string array(std::uint32_t element, std::uint32_t count) const = 0;
  std::uint32_t string_at(const std::string& text);

  const Kinds kinds_;
  std::string types_;
  std::string strings_ = std::string(1, '\0');
  std::uint32_t count_ = 0;
};

class BtfBuilder final : public TypeBuilder {
 public:
  struct Member {
    std::string name;
    std::uint32_t type = 0;
    std::uint32_t bit_offset = 0;
    std::uint32_t bit_size = 0;  ///< Of a bit field.
  };
  BtfBuilder() : TypeBuilder({.integer = 1, .pointer = 2, .array = 3, .structure = 4, .enumeration = 6, .alias = 8}) {}
  std::uint32_t add_struct(const std::string& name, std::uint32_t size, const std::vector<Member>& members) {
    return add_compound(kinds_.structure, name, size, members);
  }
  std::uint32_t add_union(const std::string& name, std::uint32_t size, const std::vector<Member>& members) {
    return add_compound(kinds_.structure + 1, name, size, members);
  }
  [[nodiscard]] std::string bytes() const;

 private:
  std::uint32_t add(const std::string& name, std::uint32_t kind, std::uint32_t count, std::uint64_t last, bool is_size,
                    std::string_view extra) override;
  [[nodiscard]] std::string array(std::uint32_t element, std::uint32_t count) const override;
  std::uint32_t add_compound(std::uint32_t kind, const std::string& name, std::uint32_t size,
                             const std::vector<Member>& members);
};

/// A copy of the bytes with this number at `at`.
template <typename Number>
std::string with(std::string bytes, std::size_t at, Number value) {
  bytes.replace(at, sizeof value, reinterpret_cast<const char*>(&value), sizeof value);
  return bytes;
}

}  // namespace memstat
