// SPDX-License-Identifier: BSD-2-Clause
// The struct page of each page of memory, from CONFIG_SPARSEMEM's table of sections, and the page's virtual address.
//
//   mem_section -> root[N] -> struct mem_section[M] -> section_mem_map: the address for page 0, and flags
#pragma once

#include <algorithm>
#include <bit>
#include <string>

#include "core/base/text.h"
#include "core/postmortem/kernel/struct_reader.h"
#include "core/postmortem/linux/kernel_image.h"

namespace memstat::postmortem {

/// The kernel's struct pages (sparse memory model).
class PageMap {
 public:
  /// Finds the section table through VMCOREINFO, and the direct map. Errors: kKvmNoSymbol with what is missing;
  /// kVersion for another memory model.
  static Result<PageMap> find(KernelImage& image) {
    PageMap map(image);
    const VmCoreInfo& info = image.info();
    const auto roots = info.symbol("mem_section");
    const auto count = parse_u64(info.text("LENGTH(mem_section)").value_or(""));
    const auto bits = info.number("SECTION_SIZE_BITS");
    map.page_bytes_ = info.page_bytes();
    map.page_shift_ = static_cast<unsigned>(std::countr_zero(map.page_bytes_));
    map.struct_bytes_ = StructReader(image, "page").size();
    if (!roots || !count || !bits) {
      return unknown_model(image.name(), "VMCOREINFO lacks its address (CONFIG_SPARSEMEM)");
    }
    if (*bits <= map.page_shift_ || *bits > 40 || map.struct_bytes_ < sizeof(std::uint64_t) ||
        map.struct_bytes_ > kMaxPageStruct) {
      return unknown_model(image.name(), "has pages and sections of impossible sizes");
    }
    map.roots_ = *roots;
    map.root_count_ = std::min(*count, kMaxRoots);
    map.section_bits_ = *bits - map.page_shift_;
    if (auto found = map.find_direct_map(); !found) return found.error();
    return map;
  }

  /// Size of a struct page.
  [[nodiscard]] std::uint64_t struct_bytes() const { return struct_bytes_; }

  /// Size of a page.
  [[nodiscard]] std::uint64_t page_bytes() const { return page_bytes_; }

  /// A page's virtual address in the direct map.
  [[nodiscard]] std::uint64_t address_of(std::uint64_t number) const { return direct_ + (number << page_shift_); }

  /// Visits all struct pages in the dump, in pieces. Arguments: the number of the first page, the address of its struct
  /// page, and the bytes of consecutive struct pages. Skips what the dump lacks, because memory has holes. Returns a problem
  /// with the table, for display; usually "".
  template <typename Visit>
  std::string for_each(Visit visit) {
    StructReader section{*image_, "mem_section"};
    const StructField map = section.field("section_mem_map");
    const std::uint64_t stride = section.size();
    if (!map || stride == 0 || stride > page_bytes_) return "the section table has unknown entries";
    const std::uint64_t sections = page_bytes_ / stride;  // per root
    visited_ = 0;
    std::string damage;
    for (std::uint64_t root = 0; root < root_count_; ++root) {
      const auto entries = image_->read_number<std::uint64_t>(roots_ + root * sizeof(std::uint64_t));
      if (!entries) return "the table of all pages: " + entries.error().detail;
      if (*entries == 0) continue;
      for (std::uint64_t i = 0; i < sections; ++i) {
        if (auto read = section.load(*entries + i * stride); !read) {
          damage = "the table of all pages: " + read.error().detail;
          break;
        }
        const std::uint64_t number = (root * sections + i) << section_bits_;
        if ((section.get(map) & kHasPages) == 0) continue;
        if (!visit_section(number, (section.get(map) & ~kFlags) + number * struct_bytes_, visit)) {
          return "memory has more pages than are examined";
        }
      }
    }
    return damage;
  }

 private:
  static constexpr std::uint64_t kFlags = 63;                          // SECTION_MARKED_PRESENT and others, at most six bits
  static constexpr std::uint64_t kHasPages = 2;                        // SECTION_HAS_MEM_MAP
  static constexpr std::uint64_t kMaxRoots = 1U << 18U;                // 2^52 bytes in sections of 2^27
  static constexpr std::uint64_t kMaxPages = std::uint64_t{1} << 30U;  // 4 TiB
  static constexpr std::uint64_t kMaxPageStruct = 512;
  static constexpr std::uint64_t kReadBytes = 64U << 10U;  // read at once
  static constexpr std::uint64_t kPartBytes = 4096;        // granularity for skipping holes

  explicit PageMap(KernelImage& image) : image_(&image) {}

  static Error unknown_model(std::string_view dump, std::string_view why) {
    return make_error(ErrorCode::kVersion, dump, "the table of all pages: " + std::string(why));
  }

  /// The start of the direct map: arch/x86/include/asm/page_64_types.h and arch/arm64/include/asm/memory.h.
  Result<void> find_direct_map() {
    constexpr std::uint64_t kFourLevels = 0xffff'8880'0000'0000;
    constexpr std::uint64_t kFiveLevels = 0xff11'0000'0000'0000;
    const VmCoreInfo& info = image_->info();
    if (image_->memory().machine() == Machine::kArm64) {
      const auto bits = info.number("VA_BITS");
      const auto first = info.number("PHYS_OFFSET");
      if (!bits || !first || *bits < 36 || *bits > 52) {
        return unknown_model(image_->name(),
                             "VMCOREINFO has no VA_BITS and PHYS_OFFSET, so the address of the direct map is unknown");
      }
      direct_ = (~std::uint64_t{0} << *bits) - *first;
      return {};
    }
    direct_ = info.number("pgtable_l5_enabled").value_or(0) != 0 ? kFiveLevels : kFourLevels;
    const auto variable = image_->symbol("page_offset_base");  // random with CONFIG_RANDOMIZE_MEMORY
    const auto base = variable ? image_->read_number<std::uint64_t>(*variable) : Result<std::uint64_t>(direct_);
    if (!base) return base.error();
    direct_ = *base;
    return {};
  }

  /// Visits one section. Returns false after more pages than any machine has.
  template <typename Visit>
  bool visit_section(std::uint64_t first, std::uint64_t pages, Visit& visit) {
    const std::uint64_t count = std::uint64_t{1} << section_bits_;
    if (visited_ + count > kMaxPages) return false;
    visited_ += count;
    std::string bytes;
    const auto read = [&](std::uint64_t from, std::uint64_t number) {
      bytes.resize(static_cast<std::size_t>(number * struct_bytes_));
      if (!image_->read(pages + from * struct_bytes_, bytes.data(), bytes.size())) return false;
      visit(first + from, pages + from * struct_bytes_, bytes);
      return true;
    };
    const std::uint64_t piece = kReadBytes / struct_bytes_;
    const std::uint64_t small = std::max<std::uint64_t>(1, kPartBytes / struct_bytes_);
    for (std::uint64_t at = 0; at < count; at += piece) {
      const std::uint64_t end = std::min(count, at + piece);
      if (read(at, end - at)) continue;
      for (std::uint64_t part = at; part < end; part += small) read(part, std::min(small, end - part));
    }
    return true;
  }

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
