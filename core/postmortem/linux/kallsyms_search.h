// SPDX-License-Identifier: BSD-2-Clause
// Where the tables of symbols are in a kernel that does not say so: Linux before 6.0, whose VMCOREINFO names none of them.
//
// scripts/kallsyms.c wrote them in this order until Linux 6.4, each at a multiple of 8:
//
//   kallsyms_offsets         32 bits for each symbol
//   kallsyms_relative_base   an address
//   kallsyms_num_syms        32 bits
//   kallsyms_names           a length and tokens for each symbol
//   kallsyms_markers         32 bits for each 256 symbols: where in the names these begin
//   kallsyms_token_table     256 strings
//   kallsyms_token_index     16 bits for each of them: where it begins
//
// The index is what no other data looks like; from there one comes back table by table.
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

/// Searches a kernel's read-only data, untrusted bytes. Empty if the tables are missing or incomplete. Thread safety:
/// safe.
std::optional<FoundSymbolTables> find_symbol_tables(std::string_view bytes);

}  // namespace memstat::postmortem
