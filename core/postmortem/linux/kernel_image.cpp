// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/linux/kernel_image.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "core/postmortem/container/bytes.h"

namespace memstat::postmortem {
namespace {

/// All symbols that any reader here looks up.
constexpr std::string_view kWantedSymbols[] = {
    "__start_BTF", "__stop_BTF", "_stext", "_end",
    // cpus.cpp, slab.cpp
    "nr_node_ids", "nr_cpu_ids", "__per_cpu_offset", "__cpu_present_mask", "__cpu_online_mask", "slab_caches",
    // statistics.cpp, zones.cpp, meminfo.cpp
    "vmstat_text", "vm_zone_stat", "vm_numa_event", "vm_numa_stat", "vm_node_stat", "vm_event_states", "nr_memmap_pages",
    "nr_memmap_boot_pages", "node_data", "contig_page_data", "_totalram_pages", "blockdev_superblock", "nr_vmalloc_pages",
    "pcpu_nr_units", "pcpu_nr_populated", "num_poisoned_pages", "totalcma_pages", "cma_areas", "hstates",
    "hugetlb_max_hstate", "default_hstate_idx",
    // vmalloc.cpp, symbolizer.cpp
    "vmap_area_list", "purge_vmap_area_list", "vmap_nodes", "nr_vmap_nodes", "modules",
    // page_map.h, object_origins.h
    "page_offset_base", "jiffies", "clocksource_jiffies", "stack_slabs", "stack_pools"};

constexpr std::size_t kMaxNameTable = 64U << 20U;   // B of kallsyms_names; Debian's kernels have 3 MiB
constexpr std::size_t kMaxImageBytes = 64U << 20U;  // code and read-only data, from _stext on
constexpr std::size_t kMaxTokenTable = 64U << 10U;  // B of kallsyms_token_table: 256 parts of names
constexpr std::uint32_t kMaxAddresses = 1U << 20U;  // Debian's kernels have 200 000
constexpr std::size_t kNameBytesEach = 64;          // maximum average; real names have 13

constexpr std::array<SymbolAddresses, 3> kAddressKinds = {SymbolAddresses::kPerCpuAbsolute, SymbolAddresses::kRelative,
                                                          SymbolAddresses::kPlace};

Error no_symbol(std::string_view dump, std::string_view name, std::string_view why) {
  return make_error(ErrorCode::kKvmNoSymbol, dump, std::string(name) + ": " + std::string(why));
}

}  // namespace

Result<std::unique_ptr<KernelImage>> KernelImage::open(std::unique_ptr<PhysicalMemory> memory) {
  if (memory->vmcoreinfo().empty()) {
    return no_symbol(memory->name(), "VMCOREINFO",
                     "the dump has no such note, so the kernel's tables cannot be found; kdump always adds it, QEMU for "
                     "guests with -device vmcoreinfo whose kernel has loaded the driver qemu_fw_cfg");
  }
  VmCoreInfo info(memory->vmcoreinfo());
  std::unique_ptr<KernelImage> image(new KernelImage(std::move(memory), std::move(info)));
  auto tables = find_page_tables(image->memory_->machine(), image->info_, image->name());
  if (!tables) return std::move(tables.error());
  image->tables_ = *tables;
  if (auto found = image->find_symbols(); !found) return std::move(found.error());
  if (auto loaded = image->load_types(); !loaded) return std::move(loaded.error());
  return image;
}

Result<void> KernelImage::read(std::uint64_t address, char* to, std::size_t size) {
  return read_translated(*memory_, address, to, size, [this](std::uint64_t at) { return translate(*memory_, tables_, at); });
}

Result<std::string> KernelImage::read_mapped(std::uint64_t address, std::size_t most) {
  constexpr std::uint64_t kPiece = 4096;
  std::string bytes;
  while (bytes.size() < most) {
    const std::size_t before = bytes.size();
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece - address % kPiece, most - before));
    bytes.resize(before + wanted);
    if (auto result = read(address, bytes.data() + before, wanted); !result) {
      bytes.resize(before);
      if (bytes.empty()) return result.error();
      break;
    }
    address += wanted;
  }
  return bytes;
}

