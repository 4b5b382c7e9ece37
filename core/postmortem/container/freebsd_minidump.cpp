// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/container/freebsd_minidump.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "core/postmortem/container/bytes.h"

namespace memstat::postmortem {
namespace {

// Offsets in the first page: sys/amd64/include/minidump.h, sys/arm64/include/minidump.h.
constexpr std::string_view kMinidumpMagic = "minidump FreeBSD/";
constexpr std::size_t kMagicBytes = 24;
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

/// Sets the machine, and the field offsets and versions that depend on it.
Result<std::size_t> take_machine(std::string_view header, std::string_view file, MinidumpLayout& layout) {
  std::string_view name = header.substr(kMinidumpMagic.size(), kMagicBytes - kMinidumpMagic.size());
  name = name.substr(0, name.find('\0'));
  layout.version = number_at<std::uint32_t>(header, 24);
  const bool is_arm64 = name == "arm64";
  if (!is_arm64 && name != "amd64") {
    return data_error(file, kMinidumpMagic.size(), "is a minidump of another machine than amd64 and arm64",
                      ErrorCode::kVersion);
  }
  if (layout.version < 1 || layout.version > 3) {
    return data_error(file, 24, "is a minidump of version " + std::to_string(layout.version) + "; 1 to 3 can be read",
                      ErrorCode::kVersion);
  }
  layout.machine = is_arm64 ? Machine::kArm64 : Machine::kX86;
  layout.kernel_base = number_at<std::uint64_t>(header, 40);
  if (is_arm64) layout.direct_begins = number_at<std::uint64_t>(header, 48);
  const std::size_t at = is_arm64 ? 56 : 48;
  layout.direct_base = number_at<std::uint64_t>(header, at);
  layout.direct_end = number_at<std::uint64_t>(header, at + 8);
  if (is_arm64 && layout.version >= 3) {
    const auto kind = number_at<std::uint32_t>(header, at + 20) & 3U;
    if (kind > 1) return data_error(file, at + 20, "has pages of unknown size", ErrorCode::kVersion);
    layout.page_bytes = kind == 1 ? 16384 : 4096;
  }
  return at + 16;
}

}  // namespace

bool is_minidump(std::string_view head) { return head.starts_with(kMinidumpMagic); }

Result<MinidumpLayout> parse_minidump_header(std::string_view header, std::string_view file) {
  if (!holds(header, 0, MinidumpLayout::kHeaderBytes)) return data_error(file, header.size(), "ends within its header");
  if (!is_minidump(header)) return data_error(file, 0, "is not a minidump");
  MinidumpLayout layout;
  const auto ranges_field = take_machine(header, file, layout);
  if (!ranges_field) return ranges_field.error();
  const bool has_ranges = layout.version >= (layout.machine == Machine::kArm64 ? 2U : 3U);
  const auto message_bytes = number_at<std::uint32_t>(header, 28);
  layout.bitmap_bytes = number_at<std::uint32_t>(header, 32);
  layout.tables_bytes = number_at<std::uint32_t>(header, 36);
  layout.ranges_bytes = has_ranges ? number_at<std::uint32_t>(header, *ranges_field) : 0;
  const auto too_much = [&](std::size_t at, std::uint64_t bytes, std::string_view of) {
    return data_error(file, at, "has " + std::to_string(bytes) + " bytes of " + std::string(of) + ", which is impossible");
  };
  if (layout.bitmap_bytes == 0 || layout.bitmap_bytes % 8 != 0 || layout.bitmap_bytes > kMaxMinidumpBitmap) {
    return too_much(32, layout.bitmap_bytes, "bitmap");
  }
  if (layout.tables_bytes > kMaxTablesBytes) return too_much(36, layout.tables_bytes, "page tables");
  if (layout.ranges_bytes > kMaxRangesBytes) return too_much(*ranges_field, layout.ranges_bytes, "ranges of memory");
  layout.ranges_at = layout.page_bytes + whole_pages(message_bytes, layout.page_bytes);
  layout.bitmap_at = layout.ranges_at + whole_pages(layout.ranges_bytes, layout.page_bytes);
  layout.tables_at = layout.bitmap_at + whole_pages(layout.bitmap_bytes, layout.page_bytes);
  layout.pages_at = layout.tables_at + whole_pages(layout.tables_bytes, layout.page_bytes);
  return layout;
}

Result<std::unique_ptr<FreeBsdMinidump>> FreeBsdMinidump::open(BlockFile file) {
  std::array<char, MinidumpLayout::kHeaderBytes> header;
  if (auto read = file.read(0, header.data(), header.size()); !read) return read.error();
  const auto layout = parse_minidump_header({header.data(), header.size()}, file.name());
  if (!layout) return layout.error();
  std::unique_ptr<FreeBsdMinidump> dump(new FreeBsdMinidump(std::move(file), *layout));
  if (auto read = dump->read_ranges(); !read) return read.error();
  if (auto counted = dump->count_pages(); !counted) return counted.error();
  return dump;
}

/// Reads pairs of addresses, terminated by 0. Without any, the bitmap begins at physical address 0.
Result<void> FreeBsdMinidump::read_ranges() {
  const std::uint64_t bits = layout_.bitmap_bytes * 8;
  if (layout_.ranges_bytes == 0) {
    ranges_.push_back({.first = 0, .end = bits, .bit = 0});
    return {};
  }
  std::string bytes(static_cast<std::size_t>(layout_.ranges_bytes), '\0');
  if (auto read = file_.read(layout_.ranges_at, bytes.data(), bytes.size()); !read) return read;
  std::uint64_t bit = 0;
  for (std::uint64_t at = 0; holds(bytes, at, 16); at += 16) {
    const auto begin = number_at<std::uint64_t>(bytes, at);
    const auto end = number_at<std::uint64_t>(bytes, at + 8);
    if (end == 0) break;
    const Range range{.first = begin / layout_.page_bytes, .end = (end - 1) / layout_.page_bytes + 1, .bit = bit};
    // Two ranges may share a page; it belongs to the first.
    if (begin > end || (!ranges_.empty() && range.end < ranges_.back().end)) {
      return data_error(name(), layout_.ranges_at + at, "has ranges of memory that are not in order");
    }
    ranges_.push_back(range);
    bit += range.end - range.first;
    if (bit > bits) break;  // pages without a bit are not in the dump
  }
  return {};
}

Result<void> FreeBsdMinidump::count_pages() {
  std::array<char, kCountedBytes> block;
  counts_.reserve(static_cast<std::size_t>(layout_.bitmap_bytes / kCountedBytes + 1));
  for (std::uint64_t at = 0; at < layout_.bitmap_bytes; at += kCountedBytes) {
    const auto size = static_cast<std::size_t>(std::min(kCountedBytes, layout_.bitmap_bytes - at));
    if (auto read = file_.read(layout_.bitmap_at + at, block.data(), size); !read) return read;
    counts_.push_back(page_count_);
    const std::string_view bytes(block.data(), size);
    for (std::size_t word = 0; word < size; word += 8) {
      page_count_ += static_cast<std::uint64_t>(std::popcount(number_at<std::uint64_t>(bytes, word)));
    }
  }
  return {};
}

std::string FreeBsdMinidump::damage() const {
  const std::uint64_t whole = layout_.pages_at + page_count_ * layout_.page_bytes;
  if (whole <= file_.size()) return {};
  return "is cut short: it has " + std::to_string(file_.size()) + " of " + std::to_string(whole) +
         " bytes, so figures may be too low or missing";
}

std::optional<std::uint64_t> FreeBsdMinidump::bit_of(std::uint64_t page) const {
  const auto range = std::upper_bound(ranges_.begin(), ranges_.end(), page,
                                      [](std::uint64_t wanted, const Range& other) { return wanted < other.end; });
  if (range == ranges_.end() || page < range->first) return std::nullopt;
  const std::uint64_t bit = range->bit + (page - range->first);
  return bit < layout_.bitmap_bytes * 8 ? std::optional(bit) : std::nullopt;
}

Result<std::optional<std::uint64_t>> FreeBsdMinidump::place_of(std::uint64_t page) {
  const auto bit = bit_of(page);
  if (!bit) return std::optional<std::uint64_t>();
  const std::uint64_t block = *bit / 8 / kCountedBytes;
  const std::uint64_t in_block = *bit - block * kCountedBytes * 8;
  std::array<char, kCountedBytes> bytes;
  const std::size_t size = static_cast<std::size_t>(in_block / 64 * 8 + 8);  // up to the bit's own word
  if (auto read = file_.read(layout_.bitmap_at + block * kCountedBytes, bytes.data(), size); !read) return read.error();
  const std::string_view words(bytes.data(), size);
  const auto own = number_at<std::uint64_t>(words, size - 8);
  const std::uint64_t mask = std::uint64_t{1} << (in_block % 64);
  if ((own & mask) == 0) return std::optional<std::uint64_t>();
  std::uint64_t place =
      counts_[static_cast<std::size_t>(block)] + static_cast<std::uint64_t>(std::popcount(own & (mask - 1)));
  for (std::size_t word = 0; word + 8 < size; word += 8) {
    place += static_cast<std::uint64_t>(std::popcount(number_at<std::uint64_t>(words, word)));
  }
  return std::optional(place);
}

Result<void> FreeBsdMinidump::read(std::uint64_t address, char* to, std::size_t size) {
  while (size > 0) {
    const auto place = place_of(address / layout_.page_bytes);
    if (!place) return place.error();
    if (!*place) return missing_memory(name(), "physical", address, "is not in the dump");
    const std::uint64_t into = address % layout_.page_bytes;
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(size, layout_.page_bytes - into));
    if (auto result = file_.read(layout_.pages_at + **place * layout_.page_bytes + into, to, wanted); !result) return result;
    address += wanted;
    to += wanted;
    size -= wanted;
  }
  return {};
}

