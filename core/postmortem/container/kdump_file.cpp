// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/container/kdump_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "core/postmortem/container/bytes.h"
#include "core/postmortem/container/packed_page.h"

namespace memstat::postmortem {
namespace {

constexpr std::string_view kKdumpMagic = "KDUMP   ";
constexpr std::uint32_t kFirstVersion = 3;  // the first with VMCOREINFO (2008)
constexpr std::uint32_t kWideVersion = 6;   // the first with 64-bit page numbers
// Offsets in the header of a 64-bit machine.
constexpr std::uint64_t kVersionAt = 8, kMachineAt = 12 + 4 * 65, kBlockBytesAt = 428, kMoreBlocksAt = 432,
                        kBitmapBlocksAt = 436, kPagesAt = 440;
constexpr std::size_t kMachineBytes = 65;
// Offsets in the second header.
constexpr std::uint64_t kSplitAt = 12, kInfoAt = 32, kInfoBytesAt = 40, kWidePagesAt = 96;

constexpr std::uint64_t kMinBlock = 4096;
constexpr std::uint64_t kMaxBlock = 65536;
constexpr std::uint64_t kMaxBitmapBytes = 512U << 20U;  // 16 TiB in pages of 4 KiB
constexpr std::uint64_t kMaxMoreBlocks = 1U << 16U;
constexpr std::uint64_t kMaxKdumpInfo = 1U << 20U;
constexpr std::size_t kDescriptorBytes = 24;
constexpr std::size_t kCacheBytes = 4U << 20U;
constexpr std::size_t kCountedBytes = 4096;  // of the bitmap; for each such part the bits are counted once

class KdumpFile final : public PhysicalMemory {
 public:
  explicit KdumpFile(BlockFile file) : file_(std::move(file)) {}

  Result<void> open() {
    std::array<char, KdumpLayout::kHeaderBytes> header;
    std::array<char, KdumpLayout::kMoreBytes> more;
    if (auto read = file_.read(0, header.data(), header.size()); !read) return read;
    const std::string_view head(header.data(), header.size());
    const auto begin = parse_kdump_header(head, {}, name());
    if (!begin) return begin.error();
    if (auto read = file_.read(begin->block_bytes, more.data(), more.size()); !read) return read;
    const auto layout = parse_kdump_header(head, {more.data(), more.size()}, name());
    if (!layout) return layout.error();
    layout_ = *layout;
    info_.resize(static_cast<std::size_t>(layout_.info_bytes));
    if (auto read = file_.read(layout_.info_at, info_.data(), info_.size()); !read) return read;
    info_.resize(std::min(info_.size(), info_.find('\0')));
    cached_.resize(kCacheBytes / layout_.block_bytes);
    pages_.resize(kCacheBytes);
    return count_pages();
  }

  [[nodiscard]] const std::string& name() const override { return file_.name(); }
  [[nodiscard]] Machine machine() const override { return layout_.machine; }
  [[nodiscard]] std::string_view vmcoreinfo() const override { return info_; }
  [[nodiscard]] std::int64_t changed_ns() const override { return file_.changed_ns(); }
  [[nodiscard]] std::string damage() const override { return damage_; }

  Result<void> read(std::uint64_t address, char* to, std::size_t size) override {
    while (size > 0) {
      const auto page = load(address / layout_.block_bytes);
      if (!page) return missing_memory(name(), "physical", address, page.error().detail);
      const auto into = static_cast<std::size_t>(address % layout_.block_bytes);
      const std::size_t wanted = std::min(size, page->size() - into);
      page->copy(to, wanted, into);
      address += wanted;
      to += wanted;
      size -= wanted;
    }
    return {};
  }

 private:
  [[nodiscard]] Error wrong(std::uint64_t at, std::string_view what) const { return data_error(name(), at, what); }

