// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/compressed_dump.h"

#include <lzo/lzo1x.h>
#include <zlib.h>
#include <zstd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace memstat {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kSubHeaderPages = 4;
constexpr std::size_t kInfoAt = kPage + 1024;  // VMCOREINFO, in the second header
constexpr std::uint64_t kFirstPage = 0x1000;   // of memory, as in FakeLinuxDump
constexpr std::size_t kDescriptorBytes = 24;
constexpr std::size_t kPieceBytes = 10'000;

template <typename Number>
void put(std::string& bytes, std::size_t at, Number number) {
  bytes.replace(at, sizeof number, reinterpret_cast<const char*>(&number), sizeof number);
}

void require(bool is_done, const char* what) {
  if (is_done) return;
  std::fprintf(stderr, "a page cannot be packed by %s\n", what);
  std::abort();
}

std::string packed(const std::string& page, PagePacking packing) {
  std::string to(2 * kPage, '\0');
  auto* const bytes = reinterpret_cast<unsigned char*>(to.data());
  const auto* const from = reinterpret_cast<const unsigned char*>(page.data());
  if (packing == PagePacking::kZlib) {
    uLongf size = to.size();
    require(compress2(bytes, &size, from, page.size(), 6) == Z_OK, "zlib");
    to.resize(size);
  } else if (packing == PagePacking::kLzo) {
    std::vector<unsigned char> work(LZO1X_1_MEM_COMPRESS);
    lzo_uint size = to.size();
    require(lzo_init() == LZO_E_OK && lzo1x_1_compress(from, page.size(), bytes, &size, work.data()) == LZO_E_OK, "lzo");
    to.resize(size);
  } else if (packing == PagePacking::kZstd) {
    const std::size_t size = ZSTD_compress(to.data(), to.size(), page.data(), page.size(), 3);
    require(ZSTD_isError(size) == 0, "zstd");
    to.resize(size);
  } else {
    return page;
  }
  return to;
}

}  // namespace

std::string compressed_dump(const FakeLinuxDump& dump, PagePacking packing, bool has_holes) {
  const std::string memory = dump.elf().substr(0x4000);
  const std::uint64_t pages = kFirstPage + memory.size() / kPage;
  const std::size_t bitmap_pages = (pages / 8 + kPage - 1) / kPage;
  std::string file((1 + kSubHeaderPages + 2 * bitmap_pages) * kPage, '\0');
  file.replace(0, 8, "KDUMP   ");
  put(file, 8, std::uint32_t{6});
  constexpr std::size_t kName = 65;  // bytes of each string of uname(2)
  std::size_t name_at = 12;
  for (const std::string_view name : {"Linux", "host", "6.1.0-fake", "#1 SMP", "x86_64", "(none)"}) {
    file.replace(name_at, name.size(), name);
    name_at += kName;
  }
  put(file, 428, static_cast<std::uint32_t>(kPage));
  put(file, 432, static_cast<std::uint32_t>(kSubHeaderPages));
  put(file, 436, static_cast<std::uint32_t>(2 * bitmap_pages));
  put(file, 440, static_cast<std::uint32_t>(pages));
  put(file, 460, std::uint32_t{1});
  put(file, kPage + 32, std::uint64_t{kInfoAt});
  put(file, kPage + 40, std::uint64_t{dump.info().size()});
  put(file, kPage + 96, pages);
  file.replace(kInfoAt, dump.info().size(), dump.info());

  const std::size_t bitmaps = (1 + kSubHeaderPages) * kPage;
  const std::string empty(kPage, '\0');
  std::string descriptors;
  std::vector<std::string> bodies;
  for (std::uint64_t page = kFirstPage; page < pages; ++page) {
    const std::string content = memory.substr((page - kFirstPage) * kPage, kPage);
    const bool is_kept = !has_holes || content != empty;
    for (const std::size_t bitmap : {bitmaps, bitmaps + bitmap_pages * kPage}) {  // existing pages, then dumped ones
      if (bitmap == bitmaps || is_kept) file[bitmap + page / 8] = static_cast<char>(file[bitmap + page / 8] | 1 << page % 8);
    }
    if (is_kept) bodies.push_back(content);
  }
  std::string data;
  const std::size_t data_at = file.size() + bodies.size() * kDescriptorBytes;
  for (const std::string& content : bodies) {
    std::string body = packed(content, packing);
    const bool is_packed = body.size() < kPage;
    if (!is_packed) body = content;
    std::string descriptor(kDescriptorBytes, '\0');
    put(descriptor, 0, std::uint64_t{data_at + data.size()});
    put(descriptor, 8, static_cast<std::uint32_t>(body.size()));
    put(descriptor, 12, is_packed ? static_cast<std::uint32_t>(packing) : 0U);
    descriptors += descriptor;
    data += body;
  }
  return file + descriptors + data;
}

}  // namespace memstat
