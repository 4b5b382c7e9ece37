// SPDX-License-Identifier: BSD-2-Clause
// Compressed dumps as written by makedumpfile (-c, -l, -z), in a format that comes from diskdump:
//
//   block 0            a header: "KDUMP   ", version, uname(2), sizes of the following pieces in blocks
//   block 1 ...        more of the header, VMCOREINFO
//   two bitmaps        a bit for each page: memory exists; the page is in the dump
//   page descriptors   for each page of the second bitmap: offset, size, compression
//   pages
//
// Not read with libkdumpfile, because version 0.5.1 (Debian 12) ends the process on invalid headers.
#include "core/postmortem/container/dump_file.h"

#include <algorithm>
#include <bit>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/postmortem/container/bytes.h"
#include "core/postmortem/container/packed_page.h"
#include "core/postmortem/container/physical_memory.h"

namespace memstat::postmortem {
namespace {

constexpr std::string_view kKdumpMagic = "KDUMP   ";
constexpr std::uint32_t kFirstVersion = 3;  // the first with VMCOREINFO (2008)
constexpr std::uint32_t kWideVersion = 6;   // the first with 64-bit page numbers
// Offsets in the header of a 64-bit machine, and in the second header, whose offset is the size of a block.
constexpr std::uint64_t kVersionAt = 8, kMachineAt = 12 + 4 * 65, kBlockBytesAt = 428, kMoreBlocksAt = 432,
                        kBitmapBlocksAt = 436, kPagesAt = 440;
constexpr std::size_t kHeaderBytes = 464, kMoreBytes = 104, kMachineBytes = 65;
constexpr std::uint64_t kSplitAt = 12, kInfoAt = 32, kInfoBytesAt = 40, kWidePagesAt = 96;

constexpr std::uint64_t kMinBlock = 4096;
constexpr std::uint64_t kMaxBlock = 65536;
constexpr std::uint64_t kMaxBitmapBytes = 512U << 20U;  // 16 TiB in pages of 4 KiB
constexpr std::uint64_t kMaxMoreBlocks = 1U << 16U;
constexpr std::uint64_t kMaxKdumpInfo = 1U << 20U;
constexpr std::size_t kCacheBytes = 4U << 20U;

/// The descriptor of a page.
struct PageDescriptor {
  std::uint64_t at;  // of its data in the file
  std::uint32_t size;
  std::uint32_t packing;
  std::uint64_t flags;
};

class KdumpFile final : public FileMemory {
 public:
  using FileMemory::FileMemory;

  Result<void> open() {
    const auto header = file_.read_bytes(0, kHeaderBytes);
    if (!header) return header.error();
    if (auto known = take_header(*header); !known) return known;
    const auto more = file_.read_bytes(block_bytes_, kMoreBytes);
    if (!more) return more.error();
    if (auto known = take_sizes(*header, *more); !known) return known;
    cached_.resize(kCacheBytes / block_bytes_);
    cached_pages_.resize(kCacheBytes);
    // If the last page's descriptor is missing, the complete file extends at least to the end of that descriptor.
    const std::uint64_t last_at = descriptor_at(bitmap_.count() - 1);
    const auto last = file_.read_record<PageDescriptor>(last_at);
    check_end(last ? last->at + last->size : last_at + sizeof(PageDescriptor), "at least ");
    return {};
  }

 private:
  Result<std::size_t> read_piece(std::uint64_t address, char* to, std::size_t size) override {
    const auto page = load(address / block_bytes_);
    if (!page) return missing_memory(name(), "physical", address, page.error().detail);
    return page->copy(to, size, static_cast<std::size_t>(address % block_bytes_));
  }

  Result<void> take_header(std::string_view header) {
    if (!is_kdump_file(header)) return wrong(0, "is not a compressed dump");
    version_ = number_at<std::uint32_t>(header, kVersionAt);
    if (version_ < kFirstVersion) return other_version("is a compressed dump of version " + std::to_string(version_));
    std::string_view machine = header.substr(kMachineAt, kMachineBytes);
    machine = machine.substr(0, machine.find('\0'));
    if (machine != to_string(Machine::kX86) && machine != to_string(Machine::kArm64)) {
      return other_version("is a dump of another machine than x86_64 or aarch64");
    }
    machine_ = machine == to_string(Machine::kX86) ? Machine::kX86 : Machine::kArm64;
    block_bytes_ = number_at<std::uint32_t>(header, kBlockBytesAt);
    if (!std::has_single_bit(block_bytes_) || block_bytes_ < kMinBlock || block_bytes_ > kMaxBlock) {
      return wrong(kBlockBytesAt, "has blocks of " + std::to_string(block_bytes_) + " bytes");
    }
    return {};
  }

  [[nodiscard]] Error other_version(std::string_view what) const { return wrong(0, what, ErrorCode::kVersion); }