Result<std::uint64_t> FreeBsdMinidump::table_entry(std::uint64_t number, std::uint64_t address) {
  if (number >= layout_.tables_bytes / 8) return missing_memory(name(), "virtual", address, "is beyond the page tables");
  std::uint64_t entry = 0;
  if (auto read = file_.read(layout_.tables_at + number * 8, reinterpret_cast<char*>(&entry), sizeof entry); !read) {
    return read.error();
  }
  return entry;
}

Result<Translation> FreeBsdMinidump::translate_by_directory(std::uint64_t address) {
  constexpr std::uint64_t kLargeMask = (std::uint64_t{1} << kDirectoryShift) - 1;
  auto entry = table_entry((address - layout_.kernel_base) >> kDirectoryShift, address);
  if (!entry) return entry.error();
  if ((*entry & kMapped) == 0) return missing_memory(name(), "virtual", address, "is not mapped");
  if ((*entry & kLargePage) != 0) {
    const std::uint64_t into = address & kLargeMask;
    return Translation{.address = (*entry & kFrameBits & ~kLargeMask) + into, .bytes = kLargeMask + 1 - into};
  }
  std::uint64_t page = 0;
  const std::uint64_t at = (*entry & kFrameBits) + (address >> 12U) % 512 * 8;
  if (auto found = read(at, reinterpret_cast<char*>(&page), sizeof page); !found) {
    return missing_memory(name(), "virtual", address, "its page table is not in the dump (" + found.error().detail + ")");
  }
  if ((page & kMapped) == 0) return missing_memory(name(), "virtual", address, "is not mapped");
  return Translation{.address = (page & kFrameBits) + address % 4096, .bytes = 4096 - address % 4096};
}

Result<Translation> FreeBsdMinidump::translate(std::uint64_t address) {
  const std::uint64_t page = layout_.page_bytes;
  if (address >= layout_.direct_base && address < layout_.direct_end) {
    return Translation{.address = address - layout_.direct_base + layout_.direct_begins, .bytes = page - address % page};
  }
  if (address < layout_.kernel_base) {
    return missing_memory(name(), "virtual", address, "is not an address of the kernel");
  }
  if (layout_.machine == Machine::kX86 && layout_.version >= 2) return translate_by_directory(address);
  const auto entry = table_entry((address - layout_.kernel_base) / page, address);
  if (!entry) return entry.error();
  const bool is_arm64 = layout_.machine == Machine::kArm64;
  const std::uint64_t needed = is_arm64 ? kArmPage : kMapped;
  if ((*entry & needed) != needed) return missing_memory(name(), "virtual", address, "is not mapped");
  const std::uint64_t frame = *entry & (is_arm64 ? kArmFrameBits : kFrameBits) & ~(page - 1);
  return Translation{.address = frame + address % page, .bytes = page - address % page};
}

}  // namespace memstat::postmortem
