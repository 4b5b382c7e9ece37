// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/tar.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "core/base/text.h"
#include "core/capture/archive_error.h"

namespace memstat {
namespace {

constexpr std::uint64_t kMaxTarExtension = 1U << 20U;           // B of extended headers per member
constexpr std::uint64_t kMaxTarSize = std::uint64_t{1} << 62U;  // B; larger than any file

struct TarField {
  std::size_t at;
  std::size_t size;
};
constexpr TarField kNameField{0, 100};
constexpr TarField kModeField{100, 8};
constexpr TarField kUidField{108, 8};
constexpr TarField kGidField{116, 8};
constexpr TarField kSizeField{124, 12};
constexpr TarField kMtimeField{136, 12};
constexpr TarField kChecksumField{148, 8};
constexpr std::size_t kTypeAt = 156;
constexpr TarField kTargetField{157, 100};
constexpr TarField kMagicField{257, 8};
constexpr TarField kDevMajorField{329, 8};
constexpr TarField kDevMinorField{337, 8};
constexpr TarField kPrefixField{345, 155};
constexpr std::string_view kUstar("ustar\00000", 8);

std::string_view field_of(std::string_view block, TarField field) { return block.substr(field.at, field.size); }
std::string_view text_of(std::string_view block, TarField field) {
  const std::string_view text = field_of(block, field);
  return text.substr(0, text.find('\0'));
}

/// Parses octal digits between blanks, none meaning 0, or GNU's binary form for large numbers, marked by a set high bit.
std::optional<std::uint64_t> header_number(std::string_view field) {
  std::uint64_t number = 0;
  if ((static_cast<unsigned char>(field[0]) & 0x80U) != 0) {
    number = static_cast<unsigned char>(field[0]) & 0x7FU;
    for (const char byte : field.substr(1)) {
      if (number >> 56U != 0) return std::nullopt;  // also rejects negative numbers
      number = number << 8U | static_cast<unsigned char>(byte);
    }
    return number;
  }
  field = trim(field.substr(0, field.find('\0')));
  if (field.empty()) return 0;
  const auto [end, failure] = std::from_chars(field.data(), field.data() + field.size(), number, 8);
  return failure == std::errc() && end == field.data() + field.size() ? std::optional(number) : std::nullopt;
}

/// Sum of the block's bytes, with blanks for the checksum. Some old archivers added them as signed numbers.
template <typename Byte>
std::int64_t sum_of(std::string_view block) {
  const auto add = [](std::int64_t sum, char byte) { return sum + static_cast<Byte>(byte); };
  const std::string_view field = field_of(block, kChecksumField);
  return std::accumulate(block.begin(), block.end(), std::int64_t{0}, add) -
         std::accumulate(field.begin(), field.end(), std::int64_t{0}, add) + 8 * std::int64_t{' '};
}
bool has_good_checksum(std::string_view block) {
  const auto stated = header_number(field_of(block, kChecksumField));
  return stated && (static_cast<std::int64_t>(*stated) == sum_of<unsigned char>(block) ||
                    static_cast<std::int64_t>(*stated) == sum_of<signed char>(block));
}

bool stores_content(char type) { return std::string_view("123456").find(type) == std::string_view::npos; }

TarType tar_type_of(char type) {
  switch (type) {
    case '\0':
    case '7':  // contiguous file
    case '0': return TarType::kFile;
    case 'D':  // GNU directory, whose content is its names
    case '5': return TarType::kDirectory;
    case '1': return TarType::kHardLink;
    case '2': return TarType::kLink;
    case 'S': return TarType::kSparseFile;
    default: return TarType::kOther;
  }
}

void put_text(std::span<char> block, TarField field, std::string_view bytes) {
  bytes = bytes.substr(0, field.size);
  std::copy(bytes.begin(), bytes.end(), block.begin() + static_cast<std::ptrdiff_t>(field.at));
}

/// Writes octal digits, zero-padded and followed by a blank if the field has room.
void put_octal(std::span<char> block, TarField field, std::size_t digits, std::uint64_t number) {
  for (std::size_t i = digits; i-- > 0; number >>= 3U) block[field.at + i] = static_cast<char>('0' + (number & 7U));
  block[field.at + digits] = ' ';
}

/// The slash at which to split a path between the prefix and name fields; npos if it does not fit.
std::size_t slash_in(std::string_view path) {
  const std::size_t slash = path.find('/', path.size() - kNameField.size - 1);
  return slash <= kPrefixField.size && slash != 0 && slash + 1 < path.size() ? slash : std::string_view::npos;
}

std::string plain_header(char type, std::string_view path, std::string_view target, std::uint64_t size, unsigned mode,
                         std::uint64_t mtime) {
  std::string block(kTarBlock, '\0');
  if (path.size() > kNameField.size) {
    if (const std::size_t slash = slash_in(path); slash != std::string_view::npos) {
      put_text(block, kPrefixField, path.substr(0, slash));
      path.remove_prefix(slash + 1);
    }
  }
  put_text(block, kNameField, path);
  put_octal(block, kModeField, 6, mode);
  put_octal(block, kUidField, 6, 0);
  put_octal(block, kGidField, 6, 0);
  put_octal(block, kSizeField, 11, size);
  put_octal(block, kMtimeField, 11, mtime);
  block[kTypeAt] = type;
  put_text(block, kTargetField, target);
  put_text(block, kMagicField, kUstar);
  put_octal(block, kDevMajorField, 6, 0);
  put_octal(block, kDevMinorField, 6, 0);
  const std::int64_t sum = sum_of<unsigned char>(block);
  put_octal(block, kChecksumField, 6, static_cast<std::uint64_t>(sum));
  block[kChecksumField.at + 6] = '\0';
  block[kChecksumField.at + 7] = ' ';
  return block;
}

void append_record(std::string& records, std::string_view key, std::string_view value) {
  const std::size_t others = key.size() + value.size() + 3;
  std::size_t length = others;
  while (length != others + std::to_string(length).size()) length = others + std::to_string(length).size();
  records.append(std::to_string(length)).append(" ").append(key).append("=").append(value).append("\n");
}

}  // namespace

Error TarReader::damaged(const std::string& what) const {
  return refused({}, is_first_
                         ? "is not a .tar or .tar.zst (" + what + ")"
                         : "is damaged (" + what + ", before byte " + std::to_string(offset_) + " of the archive unpacked)");
}

Error TarReader::truncated(const std::string& where) {
  is_cut_ = true;
  return is_first_ ? damaged("it ends at byte " + std::to_string(offset_))
                   : refused({}, "is cut short: truncated at byte " + std::to_string(offset_) +
                                     " of the archive unpacked, within " + where);
}

Result<void> TarReader::fill() {
  if (!rest_.empty()) return {};
  auto piece = source_.next();
  if (!piece) return std::move(piece.error());
  rest_ = *piece;
  return {};
}

/// Reads 512 bytes; fewer at the end of the archive.
Result<std::string_view> TarReader::read_block() {
  std::size_t size = 0;
  do {
    if (auto filled = fill(); !filled) return filled.error();
    const std::string_view piece = rest_.substr(0, kTarBlock - size);
    rest_.remove_prefix(piece.size());
    offset_ += piece.size();
    if (piece.size() == kTarBlock) return piece;
    if (piece.empty()) break;
    std::copy(piece.begin(), piece.end(), block_.begin() + static_cast<std::ptrdiff_t>(size));
    size += piece.size();
  } while (size < kTarBlock);
  return std::string_view(block_.data(), size);
}

Result<std::string_view> TarReader::content() {
  if (left_ == 0) return std::string_view();
  if (auto filled = fill(); !filled) return filled.error();
  if (rest_.empty()) return truncated("the content of a member");
  const std::string_view piece = rest_.substr(0, left_);
  rest_.remove_prefix(piece.size());
  offset_ += piece.size();
  left_ -= piece.size();
  return piece;
}

Result<void> TarReader::skip_content() {
  left_ += std::exchange(padding_, 0);
  while (left_ > 0) {
    if (auto piece = content(); !piece) return piece.error();
  }
  return {};
}

Result<bool> TarReader::next(TarMember& member) {
  if (auto skipped = skip_content(); !skipped) return skipped.error();
  member = {};
  Extensions extensions;
  while (true) {
    const auto block = read_block();
    if (!block) return block.error();
    if (block->empty() && member.header_bytes == 0) return false;
    if (block->size() < kTarBlock) return truncated("a header");
    if (block->find_first_not_of('\0') == std::string_view::npos) {
      if (member.header_bytes != 0) return damaged("an extended header without its member");
      has_end_mark_ = true;
      return false;
    }
    auto is_member = take_header(*block, member, extensions);
    if (!is_member) return is_member.error();
    if (*is_member) return true;
  }
}

/// Whether the block is a member's own header, not an extended one.
Result<bool> TarReader::take_header(std::string_view block, TarMember& member, Extensions& extensions) {
  if (!has_good_checksum(block)) return damaged("a header with a wrong checksum");
  const char type = block[kTypeAt];
  const bool is_extension = type == 'x' || type == 'X' || type == 'g' || type == 'L' || type == 'K' || type == 'V';
  auto size = header_number(field_of(block, kSizeField));
  if (!is_extension && !extensions.size.empty()) size = parse_u64(extensions.size);
  if (!size || *size > kMaxTarSize) return damaged("a header with a size that no file has");
  is_first_ = false;
  left_ = stores_content(type) ? *size : 0;
  padding_ = tar_padding(left_);
  member.header_bytes += kTarBlock;
  if (is_extension) {
    if (auto extended = extend(type, member, extensions); !extended) return extended.error();
    return false;
  }
  member.type = extensions.is_sparse ? TarType::kSparseFile : tar_type_of(type);
  member.size = left_;
  member.path = std::move(extensions.path);
  if (member.path.empty()) {
    // GNU's magic differs, and stores times where ustar has the first part of a long path.
    if (field_of(block, kMagicField).substr(0, 6) == kUstar.substr(0, 6)) member.path = text_of(block, kPrefixField);
    if (!member.path.empty()) member.path += '/';
    member.path += text_of(block, kNameField);
  }
  member.target = extensions.target.empty() ? std::string(text_of(block, kTargetField)) : std::move(extensions.target);
  if (member.path.size() > kMaxTarName || member.target.size() > kMaxTarName)
    return damaged("a name of more than " + std::to_string(kMaxTarName) + " bytes");
  // The oldest format marks directories only by a trailing slash.
  if (member.type == TarType::kFile && member.path.ends_with('/')) member.type = TarType::kDirectory;
  return true;
}

/// Reads the content of an extended header that applies to the next member.
Result<void> TarReader::extend(char type, TarMember& member, Extensions& extensions) {
  if (left_ > kMaxTarExtension - std::min(kMaxTarExtension, member.header_bytes))
    return damaged("extended headers of more than " + std::to_string(kMaxTarExtension) + " bytes");
  member.header_bytes += left_ + padding_;
  std::string bytes;
  while (left_ > 0) {
    const auto piece = content();
    if (!piece) return piece.error();
    bytes += *piece;
  }
  if (auto skipped = skip_content(); !skipped) return skipped;
  if (type == 'L') extensions.path = bytes.substr(0, bytes.find('\0'));
  if (type == 'K') extensions.target = bytes.substr(0, bytes.find('\0'));
  if ((type == 'x' || type == 'X') && !Extensions::parse(bytes, extensions))
    return damaged("an extended header that is not made of records");
  return {};  // 'g' applies to all members, but contains nothing relevant; 'V' names a volume
}

/// Records are "LENGTH KEY=VALUE\n", where LENGTH is the size of the whole record.
bool TarReader::Extensions::parse(std::string_view records, Extensions& into) {
  while (!records.empty()) {
    const std::size_t blank = records.find(' ');
    if (blank == std::string_view::npos) return false;
    const auto length = parse_u64(records.substr(0, blank));
    if (!length || *length > records.size() || *length < blank + 2 || records[*length - 1] != '\n') return false;
    const std::string_view record = records.substr(blank + 1, *length - blank - 2);
    records.remove_prefix(*length);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view key = record.substr(0, equals);
    const std::string_view value = record.substr(equals + 1);
    if (key == "path") into.path = value;
    if (key == "linkpath") into.target = value;
    if (key == "size") into.size = value;
    if (key.starts_with("GNU.sparse.")) into.is_sparse = true;
  }
  return true;
}

std::string tar_header(const TarMember& member, std::uint64_t mtime) {
  constexpr std::uint64_t kMaxOctal = (std::uint64_t{1} << 33U) - 1;
  std::string path = member.path;
  if (member.type == TarType::kDirectory) path += '/';
  std::string records;
  if (path.size() > kNameField.size && slash_in(path) == std::string::npos) append_record(records, "path", path);
  if (member.target.size() > kTargetField.size) append_record(records, "linkpath", member.target);
  if (member.size > kMaxOctal) append_record(records, "size", std::to_string(member.size));
  mtime = std::min(mtime, kMaxOctal);
  std::string header;
  if (!records.empty()) {
    header = plain_header('x', "PaxHeader", {}, records.size(), 0600, mtime) + records;
    header.append(tar_padding(records.size()), '\0');
  }
  const unsigned mode = member.type == TarType::kDirectory ? 0700 : member.type == TarType::kLink ? 0777 : 0600;
  return header +
         plain_header(static_cast<char>(member.type), path, member.target, std::min(member.size, kMaxOctal), mode, mtime);
}

}  // namespace memstat
