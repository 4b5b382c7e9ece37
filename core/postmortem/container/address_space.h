// SPDX-License-Identifier: BSD-2-Clause
// The kernel's virtual addresses, by its own page tables in the dump.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/result.h"
#include "core/postmortem/container/physical_memory.h"
#include "core/postmortem/container/vmcoreinfo.h"

namespace memstat::postmortem {

/// How a machine's page tables are built. Each table is a page of 64-bit entries. Thread safety: a plain value.
struct PageTables {
  std::uint64_t root = 0;        ///< Physical address of the highest table.
  unsigned levels = 4;           ///< 1 to 5.
  unsigned page_shift = 12;      ///< A page has 2^page_shift bytes; 12, 14 or 16.
  unsigned address_bits = 48;    ///< Of a virtual address that are translated; all above are copies of the highest one.
  std::uint64_t encryption = 0;  ///< Bits of an entry that are no part of the address (AMD's memory encryption).
  bool is_arm64 = false;         ///< Which bits say that an entry is there and a block.
};

/// Where a virtual address is, and how many bytes follow it in the same page. Thread safety: a plain value.
struct Translation {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

/// What the kernel says of its page tables:
///   x86_64: SYMBOL(swapper_pg_dir), NUMBER(phys_base), NUMBER(pgtable_l5_enabled), NUMBER(sme_mask)
///   arm64: SYMBOL(swapper_pg_dir), NUMBER(kimage_voffset), NUMBER(TCR_EL1_T1SZ) or NUMBER(VA_BITS), PAGESIZE
/// Errors: kKvmNoSymbol with the key that is missing, kData for a page size or width that no kernel has.
Result<PageTables> find_page_tables(Machine machine, const VmCoreInfo& info, std::string_view dump);

/// Walks the tables. Errors: kKvmShortRead where nothing is mapped or a table is not in the dump.
/// Thread safety: that of `memory`.
Result<Translation> translate(PhysicalMemory& memory, const PageTables& tables, std::uint64_t address);

}  // namespace memstat::postmortem