  /// Counts the dump's pages before each part of the bitmap. The index of a page's descriptor is the number of pages
  /// before it.
  Result<void> count_pages() {
    std::array<char, kCountedBytes> bits;
    const std::uint64_t bytes = (layout_.pages + 7) / 8;
    std::uint64_t count = 0;
    for (std::uint64_t at = 0; at < bytes; at += bits.size()) {
      before_.push_back(count);
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(bits.size(), bytes - at));
      if (auto read = file_.read(layout_.bitmap_at + at, bits.data(), size); !read) return read;
      for (std::size_t i = 0; i < size; ++i)
        count += static_cast<unsigned>(std::popcount(static_cast<std::uint8_t>(bits[i])));
    }
    if (count == 0) return wrong(layout_.bitmap_at, "holds no memory: no page is in it");
    const std::uint64_t end = end_of_page(count - 1);
    if (end > file_.size()) {
      damage_ = "is cut short: it has " + std::to_string(file_.size()) + " of at least " + std::to_string(end) +
                " bytes, so figures may be too low or missing";
    }
    return {};
  }

  /// The end of the data of the page with this descriptor; the end of the descriptor if the file does not have it.
  std::uint64_t end_of_page(std::uint64_t number) {
    const std::uint64_t at = layout_.descriptors_at + number * kDescriptorBytes;
    std::array<char, kDescriptorBytes> bytes;
    if (!file_.read(at, bytes.data(), bytes.size())) return at + bytes.size();
    const std::string_view descriptor(bytes.data(), bytes.size());
    return number_at<std::uint64_t>(descriptor, 0) + number_at<std::uint32_t>(descriptor, 8);
  }

  /// The content of a page, valid until the next call.
  Result<std::string_view> load(std::uint64_t number) {
    if (number >= layout_.pages) return wrong(0, "is not in the dump");
    const std::size_t place = static_cast<std::size_t>(number % cached_.size());
    const std::span<char> page(pages_.data() + place * layout_.block_bytes, static_cast<std::size_t>(layout_.block_bytes));
    if (cached_[place] != number + 1) {
      cached_[place] = 0;
      const auto descriptor = find_descriptor(number);
      if (!descriptor) return descriptor.error();
      if (auto unpacked = unpack(*descriptor, page); !unpacked) return unpacked.error();
      cached_[place] = number + 1;
    }
    return std::string_view(page.data(), page.size());
  }

  /// The file offset of a page's descriptor.
  Result<std::uint64_t> find_descriptor(std::uint64_t page) {
    const std::uint64_t byte = page / 8;
    const std::uint64_t part = byte / kCountedBytes;
    std::array<char, kCountedBytes> bits;
    const auto size = static_cast<std::size_t>(byte % kCountedBytes + 1);
    if (auto read = file_.read(layout_.bitmap_at + part * kCountedBytes, bits.data(), size); !read) return read.error();
    const auto last = static_cast<std::uint8_t>(bits[size - 1]);
    if ((last >> (page % 8) & 1U) == 0) return wrong(0, "was left out of the dump");
    std::uint64_t number = before_[part];
    for (std::size_t i = 0; i + 1 < size; ++i) {
      number += static_cast<unsigned>(std::popcount(static_cast<std::uint8_t>(bits[i])));
    }
    number += static_cast<unsigned>(std::popcount(static_cast<std::uint8_t>(last & ((1U << page % 8) - 1))));
    return layout_.descriptors_at + number * kDescriptorBytes;
  }

  Result<void> unpack(std::uint64_t descriptor_at, std::span<char> page) {
    std::array<char, kDescriptorBytes> bytes;
    if (auto read = file_.read(descriptor_at, bytes.data(), bytes.size()); !read) return read;
    const std::string_view descriptor(bytes.data(), bytes.size());
    const auto size = number_at<std::uint32_t>(descriptor, 8);
    if (size == 0 || size > packed_.size()) {
      return wrong(descriptor_at, "has a page of " + std::to_string(size) + " bytes");
    }
    const auto at = number_at<std::uint64_t>(descriptor, 0);
    if (auto read = file_.read(at, packed_.data(), size); !read) return read;
    return unpack_page(number_at<std::uint32_t>(descriptor, 12), {packed_.data(), size}, page, name(), at);
  }