  /// Reads VMCOREINFO, too, and counts the pages.
  Result<void> take_sizes(std::string_view header, std::string_view more) {
    const auto word = [&](std::uint64_t at) { return std::uint64_t{number_at<std::uint32_t>(header, at)}; };
    if (number_at<std::uint32_t>(more, kSplitAt) != 0) {
      return other_version("is one part of a split dump; put the parts together: makedumpfile --reassemble");
    }
    const std::uint64_t bitmap_bytes = word(kBitmapBlocksAt) * block_bytes_ / 2;
    if (bitmap_bytes == 0 || bitmap_bytes > kMaxBitmapBytes) {
      return wrong(kBitmapBlocksAt, "has bitmaps of " + std::to_string(bitmap_bytes) + " bytes");
    }
    if (word(kMoreBlocksAt) == 0 || word(kMoreBlocksAt) > kMaxMoreBlocks) {
      return wrong(kMoreBlocksAt, "has a second header of " + std::to_string(word(kMoreBlocksAt)) + " blocks");
    }
    const auto info_bytes = number_at<std::uint64_t>(more, kInfoBytesAt);
    if (info_bytes > kMaxKdumpInfo) {
      return wrong(block_bytes_ + kInfoBytesAt, "has a VMCOREINFO of " + std::to_string(info_bytes) + " bytes");
    }
    auto info = file_.read_bytes(number_at<std::uint64_t>(more, kInfoAt), info_bytes);
    if (!info) return info.error();
    info_ = info->substr(0, info->find('\0'));
    const std::uint64_t bitmaps_at = (1 + word(kMoreBlocksAt)) * block_bytes_;
    const std::uint64_t pages = version_ >= kWideVersion ? number_at<std::uint64_t>(more, kWidePagesAt) : word(kPagesAt);
    pages_ = std::min(pages, bitmap_bytes * 8);
    descriptors_at_ = bitmaps_at + 2 * bitmap_bytes;
    if (auto counted = bitmap_.open(file_, bitmaps_at + bitmap_bytes, (pages_ + 7) / 8); !counted) return counted;
    return bitmap_.count() != 0 ? Result<void>() : wrong(bitmaps_at + bitmap_bytes, "holds no memory: no page is in it");
  }

  [[nodiscard]] std::uint64_t descriptor_at(std::uint64_t place) const {
    return descriptors_at_ + place * sizeof(PageDescriptor);
  }

  /// The content of a page, valid until the next call.
  Result<std::string_view> load(std::uint64_t number) {
    if (number >= pages_) return wrong(0, "is not in the dump");
    const std::size_t slot = static_cast<std::size_t>(number % cached_.size());
    const std::span<char> page(cached_pages_.data() + slot * block_bytes_, static_cast<std::size_t>(block_bytes_));
    if (cached_[slot] != number + 1) {
      cached_[slot] = 0;
      const auto place = bitmap_.place_of(file_, number);
      if (!place) return place.error();
      if (!*place) return wrong(0, "was left out of the dump");
      if (auto unpacked = unpack(descriptor_at(**place), page); !unpacked) return unpacked.error();
      cached_[slot] = number + 1;
    }
    return std::string_view(page.data(), page.size());
  }

  Result<void> unpack(std::uint64_t descriptor_at, std::span<char> page) {
    const auto descriptor = file_.read_record<PageDescriptor>(descriptor_at);
    if (!descriptor) return descriptor.error();
    if (descriptor->size == 0 || descriptor->size > packed_.size()) {
      return wrong(descriptor_at, "has a page of " + std::to_string(descriptor->size) + " bytes");
    }
    if (auto read = file_.read(descriptor->at, packed_.data(), descriptor->size); !read) return read;
    return unpack_page(descriptor->packing, {packed_.data(), descriptor->size}, page, name(), descriptor->at);
  }

  std::uint64_t version_ = 0;
  std::uint64_t block_bytes_ = 0;  // also the page size: 4096 to 65536
  std::uint64_t pages_ = 0;        // the highest page in the bitmap plus one
  std::uint64_t descriptors_at_ = 0;
  PageBitmap bitmap_;
  std::vector<std::uint64_t> cached_;  // page number plus one in each slot of the cache; 0: empty
  std::string cached_pages_;
  std::string packed_ = std::string(static_cast<std::size_t>(kMaxBlock), '\0');
};

}  // namespace

bool is_kdump_file(std::string_view head) { return head.starts_with(kKdumpMagic); }

Result<std::unique_ptr<PhysicalMemory>> open_kdump_file(BlockFile file) {
  auto dump = std::make_unique<KdumpFile>(std::move(file));
  if (auto opened = dump->open(); !opened) return std::move(opened.error());
  return std::unique_ptr<PhysicalMemory>(std::move(dump));
}

}  // namespace memstat::postmortem
