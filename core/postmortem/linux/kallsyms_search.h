// SPDX-License-Identifier: BSD-2-Clause
// Finds the symbol tables in kernels that do not export their addresses: Linux before 6.0, whose VMCOREINFO lacks them.
//
// Until Linux 6.4 scripts/kallsyms.c wrote them in this order, each aligned to 8:
//
//   kallsyms_offsets         32 bits for each symbol
//   kallsyms_relative_base   an address
//   kallsyms_num_syms        32 bits
//   kallsyms_names           a length and tokens for each symbol
//   kallsyms_markers         32 bits for every 256 symbols: their offset in the names
//   kallsyms_token_table     256 strings
//   kallsyms_token_index     16 bits for each of them: its offset
//
// The index is unlike any other data; from there the search goes backwards, table by table.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace memstat::postmortem {

/// Offsets into the searched bytes.
struct FoundSymbolTables {
  std::uint64_t offsets = 0;
  std::uint64_t relative_base = 0;
  std::uint64_t count = 0;
  std::uint64_t names = 0;
  std::uint64_t tokens = 0;
  std::uint64_t index = 0;
};

/// Searches a kernel's read-only data, untrusted bytes. Empty if the tables are missing or incomplete.
std::optional<FoundSymbolTables> find_symbol_tables(std::string_view bytes);

}  // namespace memstat::postmortem
