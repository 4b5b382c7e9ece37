// SPDX-License-Identifier: BSD-2-Clause
// FreeBSD's minidumps: the pages in use by the kernel, and their mappings. All pieces begin at page boundaries:
//
//   page 0        "minidump FreeBSD/amd64", version, sizes of the following pieces, the kernel's address ranges
//   messages      the kernel's message buffer
//   dump_avail    since version 3 on amd64 and 2 on arm64: ranges of physical memory that the bitmap covers
//   bitmap        a bit for each page: it is in the dump
//   page tables   entries for kernel addresses from kernbase on: of tables (amd64 since version 2) or of pages
//   pages
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/postmortem/container/address_space.h"
#include "core/postmortem/container/physical_memory.h"

namespace memstat::postmortem {

/// The kernel's addresses, from the first page.
struct MinidumpLayout {
  std::uint32_t version = 0;
  std::uint64_t page_bytes = 4096;
  std::uint64_t tables_at = 0;  ///< File offset of the page tables.
  std::uint64_t tables_bytes = 0;
  std::uint64_t kernel_base = 0;    ///< First address covered by the page tables.
  std::uint64_t direct_base = 0;    ///< Map of all physical memory: first address,
  std::uint64_t direct_end = 0;     ///< end address (exclusive),
  std::uint64_t direct_begins = 0;  ///< and physical address of the first.
};

/// Whether these are the first bytes of a minidump, for any machine.
bool is_minidump(std::string_view head);

/// A minidump. Keeps only counts of its bitmap in memory.
class FreeBsdMinidump final : public FileMemory {
 public:
  /// Errors: read errors; kVersion for another machine or version; kData for impossible values, ranges and bitmaps.
  static Result<std::unique_ptr<FreeBsdMinidump>> open(BlockFile file);

  [[nodiscard]] const MinidumpLayout& layout() const { return layout_; }
  /// Translates a kernel address. Errors: kKvmShortRead if it is not mapped, or the dump has no table for it.
  Result<Translation> translate(std::uint64_t address);

 private:
  // Consecutive pages of physical memory in the bitmap.
  struct Range {
    std::uint64_t first = 0;  // page numbers
    std::uint64_t end = 0;
    std::uint64_t bit = 0;  // number of the first bit
  };

  using FileMemory::FileMemory;
  Result<std::size_t> read_piece(std::uint64_t address, char* to, std::size_t size) override;
  // Returns the offset of the number of bytes of dump_avail.
  Result<std::size_t> take_machine(std::string_view header);
  Result<void> take_header(std::string_view header);
  Result<void> read_ranges(std::uint64_t at, std::uint64_t size);
  // The index of a page in the dump; empty if the dump does not have it.
  Result<std::optional<std::uint64_t>> place_of(std::uint64_t page);
  Result<std::uint64_t> table_entry(std::uint64_t number, std::uint64_t address);
  Result<Translation> translate_by_directory(std::uint64_t address);
  [[nodiscard]] Error unmapped(std::uint64_t address, std::string_view why = "is not mapped") const;

  MinidumpLayout layout_;
  std::vector<Range> ranges_;
  std::uint64_t bits_ = 0;
  PageBitmap bitmap_;
  std::uint64_t pages_at_ = 0;
};

}  // namespace memstat::postmortem
