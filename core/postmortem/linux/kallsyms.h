// SPDX-License-Identifier: BSD-2-Clause
// The kernel's own symbol table (written by scripts/kallsyms.c, read by kernel/kallsyms.c), which every kernel built with
// CONFIG_KALLSYMS contains; variables only with CONFIG_KALLSYMS_ALL.
//
// A name is a length and that number of tokens, each of which represents a few letters; the first letter is the kind of
// symbol. Addresses are 32-bit offsets from a base, with three encodings over the years (SymbolAddresses).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "core/base/result.h"

namespace memstat::postmortem {

/// The compressed symbol names, untrusted bytes. Does not own them. Thread safety: may be read by several threads.
class SymbolNames {
 public:
  static constexpr std::size_t kTokens = 256;
  static constexpr std::size_t kMaxName = 1024;          // KSYM_NAME_LEN is 512, 128 before Linux 6.1
  static constexpr std::uint32_t kMaxCount = 8U << 20U;  // Debian's kernels have 200 000

  /// `names`: kallsyms_names; `tokens`: kallsyms_token_table; `index`: kallsyms_token_index, 256 16-bit offsets into
  /// it.
  SymbolNames(std::string_view names, std::string_view tokens, std::string_view index)
      : names_(names), tokens_(tokens), index_(index) {}

  /// Calls `visit(number, name)` for each of the first `count` names, without the symbol's kind, until it returns
  /// false. The name is valid during the call. Error: kData with the offset of a malformed name.
  Result<void> for_each(std::uint32_t count, const std::function<bool(std::uint32_t, std::string_view)>& visit) const;

 private:
  // The expansion of a token.
  [[nodiscard]] std::string_view token(std::uint8_t number) const;

  std::string_view names_;
  std::string_view tokens_;
  std::string_view index_;
};

/// The encoding of addresses in the 32-bit numbers of kallsyms_offsets.
enum class SymbolAddresses : std::uint8_t {
  kPerCpuAbsolute,  ///< x86 SMP until Linux 6.14: numbers >= 0 are per-CPU offsets, others are base - 1 - number.
  kRelative,        ///< base + number, unsigned.
  kPlace,           ///< Own address + signed number: kernels without kallsyms_relative_base.
};

/// Decodes a symbol's address. `base`: kallsyms_relative_base; `place`: the address of the number itself.
std::uint64_t symbol_address(SymbolAddresses how, std::uint32_t number, std::uint64_t base, std::uint64_t place);

/// Tables in kernels that do not export their addresses: Linux before 6.0, whose VMCOREINFO lacks them. Offsets into the
/// searched bytes.
///
/// Until Linux 6.4 scripts/kallsyms.c wrote them in this order, each aligned to 8:
///
///   kallsyms_offsets         32 bits for each symbol
///   kallsyms_relative_base   an address
///   kallsyms_num_syms        32 bits
///   kallsyms_names           a length and tokens for each symbol
///   kallsyms_markers         32 bits for every 256 symbols: their offset in the names
///   kallsyms_token_table     256 strings
///   kallsyms_token_index     16 bits for each of them: its offset
///
/// The index is unlike any other data; from there the search goes backwards, table by table.
struct FoundSymbolTables {
  std::uint64_t offsets = 0;
  std::uint64_t relative_base = 0;
  std::uint64_t count = 0;
  std::uint64_t names = 0;
  std::uint64_t tokens = 0;
  std::uint64_t index = 0;
};

/// Searches a kernel's read-only data, untrusted bytes. Empty if the tables are missing or incomplete. Thread safety:
/// safe.
std::optional<FoundSymbolTables> find_symbol_tables(std::string_view bytes);

}  // namespace memstat::postmortem
