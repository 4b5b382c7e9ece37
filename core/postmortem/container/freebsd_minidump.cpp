// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/container/freebsd_minidump.h"

#include <algorithm>
#include <utility>

#include "core/postmortem/container/bytes.h"

namespace memstat::postmortem {
namespace {

// Offsets in the first page: sys/amd64/include/minidump.h, sys/arm64/include/minidump.h.
constexpr std::string_view kMinidumpMagic = "minidump FreeBSD/";
constexpr std::size_t kMagicBytes = 24;
constexpr std::uint64_t kMinidumpHeaderBytes = 80;
constexpr std::uint64_t kMaxMinidumpBitmap = 512U << 20U;  // 16 TiB of memory
constexpr std::uint64_t kMaxTablesBytes = 1U << 31U;       // a page per GiB of addresses
constexpr std::uint64_t kMaxRangesBytes = 64U << 10U;
constexpr unsigned kDirectoryShift = 21;  // an entry of amd64's directories maps 2 MiB

constexpr std::uint64_t kMapped = 1;
constexpr std::uint64_t kLargePage = 1U << 7U;
constexpr std::uint64_t kArmPage = 3;
constexpr std::uint64_t kFrameBits = 0x000f'ffff'ffff'f000;
constexpr std::uint64_t kArmFrameBits = 0x0000'ffff'ffff'f000;

std::uint64_t whole_pages(std::uint64_t bytes, std::uint64_t page) { return (bytes + page - 1) / page * page; }

}  // namespace

bool is_minidump(std::string_view head) { return head.starts_with(kMinidumpMagic); }

Result<std::unique_ptr<FreeBsdMinidump>> FreeBsdMinidump::open(BlockFile file) {
  const auto header = file.read_bytes(0, kMinidumpHeaderBytes);
  if (!header) return header.error();
  std::unique_ptr<FreeBsdMinidump> dump(new FreeBsdMinidump(std::move(file)));
  if (auto taken = dump->take_header(*header); !taken) return taken.error();
  return dump;
}

/// Sets the machine, and the field offsets and versions that depend on it.
Result<std::size_t> FreeBsdMinidump::take_machine(std::string_view header) {
  std::string_view machine = header.substr(kMinidumpMagic.size(), kMagicBytes - kMinidumpMagic.size());
  machine = machine.substr(0, machine.find('\0'));
  layout_.version = number_at<std::uint32_t>(header, 24);
  const bool is_arm64 = machine == "arm64";
  if (!is_arm64 && machine != "amd64") {
    return wrong(kMinidumpMagic.size(), "is a minidump of another machine than amd64 and arm64", ErrorCode::kVersion);
  }
  if (layout_.version < 1 || layout_.version > 3) {
    return wrong(24, "is a minidump of version " + std::to_string(layout_.version) + "; 1 to 3 can be read",
                 ErrorCode::kVersion);
  }
  machine_ = is_arm64 ? Machine::kArm64 : Machine::kX86;
  layout_.kernel_base = number_at<std::uint64_t>(header, 40);
  if (is_arm64) layout_.direct_begins = number_at<std::uint64_t>(header, 48);
  const std::size_t at = is_arm64 ? 56 : 48;
  layout_.direct_base = number_at<std::uint64_t>(header, at);
  layout_.direct_end = number_at<std::uint64_t>(header, at + 8);
  if (is_arm64 && layout_.version >= 3) {
    const auto kind = number_at<std::uint32_t>(header, at + 20) & 3U;
    if (kind > 1) return wrong(at + 20, "has pages of unknown size", ErrorCode::kVersion);
    layout_.page_bytes = kind == 1 ? 16384 : 4096;
  }
  return at + 16;
}

Result<void> FreeBsdMinidump::take_header(std::string_view header) {
  if (!is_minidump(header)) return wrong(0, "is not a minidump");
  const auto ranges_field = take_machine(header);
  if (!ranges_field) return ranges_field.error();
  const bool has_ranges = layout_.version >= (machine_ == Machine::kArm64 ? 2U : 3U);
  const std::uint64_t message_bytes = number_at<std::uint32_t>(header, 28);
  const std::uint64_t bitmap_bytes = number_at<std::uint32_t>(header, 32);
  const std::uint64_t ranges_bytes = has_ranges ? number_at<std::uint32_t>(header, *ranges_field) : 0;
  layout_.tables_bytes = number_at<std::uint32_t>(header, 36);
  const auto too_much = [&](std::size_t at, std::uint64_t bytes, std::string_view of) {
    return wrong(at, "has " + std::to_string(bytes) + " bytes of " + std::string(of) + ", which is impossible");
  };
  if (bitmap_bytes == 0 || bitmap_bytes % 8 != 0 || bitmap_bytes > kMaxMinidumpBitmap) {
    return too_much(32, bitmap_bytes, "bitmap");
  }
  if (layout_.tables_bytes > kMaxTablesBytes) return too_much(36, layout_.tables_bytes, "page tables");
  if (ranges_bytes > kMaxRangesBytes) return too_much(*ranges_field, ranges_bytes, "ranges of memory");
  const std::uint64_t page = layout_.page_bytes;
  const std::uint64_t ranges_at = page + whole_pages(message_bytes, page);
  const std::uint64_t bitmap_at = ranges_at + whole_pages(ranges_bytes, page);
  layout_.tables_at = bitmap_at + whole_pages(bitmap_bytes, page);
  pages_at_ = layout_.tables_at + whole_pages(layout_.tables_bytes, page);
  bits_ = bitmap_bytes * 8;
  if (auto read = read_ranges(ranges_at, ranges_bytes); !read) return read;
  if (auto counted = bitmap_.open(file_, bitmap_at, bitmap_bytes); !counted) return counted;
  check_end(pages_at_ + bitmap_.count() * page);
  return {};
}

/// Reads pairs of addresses, terminated by 0. Without any, the bitmap begins at physical address 0.
Result<void> FreeBsdMinidump::read_ranges(std::uint64_t ranges_at, std::uint64_t size) {
  if (size == 0) {
    ranges_.push_back({.first = 0, .end = bits_, .bit = 0});
    return {};
  }
  const auto bytes = file_.read_bytes(ranges_at, size);
  if (!bytes) return bytes.error();
  std::uint64_t bit = 0;
  for (std::uint64_t at = 0; holds(*bytes, at, 16); at += 16) {
    const auto begin = number_at<std::uint64_t>(*bytes, at);
    const auto end = number_at<std::uint64_t>(*bytes, at + 8);
    if (end == 0) break;
    const Range range{.first = begin / layout_.page_bytes, .end = (end - 1) / layout_.page_bytes + 1, .bit = bit};
    // Two ranges may share a page; it belongs to the first.
    if (begin > end || (!ranges_.empty() && range.end < ranges_.back().end)) {
      return wrong(ranges_at + at, "has ranges of memory that are not in order");
    }
    ranges_.push_back(range);
    bit += range.end - range.first;
    if (bit > bits_) break;  // pages without a bit are not in the dump
  }
  return {};
}

Result<std::optional<std::uint64_t>> FreeBsdMinidump::place_of(std::uint64_t page) {
  const auto range = std::upper_bound(ranges_.begin(), ranges_.end(), page,
                                      [](std::uint64_t wanted, const Range& other) { return wanted < other.end; });
  if (range == ranges_.end() || page < range->first) return std::optional<std::uint64_t>();
  const std::uint64_t bit = range->bit + (page - range->first);
  return bit < bits_ ? bitmap_.place_of(file_, bit) : std::optional<std::uint64_t>();
}

Result<std::size_t> FreeBsdMinidump::read_piece(std::uint64_t address, char* to, std::size_t size) {
  const auto place = place_of(address / layout_.page_bytes);
  if (!place) return place.error();
  if (!*place) return missing_memory(name(), "physical", address, "is not in the dump");
  const std::uint64_t into = address % layout_.page_bytes;
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(size, layout_.page_bytes - into));
  auto result = file_.read(pages_at_ + **place * layout_.page_bytes + into, to, wanted);
  return result ? Result<std::size_t>(wanted) : result.error();
}

