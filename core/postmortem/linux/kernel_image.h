// SPDX-License-Identifier: BSD-2-Clause
// A Linux kernel that stopped: its virtual memory, its symbols and its types, all out of the dump itself. No debugging
// information, no map file and no other file of that kernel is needed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
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

/// Reads one dump. Thread safety: none; one thread at a time.
class KernelImage final : public KernelMemory {
 public:
  /// Names that are looked up when the image is opened; others are not known.
  using Symbols = std::map<std::string, std::uint64_t, std::less<>>;

  /// Finds page tables, symbols and types. Symbols come from kallsyms, which VMCOREINFO names since Linux 6.0
  /// (5fd8fea935a1 and those before it); before, its tables are searched for. Errors: kKvmNoSymbol with what is missing and
  /// since when kernels have it, kVersion, kData, kKvmShortRead.
  static Result<std::unique_ptr<KernelImage>> open(std::unique_ptr<PhysicalMemory> memory);

  [[nodiscard]] const std::string& name() const { return memory_->name(); }
  [[nodiscard]] PhysicalMemory& memory() { return *memory_; }
  [[nodiscard]] const VmCoreInfo& info() const { return info_; }
  [[nodiscard]] const Btf& types() const override { return types_; }
  /// The address of one of kWantedSymbols. Error: kKvmNoSymbol.
  [[nodiscard]] Result<std::uint64_t> symbol(std::string_view name) const;

  /// The addresses of all symbols by their number, and their names one after the other, until `visit(number, name)` says
  /// false. Read anew each time. Errors: those of read; kData with the offset where a name does not fit.
  Result<std::vector<std::uint64_t>> addresses_of_symbols();
  Result<void> for_each_symbol(const std::function<bool(std::uint32_t, std::string_view)>& visit);

  /// Reads exactly `size` bytes of the kernel's virtual memory. Errors: kKvmShortRead, kIo.
  Result<void> read(std::uint64_t address, char* to, std::size_t size) override;

 private:
  KernelImage(std::unique_ptr<PhysicalMemory> memory, VmCoreInfo info)
      : memory_(std::move(memory)), info_(std::move(info)) {}
  /// Where the kernel's tables of symbols are, and how to read them.
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
  // The same by what they look like, for kernels that do not say where they are.
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

}  // namespace memstat::postmortem
