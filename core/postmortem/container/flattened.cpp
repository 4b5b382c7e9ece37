// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/container/flattened.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/postmortem/container/bytes.h"
#include "core/postmortem/container/physical_memory.h"
#include "core/postmortem/container/temporary_file.h"

namespace memstat::postmortem {
namespace {

constexpr std::string_view kFlattenedMagic = "makedumpfile";
constexpr std::uint64_t kFlattenedHeaderBytes = 4096;
constexpr std::uint64_t kEnd = ~std::uint64_t{0};
constexpr std::size_t kCopyBytes = 1U << 16U;

std::uint64_t big_endian_at(std::string_view bytes, std::uint64_t offset) {
  return __builtin_bswap64(number_at<std::uint64_t>(bytes, offset));
}

Result<void> copy(BlockFile& from, std::uint64_t at, const FlatPiece& piece, int to, const std::string& directory) {
  std::vector<char> buffer(kCopyBytes);
  for (std::uint64_t done = 0; done < piece.size;) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(piece.size - done, buffer.size()));
    if (auto read = from.read(at + done, buffer.data(), count); !read) return read;
    if (auto written = write_all(to, directory, {buffer.data(), count}, piece.offset + done); !written) return written;
    done += count;
  }
  return {};
}

}  // namespace

bool is_flattened(std::string_view head) { return head.starts_with(kFlattenedMagic); }

Result<std::optional<FlatPiece>> parse_flat_piece(std::string_view bytes, std::string_view file, std::uint64_t at) {
  if (!holds(bytes, 0, FlatPiece::kBytes)) return data_error(file, at, "ends within the head of a piece");
  const FlatPiece piece{.offset = big_endian_at(bytes, 0), .size = big_endian_at(bytes, 8)};
  if (piece.offset == kEnd && piece.size == kEnd) return std::optional<FlatPiece>();
  if (piece.offset > FlatPiece::kMaxOffset || piece.size > FlatPiece::kMaxOffset) {
    return data_error(file, at,
                      "has a piece of " + hex(piece.size) + " bytes at " + hex(piece.offset) + ", which cannot be");
  }
  return std::optional(piece);
}

Result<Unflattened> unflatten(BlockFile& from) {
  std::array<char, 32> head;
  const std::string_view header(head.data(), head.size());
  if (auto read = from.read(0, head.data(), head.size()); !read) return read.error();
  if (!is_flattened(header)) return data_error(from.name(), 0, "is no flattened dump");
  if (big_endian_at(header, 16) != 1 || big_endian_at(header, 24) != 1) {
    Error error = data_error(from.name(), 16, "is a flattened dump of another version than 1");
    error.code = ErrorCode::kVersion;
    return error;
  }
  const std::string directory = temporary_directory();
  auto file = nameless_file(directory);
  if (!file) return std::move(file.error());
  Unflattened dump{.file = *std::move(file), .damage = {}};
  for (std::uint64_t at = kFlattenedHeaderBytes;;) {
    std::array<char, FlatPiece::kBytes> bytes;
    auto copied = from.read(at, bytes.data(), bytes.size());
    if (copied) {
      const auto piece = parse_flat_piece({bytes.data(), bytes.size()}, from.name(), at);
      if (!piece) return piece.error();
      if (!*piece) return dump;
      copied = copy(from, at + bytes.size(), **piece, dump.file.get(), directory);
      at += bytes.size() + (*piece)->size;
    }
    if (copied) continue;
    if (copied.error().code != ErrorCode::kKvmShortRead) return copied.error();
    dump.damage = "is cut short: its flattened form has no end after " + std::to_string(from.size()) +
                  " bytes, so figures may be too low or missing";
    return dump;
  }
}

}  // namespace memstat::postmortem
