// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/kernel/btf.h"

#include <algorithm>
#include <utility>

#include "core/postmortem/container/bytes.h"
#include "core/postmortem/container/packed_page.h"

namespace memstat::postmortem {
namespace {

// ctf(5): a header of nine words. Labels, objects, functions, types and strings follow at offsets from its end.
constexpr std::uint16_t kCtfMagic = 0xcff1;
constexpr std::uint8_t kPackedFlag = 1;
constexpr std::uint64_t kCtfHeaderBytes = 36;
constexpr std::uint64_t kCtfEnumBytes = 8;
constexpr std::uint32_t kExternalName = 0x8000'0000;  // the name is in another string table
constexpr std::uint32_t kNoBits = 0xffff;             // mask for the size of an integer in bits
constexpr std::size_t kMaxCtfBytes = 64U << 20U;      // uncompressed; FreeBSD 15's kernel has 3 MiB
constexpr std::uint32_t kMaxBtfParts = 0xffff;

enum CtfKind : std::uint32_t { kCtfUnknown, kCtfInteger, kCtfFloat, kCtfArray = 4, kCtfFunction, kCtfStruct, kCtfUnion };
enum CtfLaterKind : std::uint32_t { kCtfEnum = 8, kCtfForward, kCtfKindCount = 14 };

// The corresponding kinds of BTF.
constexpr std::uint32_t kBtfKinds[kCtfKindCount] = {7, 1, 16, 2, 3, 13, 4, 5, 6, 7, 8, 9, 10, 11};

/// The record layout of a version.
struct CtfLayout {
  std::uint64_t word = 4;  // bytes of each field: info, size and type number
  unsigned kind_shift = 26;
  std::uint32_t count_mask = 0x00ff'ffff;
  std::uint32_t size_follows = 0xffff'ffff;  // marker: a 64-bit size follows
  std::uint64_t large_struct = 1U << 29U;    // B; larger structs have members with 64-bit offsets
};
constexpr CtfLayout kVersion2{
    .word = 2, .kind_shift = 11, .count_mask = 0x3ff, .size_follows = 0xffff, .large_struct = 1U << 13U};
constexpr CtfLayout kVersion3{};

Error ctf_error(std::string_view file, std::uint64_t offset, std::string_view what, ErrorCode code = ErrorCode::kData) {
  return data_error(file, offset, "CTF: " + std::string(what), code);
}

void put_word(std::string& to, std::uint32_t word) { to.append(reinterpret_cast<const char*>(&word), sizeof word); }

/// Converts the types to BTF in one pass.
class Converter {
 public:
  Converter(std::string_view types, const CtfLayout& layout, std::string_view file)
      : types_(types), layout_(layout), file_(file) {}

  Result<std::string> convert() {
    while (at_ < types_.size()) {
      if (auto taken = take_type(); !taken) return taken.error();
    }
    return std::move(btf_);
  }

 private:
  struct Record {
    std::uint32_t name = 0;
    std::uint32_t kind = 0;
    std::uint32_t count = 0;
    std::uint32_t type = 0;  // also the size, if small
    std::uint64_t size = 0;
  };

  [[nodiscard]] std::uint32_t word_at(std::uint64_t at) const {
    return layout_.word == 2 ? number_at<std::uint16_t>(types_, at) : number_at<std::uint32_t>(types_, at);
  }
  static std::uint32_t name_of(std::uint32_t name) { return (name & kExternalName) != 0 ? 0 : name; }

  /// B after the head of a record.
  [[nodiscard]] std::uint64_t bytes_after(const Record& record) const {
    switch (record.kind) {
      case kCtfInteger:
      case kCtfFloat: return 4;
      case kCtfArray: return 2 * layout_.word + 4;
      // An argument takes a word. With two-byte words, an odd number of them is padded by one.
      case kCtfFunction: return (layout_.word * record.count + 3) / 4 * 4;
      case kCtfStruct:
      case kCtfUnion: return member_bytes(record) * record.count;
      case kCtfEnum: return kCtfEnumBytes * record.count;
      default: return 0;
    }
  }
  [[nodiscard]] bool has_large_members(const Record& record) const { return record.size >= layout_.large_struct; }
  [[nodiscard]] std::uint64_t member_bytes(const Record& record) const {
    if (layout_.word == 2) return has_large_members(record) ? 16 : 8;
    return has_large_members(record) ? 16 : 12;
  }

  Result<void> take_type() {
    const std::uint64_t head = 4 + 2 * layout_.word;
    const std::uint64_t begin = at_;
    if (!holds(types_, at_, head)) return ctf_error(file_, begin, "ends within a type");
    const std::uint32_t info = word_at(at_ + 4);
    Record record{.name = name_of(number_at<std::uint32_t>(types_, at_)),
                  .kind = info >> layout_.kind_shift,
                  .count = info & layout_.count_mask,
                  .type = word_at(at_ + 4 + layout_.word)};
    record.size = record.type;
    at_ += head;
    if (record.kind >= kCtfKindCount) {
      return ctf_error(file_, begin, "has a type of kind " + std::to_string(record.kind) + ", which is not known",
                       ErrorCode::kVersion);
    }
    if (record.type == layout_.size_follows) {
      if (!holds(types_, at_, 8)) return ctf_error(file_, begin, "ends within a type");
      record.size = std::uint64_t{number_at<std::uint32_t>(types_, at_)} << 32U | number_at<std::uint32_t>(types_, at_ + 4);
      at_ += 8;
    }
    const std::uint64_t behind = bytes_after(record);
    if (!holds(types_, at_, behind)) return ctf_error(file_, begin, "ends within a type");
    write(record);
    at_ += behind;
    return {};
  }