Result<std::uint64_t> KernelImage::symbol(std::string_view name) const {
  const auto found = symbols_.find(name);
  if (found == symbols_.end()) return no_symbol(this->name(), name, "the kernel has no such symbol");
  return found->second;
}

Result<std::uint64_t> KernelImage::table_of_symbols(std::string_view name) const {
  const auto address = info_.symbol(name);
  if (address) return *address;
  return no_symbol(
      this->name(), name,
      "VMCOREINFO lacks the address of the kernel's symbols, which kernels add since Linux 6.0 (CONFIG_KALLSYMS)");
}

Result<void> KernelImage::find_symbol_tables() {
  SymbolTables& tables = symbol_tables_;
  std::uint64_t count_at = 0;
  const std::pair<std::string_view, std::uint64_t*> wanted[] = {{"kallsyms_names", &tables.names},
                                                                {"kallsyms_num_syms", &count_at},
                                                                {"kallsyms_token_table", &tables.tokens},
                                                                {"kallsyms_token_index", &tables.index},
                                                                {"kallsyms_offsets", &tables.offsets}};
  if (info_.symbol(wanted[0].first)) {
    for (const auto& [symbol_name, to] : wanted) {
      const auto address = table_of_symbols(symbol_name);
      if (!address) return address.error();
      *to = *address;
    }
    if (const auto where = info_.symbol("kallsyms_relative_base")) {
      const auto base = read_number<std::uint64_t>(*where);
      if (!base) return base.error();
      tables.base = *base;
    }
  } else if (auto searched = search_symbol_tables(count_at); !searched) {
    return searched;
  }
  const auto count = read_number<std::uint32_t>(count_at);
  if (!count) return count.error();
  if (*count == 0 || *count > SymbolNames::kMaxCount) {
    return data_error(name(), 0, "kallsyms_num_syms is " + std::to_string(*count) + ", which is impossible");
  }
  tables.count = *count;
  return {};
}

Result<void> KernelImage::search_symbol_tables(std::uint64_t& count_at) {
  constexpr std::size_t kPiece = 4096;
  const auto stext = info_.symbol("_stext");
  if (!stext) return no_symbol(name(), "_stext", "is not in VMCOREINFO");
  std::string bytes(kMaxImageBytes, '\0');
  for (std::size_t at = 0; at < bytes.size(); at += kPiece) {  // there may be unmapped holes between code and data
    if (!read(*stext + at, bytes.data() + at, kPiece))
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), kPiece, '\0');
  }
  const auto found = postmortem::find_symbol_tables(bytes);
  if (!found) {
    return no_symbol(
        name(), "kallsyms_names",
        "VMCOREINFO lacks the address of the kernel's symbols, which kernels add since Linux 6.0, and they are not "
        "found in its image (CONFIG_KALLSYMS)");
  }
  SymbolTables& tables = symbol_tables_;
  tables.names = *stext + found->names;
  tables.tokens = *stext + found->tokens;
  tables.index = *stext + found->index;
  tables.offsets = *stext + found->offsets;
  tables.base = number_at<std::uint64_t>(bytes, found->relative_base);
  count_at = *stext + found->count;
  return {};
}

Result<void> KernelImage::for_each_symbol(const std::function<bool(std::uint32_t, std::string_view)>& visit) {
  const SymbolTables& tables = symbol_tables_;
  const auto names = read_mapped(tables.names, std::min(kMaxNameTable, tables.count * kNameBytesEach));
  if (!names) return names.error();
  const auto tokens = read_mapped(tables.tokens, kMaxTokenTable);
  if (!tokens) return tokens.error();
  std::array<char, SymbolNames::kTokens * 2> index;
  if (auto read_index = read(tables.index, index.data(), index.size()); !read_index) return read_index;
  return SymbolNames(*names, *tokens, {index.data(), index.size()}).for_each(tables.count, visit);
}

