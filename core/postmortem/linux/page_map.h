// SPDX-License-Identifier: BSD-2-Clause
// The struct page of each page of memory, from CONFIG_SPARSEMEM's table of sections, and the page's virtual address.
//
//   mem_section -> root[N] -> struct mem_section[M] -> section_mem_map: the address for page 0, and flags
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/postmortem/linux/kernel_image.h"

namespace memstat::postmortem {

/// The kernel's struct pages (sparse memory model).
class PageMap {
 public:
  /// Arguments: the number of the first page, the address of its struct page, and the bytes of consecutive struct
  /// pages.
  using Visit = std::function<void(std::uint64_t number, std::uint64_t address, std::string_view pages)>;

  /// Finds the section table through VMCOREINFO, and the direct map. Errors: kKvmNoSymbol with what is missing;
  /// kVersion for another memory model.
  static Result<PageMap> find(KernelImage& image);

  /// Size of a struct page.
  [[nodiscard]] std::uint64_t struct_bytes() const { return struct_bytes_; }
  /// Size of a page.
  [[nodiscard]] std::uint64_t page_bytes() const { return page_bytes_; }
  /// A page's virtual address in the direct map.
  [[nodiscard]] std::uint64_t address_of(std::uint64_t number) const { return direct_ + (number << page_shift_); }

  /// Visits all struct pages in the dump, in pieces. Skips what the dump lacks, because memory has holes. Returns a
  /// problem with the table, for display; usually "".
  std::string for_each(const Visit& visit);

 private:
  explicit PageMap(KernelImage& image) : image_(&image) {}
  Result<void> find_direct_map();
  // Visits one section. Returns false after more pages than any machine has.
  bool visit_section(std::uint64_t first, std::uint64_t pages, const Visit& visit);

  KernelImage* image_;
  std::uint64_t roots_ = 0;  // address of the table
  std::uint64_t root_count_ = 0;
  std::uint64_t section_bits_ = 0;  // a section has 2^section_bits_ pages
  std::uint64_t struct_bytes_ = 0;
  std::uint64_t page_bytes_ = 0;
  unsigned page_shift_ = 0;
  std::uint64_t direct_ = 0;  // address of page 0
  std::uint64_t visited_ = 0;
};

}  // namespace memstat::postmortem