  void write(const Record& record) {
    const bool has_parts = record.kind == kCtfStruct || record.kind == kCtfUnion || record.kind == kCtfEnum;
    const std::uint32_t parts = has_parts ? std::min(record.count, kMaxBtfParts) : 0;
    const bool has_size = has_parts || record.kind == kCtfInteger || record.kind == kCtfFloat;
    put_word(btf_, record.name);
    put_word(btf_, kBtfKinds[record.kind] << 24U | parts);
    // No struct exceeds 4 GiB, so a larger size belongs to something else and does not matter.
    const std::uint64_t size = record.size > 0xffff'ffffU ? 0 : record.size;
    switch (record.kind) {
      case kCtfUnknown:
      case kCtfForward:
      case kCtfArray:
      case kCtfFunction: put_word(btf_, 0); break;
      default: put_word(btf_, has_size ? static_cast<std::uint32_t>(size) : record.type);
    }
    if (record.kind == kCtfInteger) put_word(btf_, number_at<std::uint32_t>(types_, at_) & kNoBits);
    if (record.kind == kCtfArray) {
      put_word(btf_, word_at(at_));
      put_word(btf_, word_at(at_ + layout_.word));
      put_word(btf_, number_at<std::uint32_t>(types_, at_ + 2 * layout_.word));
    }
    for (std::uint32_t i = 0; i < parts; ++i) {
      if (record.kind == kCtfEnum) {
        put_word(btf_, name_of(number_at<std::uint32_t>(types_, at_ + i * kCtfEnumBytes)));
        put_word(btf_, number_at<std::uint32_t>(types_, at_ + i * kCtfEnumBytes + 4));
      } else {
        write_member(record, at_ + i * member_bytes(record));
      }
    }
  }

  /// CTF bit fields have integer types of their width, so the members carry none.
  void write_member(const Record& record, std::uint64_t at) {
    put_word(btf_, name_of(number_at<std::uint32_t>(types_, at)));
    put_word(btf_, word_at(at + 4));
    std::uint64_t offset = 0;
    if (has_large_members(record)) {
      offset = std::uint64_t{number_at<std::uint32_t>(types_, at + 8)} << 32U | number_at<std::uint32_t>(types_, at + 12);
    } else {
      offset = word_at(at + 4 + layout_.word);
    }
    // An impossible offset becomes the largest one, where no reader looks.
    put_word(btf_, offset > 0xffff'ffffU ? 0xffff'ffffU : static_cast<std::uint32_t>(offset));
  }

  std::string_view types_;
  const CtfLayout& layout_;
  std::string_view file_;
  std::uint64_t at_ = 0;
  std::string btf_;
};

/// The `size` bytes after the header, uncompressed if necessary.
Result<std::string> body_of(std::string_view section, std::uint64_t size, std::string_view file) {
  const std::string_view packed = section.substr(kCtfHeaderBytes);
  if ((number_at<std::uint8_t>(section, 3) & kPackedFlag) == 0) return std::string(packed);
  std::string body(static_cast<std::size_t>(size), '\0');
  if (auto unpacked = unpack_page(kPackedByZlib, packed, body, file, kCtfHeaderBytes); !unpacked) {
    if (unpacked.error().code == ErrorCode::kVersion) {
      return ctf_error(file, kCtfHeaderBytes, "is packed by zlib, which this build does not have", ErrorCode::kVersion);
    }
    return ctf_error(file, kCtfHeaderBytes, "cannot be unpacked by zlib");
  }
  return body;
}

/// A BTF header of six words, then types, then strings.
std::string with_btf_header(std::string_view types, std::string_view strings) {
  std::string btf;
  btf.reserve(24 + types.size() + strings.size());
  for (const std::uint64_t word :
       std::initializer_list<std::uint64_t>{0x0001'eb9f, 24, 0, types.size(), types.size(), strings.size()}) {
    put_word(btf, static_cast<std::uint32_t>(word));
  }
  btf += types;
  btf += strings;
  return btf;
}

}  // namespace

Result<Btf> parse_ctf(std::string_view section, std::string_view file) {
  if (!holds(section, 0, kCtfHeaderBytes)) return ctf_error(file, section.size(), "ends within its header");
  if (number_at<std::uint16_t>(section, 0) != kCtfMagic)
    return ctf_error(file, 0, "does not begin with the number that marks CTF");
  const auto version = number_at<std::uint8_t>(section, 2);
  if (version != 2 && version != 3) {
    return ctf_error(file, 2, "has version " + std::to_string(version) + "; 2 and 3 can be read", ErrorCode::kVersion);
  }
  const std::uint64_t types_at = number_at<std::uint32_t>(section, 24);
  const std::uint64_t strings_at = number_at<std::uint32_t>(section, 28);
  const std::uint64_t strings_size = number_at<std::uint32_t>(section, 32);
  const std::uint64_t size = strings_at + strings_size;
  if (types_at > strings_at || size > kMaxCtfBytes) return ctf_error(file, 24, "has types or strings where they cannot be");
  const auto body = body_of(section, size, file);
  if (!body) return body.error();
  const std::string_view bytes = *body;
  if (!holds(bytes, 0, size)) return ctf_error(file, section.size(), "has types or strings beyond its end");
  const auto types =
      Converter(bytes.substr(types_at, strings_at - types_at), version == 2 ? kVersion2 : kVersion3, file).convert();
  if (!types) return types.error();
  return Btf::parse(with_btf_header(*types, bytes.substr(strings_at, strings_size)));
}

}  // namespace memstat::postmortem
