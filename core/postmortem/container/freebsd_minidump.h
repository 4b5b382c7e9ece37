// SPDX-License-Identifier: BSD-2-Clause
// FreeBSD's minidumps: the pages that the kernel uses, and where it had them mapped. All pieces begin at whole pages:
//
//   page 0        "minidump FreeBSD/amd64", version, sizes of what follows, the kernel's ranges of addresses
//   messages      the kernel's message buffer
//   dump_avail    since amd64's version 3 and arm64's version 2: ranges of physical memory that the bitmap has bits for
//   bitmap        a bit for each page: it is in the dump
//   page tables   entries for the kernel's addresses from kernbase on: of tables (amd64 since version 2) or of pages
//   pages
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/postmortem/container/address_space.h"
#include "core/postmortem/container/block_file.h"
#include "core/postmortem/container/physical_memory.h"

namespace memstat::postmortem {

/// What the first page says. Thread safety: a plain value.
struct MinidumpLayout {
  static constexpr std::size_t kHeaderBytes = 80;

  Machine machine = Machine::kX86;
  std::uint32_t version = 0;
  std::uint64_t page_bytes = 4096;
  std::uint64_t ranges_at = 0;  ///< B in the file: dump_avail.
  std::uint64_t ranges_bytes = 0;
  std::uint64_t bitmap_at = 0;
  std::uint64_t bitmap_bytes = 0;
  std::uint64_t tables_at = 0;
  std::uint64_t tables_bytes = 0;
  std::uint64_t pages_at = 0;
  std::uint64_t kernel_base = 0;    ///< The first address that the page tables are of.
  std::uint64_t direct_base = 0;    ///< The map of all physical memory: its first address,
  std::uint64_t direct_end = 0;     ///< the one behind its last,
  std::uint64_t direct_begins = 0;  ///< and the physical address of the first.
};

/// Takes the first bytes of a file. Errors: kVersion for another machine or version, kData for what cannot be.
Result<MinidumpLayout> parse_minidump_header(std::string_view header, std::string_view file);

/// Whether a file that begins like this is a minidump of any machine.
bool is_minidump(std::string_view head);

/// A dump; of its bitmap only counts are held. Thread safety: none; one thread at a time.
class FreeBsdMinidump final : public PhysicalMemory {
 public:
  /// Errors: those of reading and of parse_minidump_header, kData for ranges and bitmaps that cannot be.
  static Result<std::unique_ptr<FreeBsdMinidump>> open(BlockFile file);

  [[nodiscard]] const std::string& name() const override { return file_.name(); }
  [[nodiscard]] Machine machine() const override { return layout_.machine; }
  [[nodiscard]] std::string_view vmcoreinfo() const override { return {}; }
  [[nodiscard]] std::int64_t changed_ns() const override { return file_.changed_ns(); }
  [[nodiscard]] std::string damage() const override;
  Result<void> read(std::uint64_t address, char* to, std::size_t size) override;

  [[nodiscard]] const MinidumpLayout& layout() const { return layout_; }
  /// Where an address of the kernel is. Errors: kKvmShortRead where nothing is mapped or the dump has no table for it.
  Result<Translation> translate(std::uint64_t address);

 private:
  // Pages of physical memory that stand one after the other in the bitmap.
  struct Range {
    std::uint64_t first = 0;  // numbers of pages
    std::uint64_t end = 0;
    std::uint64_t bit = 0;  // of the first
  };
  // The bitmap is counted by blocks of that many bytes.
  static constexpr std::uint64_t kCountedBytes = 4096;

  FreeBsdMinidump(BlockFile file, const MinidumpLayout& layout) : file_(std::move(file)), layout_(layout) {}
  Result<void> read_ranges();
  Result<void> count_pages();
  [[nodiscard]] std::optional<std::uint64_t> bit_of(std::uint64_t page) const;
  // Which of the dump's pages it is; nothing when it is in none.
  Result<std::optional<std::uint64_t>> place_of(std::uint64_t page);
  Result<std::uint64_t> table_entry(std::uint64_t number, std::uint64_t address);
  Result<Translation> translate_by_directory(std::uint64_t address);

  BlockFile file_;
  MinidumpLayout layout_;
  std::vector<Range> ranges_;
  std::vector<std::uint64_t> counts_;  // pages in the dump before each block of the bitmap
  std::uint64_t page_count_ = 0;
};

}  // namespace memstat::postmortem