  BlockFile file_;
  KdumpLayout layout_;
  std::string info_;
  std::string damage_;
  std::vector<std::uint64_t> before_;  // pages in the dump before each part of the bitmap
  std::vector<std::uint64_t> cached_;  // page number plus one in each cache slot; 0: empty
  std::string pages_;
  std::string packed_ = std::string(static_cast<std::size_t>(kMaxBlock), '\0');
};

}  // namespace

Result<KdumpLayout> parse_kdump_header(std::string_view header, std::string_view more, std::string_view file) {
  const auto wrong = [&](std::uint64_t at, std::string_view what) { return data_error(file, at, what); };
  const auto other_version = [&](std::string_view what) { return data_error(file, 0, what, ErrorCode::kVersion); };
  const auto word = [&](std::uint64_t at) { return std::uint64_t{number_at<std::uint32_t>(header, at)}; };
  if (!is_kdump_file(header) || !holds(header, 0, KdumpLayout::kHeaderBytes)) return wrong(0, "is not a compressed dump");
  const std::uint64_t version = word(kVersionAt);
  if (version < kFirstVersion) return other_version("is a compressed dump of version " + std::to_string(version));
  KdumpLayout layout;
  std::string_view machine = header.substr(kMachineAt, kMachineBytes);
  machine = machine.substr(0, machine.find('\0'));
  if (machine != to_string(Machine::kX86) && machine != to_string(Machine::kArm64)) {
    return other_version("is a dump of another machine than x86_64 or aarch64");
  }
  layout.machine = machine == to_string(Machine::kX86) ? Machine::kX86 : Machine::kArm64;
  layout.block_bytes = word(kBlockBytesAt);
  if (!std::has_single_bit(layout.block_bytes) || layout.block_bytes < kMinBlock || layout.block_bytes > kMaxBlock) {
    return wrong(kBlockBytesAt, "has blocks of " + std::to_string(layout.block_bytes) + " bytes");
  }
  if (more.empty()) return layout;
  if (!holds(more, 0, KdumpLayout::kMoreBytes)) return wrong(layout.block_bytes, "ends within its header");
  if (number_at<std::uint32_t>(more, kSplitAt) != 0) {
    return other_version("is one part of a split dump; put the parts together: makedumpfile --reassemble");
  }
  const std::uint64_t bitmap_bytes = word(kBitmapBlocksAt) * layout.block_bytes / 2;
  if (bitmap_bytes == 0 || bitmap_bytes > kMaxBitmapBytes) {
    return wrong(kBitmapBlocksAt, "has bitmaps of " + std::to_string(bitmap_bytes) + " bytes");
  }
  if (word(kMoreBlocksAt) == 0 || word(kMoreBlocksAt) > kMaxMoreBlocks) {
    return wrong(kMoreBlocksAt, "has a second header of " + std::to_string(word(kMoreBlocksAt)) + " blocks");
  }
  const std::uint64_t bitmaps_at = (1 + word(kMoreBlocksAt)) * layout.block_bytes;
  layout.bitmap_at = bitmaps_at + bitmap_bytes;
  layout.descriptors_at = bitmaps_at + 2 * bitmap_bytes;
  const std::uint64_t pages = version >= kWideVersion ? number_at<std::uint64_t>(more, kWidePagesAt) : word(kPagesAt);
  layout.pages = std::min(pages, bitmap_bytes * 8);
  layout.info_at = number_at<std::uint64_t>(more, kInfoAt);
  layout.info_bytes = number_at<std::uint64_t>(more, kInfoBytesAt);
  if (layout.info_bytes > kMaxKdumpInfo) {
    return wrong(layout.block_bytes + kInfoBytesAt, "has a VMCOREINFO of " + std::to_string(layout.info_bytes) + " bytes");
  }
  return layout;
}

bool is_kdump_file(std::string_view head) { return head.starts_with(kKdumpMagic); }

Result<std::unique_ptr<PhysicalMemory>> open_kdump_file(BlockFile file) {
  auto dump = std::make_unique<KdumpFile>(std::move(file));
  if (auto opened = dump->open(); !opened) return std::move(opened.error());
  return std::unique_ptr<PhysicalMemory>(std::move(dump));
}

}  // namespace memstat::postmortem
