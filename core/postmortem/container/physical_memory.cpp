// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/container/physical_memory.h"

#include <algorithm>
#include <array>
#include <bit>

namespace memstat::postmortem {
namespace {

constexpr std::uint64_t kBitmapPart = 4096;  // of a bitmap; the bits of each part are counted once
using PartWords = std::array<std::uint64_t, kBitmapPart / 8>;

std::uint64_t bits_of(std::uint64_t word) { return static_cast<std::uint64_t>(std::popcount(word)); }

}  // namespace

Error missing_memory(std::string_view dump, std::string_view space, std::uint64_t address, std::string_view why) {
  return make_error(ErrorCode::kKvmShortRead, dump,
                    std::string(space) + " address " + hex(address) + ": " + std::string(why));
}

Result<void> FileMemory::read(std::uint64_t address, char* to, std::size_t size) {
  while (size > 0) {
    const auto done = read_piece(address, to, size);
    if (!done) return done.error();
    address += *done;
    to += *done;
    size -= *done;
  }
  return {};
}

void FileMemory::check_end(std::uint64_t end, std::string_view of) {
  if (end <= file_.size()) return;
  damage_ = "is cut short: it has " + std::to_string(file_.size()) + " of " + std::string(of) + std::to_string(end) +
            " bytes, so figures may be too low or missing";
}

Result<void> PageBitmap::open(BlockFile& file, std::uint64_t at, std::uint64_t bytes) {
  at_ = at;
  bytes_ = bytes;
  before_.reserve(static_cast<std::size_t>(bytes / kBitmapPart + 1));
  for (std::uint64_t from = 0; from < bytes; from += kBitmapPart) {
    PartWords words{};
    const auto size = static_cast<std::size_t>(std::min(kBitmapPart, bytes - from));
    if (auto read = file.read(at + from, reinterpret_cast<char*>(words.data()), size); !read) return read;
    before_.push_back(count_);
    for (const std::uint64_t word : words) count_ += bits_of(word);
  }
  return {};
}

Result<std::optional<std::uint64_t>> PageBitmap::place_of(BlockFile& file, std::uint64_t bit) const {
  PartWords words;
  const std::uint64_t part = bit / 8 / kBitmapPart;
  const auto last = static_cast<std::size_t>(bit / 64 % words.size());
  words[last] = 0;  // the bitmap may end within a word
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>((last + 1) * 8, bytes_ - part * kBitmapPart));
  if (auto read = file.read(at_ + part * kBitmapPart, reinterpret_cast<char*>(words.data()), size); !read)
    return read.error();
  const std::uint64_t mask = std::uint64_t{1} << bit % 64;
  if ((words[last] & mask) == 0) return std::optional<std::uint64_t>();
  std::uint64_t place = before_[static_cast<std::size_t>(part)] + bits_of(words[last] & (mask - 1));
  for (std::size_t i = 0; i < last; ++i) place += bits_of(words[i]);
  return std::optional(place);
}

}  // namespace memstat::postmortem
