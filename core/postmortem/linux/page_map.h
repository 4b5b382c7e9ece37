// SPDX-License-Identifier: BSD-2-Clause
// The struct page of each page of memory, by CONFIG_SPARSEMEM's table of sections, and where the page itself is mapped.
//
//   mem_section -> root[N] -> struct mem_section[M] -> section_mem_map: the struct page that page 0 would have, and flags
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/postmortem/linux/kernel_image.h"

namespace memstat::postmortem {

/// Thread safety: none; one thread at a time.
class PageMap {
 public:
  /// Takes the number of the first page, the address of its struct page, and that and those behind it.
  using Visit = std::function<void(std::uint64_t number, std::uint64_t address, std::string_view pages)>;

  /// Finds the table by VMCOREINFO, and the map of all memory. Errors: kKvmNoSymbol with what is missing, kVersion for a
  /// kernel with another model of memory.
  static Result<PageMap> find(KernelImage& image);

  /// B, of a struct page.
  [[nodiscard]] std::uint64_t struct_bytes() const { return struct_bytes_; }
  /// B, of a page.
  [[nodiscard]] std::uint64_t page_bytes() const { return page_bytes_; }
  /// The virtual address of a page.
  [[nodiscard]] std::uint64_t address_of(std::uint64_t number) const { return direct_ + (number << page_shift_); }

  /// Visits every page that has a struct page in the dump, in pieces. What the dump does not hold is left out, since memory
  /// has holes. Gives back what was wrong with the table, for people; "" as a rule.
  std::string for_each(const Visit& visit);

 private:
  explicit PageMap(KernelImage& image) : image_(&image) {}
  Result<void> find_direct_map();
  // Of one section: false when more pages than any machine has were visited.
  bool visit_section(std::uint64_t first, std::uint64_t pages, const Visit& visit);

  KernelImage* image_;
  std::uint64_t roots_ = 0;  // the address of the table
  std::uint64_t root_count_ = 0;
  std::uint64_t section_bits_ = 0;  // a section has 2^section_bits_ pages
  std::uint64_t struct_bytes_ = 0;
  std::uint64_t page_bytes_ = 0;
  unsigned page_shift_ = 0;
  std::uint64_t direct_ = 0;  // the address of page 0
  std::uint64_t visited_ = 0;
};

}  // namespace memstat::postmortem