Result<std::vector<std::uint64_t>> KernelImage::addresses_of_symbols() {
  const SymbolTables& tables = symbol_tables_;
  if (tables.count > kMaxAddresses) return data_error(name(), 0, "has too many symbols to sort");
  std::vector<std::uint32_t> offsets(tables.count);
  if (auto result = read(tables.offsets, reinterpret_cast<char*>(offsets.data()), offsets.size() * sizeof offsets[0]);
      !result) {
    return result.error();
  }
  std::vector<std::uint64_t> addresses(offsets.size());
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    addresses[i] = symbol_address(tables.how, offsets[i], tables.base, tables.offsets + i * sizeof offsets[0]);
  }
  return addresses;
}

Result<void> KernelImage::find_symbols() {
  if (auto found = find_symbol_tables(); !found) return found;
  SymbolTables& tables = symbol_tables_;
  // The number of each wanted symbol. If several symbols share a name, the first is used, as in the kernel.
  std::map<std::string, std::uint32_t, std::less<>> numbers;
  auto walked = for_each_symbol([&](std::uint32_t number, std::string_view symbol_name) {
    const bool is_wanted =
        std::find(std::begin(kWantedSymbols), std::end(kWantedSymbols), symbol_name) != std::end(kWantedSymbols);
    if (is_wanted) numbers.emplace(symbol_name, number);
    return true;
  });
  if (!walked && numbers.empty()) return walked;

  std::map<std::string, std::uint32_t, std::less<>> offsets;
  for (const auto& [symbol_name, number] : numbers) {
    const auto offset = read_number<std::uint32_t>(tables.offsets + std::uint64_t{number} * 4);
    if (!offset) return offset.error();
    offsets.emplace(symbol_name, *offset);
  }
  // Select the encoding that yields the right _stext, whose address is also in VMCOREINFO.
  const auto stext = info_.symbol("_stext");
  const auto known = offsets.find("_stext");
  if (!stext || known == offsets.end()) return no_symbol(name(), "_stext", "is not both in VMCOREINFO and in kallsyms");
  const auto address_of = [&](SymbolAddresses how, const std::string& symbol_name) {
    return symbol_address(how, offsets.at(symbol_name), tables.base,
                          tables.offsets + std::uint64_t{numbers.at(symbol_name)} * 4);
  };
  const auto how = std::find_if(kAddressKinds.begin(), kAddressKinds.end(),
                                [&](SymbolAddresses kind) { return address_of(kind, known->first) == *stext; });
  if (how == kAddressKinds.end()) {
    return data_error(name(), 0, "kallsyms_offsets has an unknown encoding: no known one yields _stext");
  }
  tables.how = *how;
  for (const auto& [symbol_name, offset] : offsets) symbols_.emplace(symbol_name, address_of(*how, symbol_name));
  return {};
}

Result<void> KernelImage::load_types() {
  const auto begin = symbol("__start_BTF");
  const auto end = symbol("__stop_BTF");
  if (!begin || !end) {
    return no_symbol(name(), "__start_BTF",
                     "the kernel has no description of its types (CONFIG_DEBUG_INFO_BTF), or names no "
                     "variables (CONFIG_KALLSYMS_ALL)");
  }
  if (*end <= *begin || *end - *begin > Btf::kMaxBytes) {
    return data_error(name(), 0,
                      "the kernel's types lie from " + hex(*begin) + " to " + hex(*end) + ", which is impossible");
  }
  std::string bytes(static_cast<std::size_t>(*end - *begin), '\0');
  if (auto result = read(*begin, bytes.data(), bytes.size()); !result) return result;
  auto types = Btf::parse(std::move(bytes));
  if (!types) {
    types.error().path = name() + ": " + types.error().path;
    return types.error();
  }
  types_ = *std::move(types);
  return {};
}

}  // namespace memstat::postmortem
