// SPDX-License-Identifier: BSD-2-Clause
// A crashed Linux kernel: virtual memory, symbols and types, all from the dump itself. Needs no debug information, map
// file or other file of that kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/postmortem/container/address_space.h"
#include "core/postmortem/container/physical_memory.h"
#include "core/postmortem/container/vmcoreinfo.h"
#include "core/postmortem/kernel/kernel_memory.h"
#include "core/postmortem/linux/kallsyms.h"

namespace memstat::postmortem {

/// A Linux kernel in a dump.
class KernelImage final : public KernelMemory {
 public:
  /// The names that are looked up on opening; others are unknown.
  using Symbols = std::map<std::string, std::uint64_t, std::less<>>;

  /// Finds page tables, symbols and types. The symbols are in kallsyms. VMCOREINFO has its address since Linux commit
  /// 5fd8fea935a1 ("vmcoreinfo: include kallsyms symbols") (v6.0); in older kernels the tables are searched for.
  /// Errors: kKvmNoSymbol with what is missing and since which version kernels have it, kVersion, kData, kKvmShortRead.
  static Result<std::unique_ptr<KernelImage>> open(std::unique_ptr<PhysicalMemory> memory);

  [[nodiscard]] const std::string& name() const { return memory_->name(); }
  [[nodiscard]] PhysicalMemory& memory() { return *memory_; }
  [[nodiscard]] const VmCoreInfo& info() const { return info_; }
  [[nodiscard]] const Btf& types() const override { return types_; }
  /// The address of one of kWantedSymbols. Error: kKvmNoSymbol.
  [[nodiscard]] Result<std::uint64_t> symbol(std::string_view name) const;

  /// The addresses of all symbols by number; and a visit of all names in order, until `visit(number, name)` returns
  /// false. Both read the dump again each time. Errors: those of read(); kData with the offset of a malformed name.
  Result<std::vector<std::uint64_t>> addresses_of_symbols();
  Result<void> for_each_symbol(const std::function<bool(std::uint32_t, std::string_view)>& visit);

  /// Reads a global variable. Errors: those of symbol() and read().
  template <typename Number>
  Result<Number> read_variable(std::string_view name) {
    const auto address = symbol(name);
    return address ? read_number<Number>(*address) : Result<Number>(address.error());
  }

  /// Reads exactly `size` bytes of kernel virtual memory. Errors: kKvmShortRead, kIo.
  Result<void> read(std::uint64_t address, char* to, std::size_t size) override;

 private:
  KernelImage(std::unique_ptr<PhysicalMemory> memory, VmCoreInfo info)
      : memory_(std::move(memory)), info_(std::move(info)) {}
  /// Location and encoding of the kernel's symbol tables.
  struct SymbolTables {
    std::uint64_t names = 0;
    std::uint64_t tokens = 0;
    std::uint64_t index = 0;
    std::uint64_t offsets = 0;
    std::uint64_t base = 0;
    std::uint32_t count = 0;
    SymbolAddresses how = SymbolAddresses::kRelative;
  };
  Result<void> find_symbol_tables();
  // Finds them by their structure, for kernels without their addresses in VMCOREINFO.
  Result<void> search_symbol_tables(std::uint64_t& count_at);
  Result<void> find_symbols();
  Result<void> load_types();
  Result<std::uint64_t> table_of_symbols(std::string_view name) const;
  // As many bytes as are mapped there, at most `most`.
  Result<std::string> read_mapped(std::uint64_t address, std::size_t most);

  std::unique_ptr<PhysicalMemory> memory_;
  VmCoreInfo info_;
  PageTables tables_;
  SymbolTables symbol_tables_;
  Symbols symbols_;
  Btf types_;
};

/// Names addresses in the kernel's code like its %pS, with kallsyms and the modules' own tables: "function+0x1f/0x80" or
/// "function+0x1f/0x80 [module]"; "0x..." outside functions, in unreadable tables, and beyond 65536 addresses.
std::map<std::uint64_t, std::string> name_addresses(KernelImage& image, const std::set<std::uint64_t>& addresses);

}  // namespace memstat::postmortem
