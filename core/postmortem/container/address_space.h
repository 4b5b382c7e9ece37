// SPDX-License-Identifier: BSD-2-Clause
// Translates the kernel's virtual addresses with its own page tables in the dump.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/base/result.h"
#include "core/postmortem/container/physical_memory.h"
#include "core/postmortem/container/vmcoreinfo.h"

namespace memstat::postmortem {

/// The structure of a machine's page tables. Each table is one page of 64-bit entries.
struct PageTables {
  std::uint64_t root = 0;        ///< Physical address of the highest table.
  unsigned levels = 4;           ///< 1 to 5.
  unsigned page_shift = 12;      ///< A page has 2^page_shift bytes; 12, 14 or 16.
  unsigned address_bits = 48;    ///< Translated bits of a virtual address; the bits above repeat the highest one.
  std::uint64_t encryption = 0;  ///< Bits of an entry that are not part of the address (AMD's memory encryption).
  bool is_arm64 = false;         ///< Selects the bits for "present" and "block".
};

/// A physical address, and the number of bytes that follow it in the same page.
struct Translation {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

/// Finds the page tables through VMCOREINFO:
///   x86_64: SYMBOL(swapper_pg_dir), NUMBER(phys_base), NUMBER(pgtable_l5_enabled), NUMBER(sme_mask)
///   arm64: SYMBOL(swapper_pg_dir), NUMBER(kimage_voffset), NUMBER(TCR_EL1_T1SZ) or NUMBER(VA_BITS), PAGESIZE
/// Errors: kKvmNoSymbol with the missing key; kData for an impossible page size or address width.
Result<PageTables> find_page_tables(Machine machine, const VmCoreInfo& info, std::string_view dump);

/// Walks the tables. Errors: kKvmShortRead if the address is not mapped or a table is not in the dump. Thread safety:
/// as `memory`.
Result<Translation> translate(PhysicalMemory& memory, const PageTables& tables, std::uint64_t address);

/// Reads virtual memory: `translate_piece(address)` returns a Result<Translation>. Errors: its own, and those of the memory.
template <typename Translate>
Result<void> read_translated(PhysicalMemory& memory, std::uint64_t address, char* to, std::size_t size,
                             Translate translate_piece) {
  while (size > 0) {
    const auto place = translate_piece(address);
    if (!place) return place.error();
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(size, place->bytes));
    if (auto result = memory.read(place->address, to, wanted); !result) return result;
    address += wanted;
    to += wanted;
    size -= wanted;
  }
  return {};
}

}  // namespace memstat::postmortem
