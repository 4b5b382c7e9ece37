// SPDX-License-Identifier: BSD-2-Clause
// The tar format, without file access. Reads ustar, pax, GNU and the oldest headers. Writes ustar, with pax records for
// values that do not fit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/not_copyable.h"
#include "core/base/result.h"

namespace memstat {

/// The bytes of an archive in pieces.
class PieceSource : public Interface {
 public:
  /// The next bytes, valid until the next call; "" at the end.
  virtual Result<std::string_view> next() = 0;
};

/// The kind of a member. The values are the type flags that are written.
enum class TarType : char { kFile = '0', kHardLink = '1', kLink = '2', kOther = '3', kDirectory = '5', kSparseFile = 'S' };

/// One member of an archive.
struct TarMember {
  std::string path;         ///< As stored: may be absolute or contain "..". At most kMaxTarName bytes.
  std::string target = {};  ///< Link target, as stored. At most kMaxTarName bytes.
  TarType type = TarType::kFile;
  std::uint64_t size = 0;          ///< Content size in bytes, as the header claims.
  std::uint64_t header_bytes = 0;  ///< Size of its headers in the archive, including extended ones. Ignored when writing.
};

constexpr std::size_t kTarBlock = 512;
constexpr std::size_t kMaxTarName = 4095;  // B; a longer path cannot be opened

/// Reads the members of an archive in order. Memory grows with the bytes received, not with claimed sizes, and extended
/// headers are limited to 1 MiB. Errors: kData without a path and with a complete sentence; those of the source.
class TarReader {
 public:
  explicit TarReader(PieceSource& source) : source_(source) {}

  /// Reads the next member and skips unread content of the previous one. False at the end of the archive.
  Result<bool> next(TarMember& member);
  /// The next bytes of the member's content, valid until the next call; "" at its end.
  Result<std::string_view> content();
  /// After next() returned false: whether the archive has its end mark, a block of zeros. Without one it may be truncated.
  [[nodiscard]] bool has_end_mark() const { return has_end_mark_; }
  /// After an error: whether the archive ends within a member.
  [[nodiscard]] bool is_cut() const { return is_cut_; }

 private:
  /// Values from extended headers for the next member; "" if absent.
  struct Extensions {
    std::string path;
    std::string target;
    std::string size;
    bool is_sparse = false;
    [[nodiscard]] static bool parse(std::string_view records, Extensions& into);
  };

  Result<void> fill();
  Result<std::string_view> read_block();
  Result<void> skip_content();
  Result<bool> take_header(std::string_view block, TarMember& member, Extensions& extensions);
  Result<void> extend(char type, TarMember& member, Extensions& extensions);
  [[nodiscard]] Error damaged(const std::string& what) const;
  [[nodiscard]] Error truncated(const std::string& where);

  PieceSource& source_;
  std::string_view rest_;                // unread part of the source's last piece
  std::array<char, kTarBlock> block_{};  // buffer for a block that spans pieces
  std::uint64_t offset_ = 0;             // offset of rest_ in the archive
  std::uint64_t left_ = 0;               // unread content of the member, in bytes
  std::uint64_t padding_ = 0;            // zeros after the content, in bytes
  bool has_end_mark_ = false;
  bool is_cut_ = false;
  bool is_first_ = true;  // no header accepted yet
};

/// The header of a member, extended if needed. The content follows, then tar_padding(size) zeros. `mtime`: seconds since
/// 1970. The mode is 0600, for directories 0700.
std::string tar_header(const TarMember& member, std::uint64_t mtime);
constexpr std::size_t tar_padding(std::uint64_t size) { return static_cast<std::size_t>(-size % kTarBlock); }

}  // namespace memstat