Error FreeBsdMinidump::unmapped(std::uint64_t address, std::string_view why) const {
  return missing_memory(name(), "virtual", address, why);
}

Result<std::uint64_t> FreeBsdMinidump::table_entry(std::uint64_t number, std::uint64_t address) {
  if (number >= layout_.tables_bytes / 8) return unmapped(address, "is beyond the page tables");
  return file_.read_record<std::uint64_t>(layout_.tables_at + number * 8);
}

Result<Translation> FreeBsdMinidump::translate_by_directory(std::uint64_t address) {
  constexpr std::uint64_t kLargeMask = (std::uint64_t{1} << kDirectoryShift) - 1;
  auto entry = table_entry((address - layout_.kernel_base) >> kDirectoryShift, address);
  if (!entry) return entry.error();
  if ((*entry & kMapped) == 0) return unmapped(address);
  if ((*entry & kLargePage) != 0) {
    const std::uint64_t into = address & kLargeMask;
    return Translation{.address = (*entry & kFrameBits & ~kLargeMask) + into, .bytes = kLargeMask + 1 - into};
  }
  std::uint64_t page = 0;
  const std::uint64_t at = (*entry & kFrameBits) + (address >> 12U) % 512 * 8;
  if (auto found = read(at, reinterpret_cast<char*>(&page), sizeof page); !found) {
    return unmapped(address, "its page table is not in the dump (" + found.error().detail + ")");
  }
  if ((page & kMapped) == 0) return unmapped(address);
  return Translation{.address = (page & kFrameBits) + address % 4096, .bytes = 4096 - address % 4096};
}

Result<Translation> FreeBsdMinidump::translate(std::uint64_t address) {
  const std::uint64_t page = layout_.page_bytes;
  if (address >= layout_.direct_base && address < layout_.direct_end) {
    return Translation{.address = address - layout_.direct_base + layout_.direct_begins, .bytes = page - address % page};
  }
  if (address < layout_.kernel_base) {
    return unmapped(address, "is not an address of the kernel");
  }
  if (machine_ == Machine::kX86 && layout_.version >= 2) return translate_by_directory(address);
  const auto entry = table_entry((address - layout_.kernel_base) / page, address);
  if (!entry) return entry.error();
  const bool is_arm64 = machine_ == Machine::kArm64;
  const std::uint64_t needed = is_arm64 ? kArmPage : kMapped;
  if ((*entry & needed) != needed) return unmapped(address);
  const std::uint64_t frame = *entry & (is_arm64 ? kArmFrameBits : kFrameBits) & ~(page - 1);
  return Translation{.address = frame + address % page, .bytes = page - address % page};
}

}  // namespace memstat::postmortem
