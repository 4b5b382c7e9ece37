// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/kernel/btf.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/postmortem/container/bytes.h"

namespace memstat::postmortem {
namespace {

// include/uapi/linux/btf.h
constexpr std::uint16_t kBtfMagic = 0xeb9f;
constexpr std::uint8_t kBtfVersion = 1;
constexpr std::uint64_t kBtfHeaderBytes = 24;
constexpr std::uint64_t kTypeBytes = 12;  // three words: name; count, kind and flag; size or type
constexpr std::uint64_t kMemberBytes = 12;
constexpr std::uint64_t kEnumBytes = 8;
constexpr std::uint64_t kEnum64Bytes = 12;
constexpr unsigned kMaxDepth = 32;      // nesting of typedefs, arrays and anonymous structs
constexpr unsigned kMaxStructs = 1024;  // structs searched for one member; anonymous ones may refer to each other repeatedly
constexpr std::size_t kMaxNameBytes = 512;  // the kernel's own maximum
constexpr std::uint64_t kPointerBytes = 8;  // on the supported machines
constexpr std::uint32_t kKindMask = 0x1f;

// Kinds of types that mean something here.
enum Kind : std::uint32_t { kPointer = 2, kArray, kStruct, kUnion, kEnum, kForward, kTypedef, kVolatile, kConst, kRestrict };
enum LaterKind : std::uint32_t { kFunction = 12, kFunctionType, kTypeTag = 18, kEnum64, kKindCount };

/// Bytes after a type's three words: a fixed part, and a part per element.
struct Extra {
  std::uint64_t fixed = 0;
  std::uint64_t each = 0;
};
constexpr std::array<Extra, kKindCount> kExtra = {{{},
                                                   {4, 0},               // int
                                                   {},                   // pointer
                                                   {12, 0},              // array
                                                   {0, kMemberBytes},    // struct
                                                   {0, kMemberBytes},    // union
                                                   {0, kEnumBytes},      // enum
                                                   {},                   // forward
                                                   {},                   // typedef
                                                   {},                   // volatile
                                                   {},                   // const
                                                   {},                   // restrict
                                                   {},                   // function
                                                   {0, 8},               // function prototype
                                                   {4, 0},               // variable
                                                   {0, 12},              // data section
                                                   {},                   // float
                                                   {4, 0},               // declaration tag
                                                   {},                   // type tag
                                                   {0, kEnum64Bytes}}};  // 64-bit enum

bool is_compound(std::uint32_t kind) { return kind == kStruct || kind == kUnion; }

bool is_transparent(std::uint32_t kind) {
  return kind == kTypedef || kind == kVolatile || kind == kConst || kind == kRestrict || kind == kTypeTag;
}

Error btf_error(std::uint64_t offset, std::string_view what, ErrorCode code = ErrorCode::kData) {
  return data_error("BTF", offset, what, code);
}

}  // namespace

Result<Btf> Btf::parse(std::string bytes) {
  Btf btf;
  btf.bytes_ = std::move(bytes);
  const std::string_view all = btf.bytes_;
  if (all.size() > kMaxBytes) return btf_error(0, "has more than 64 MiB");
  if (!holds(all, 0, kBtfHeaderBytes)) return btf_error(all.size(), "ends within its header");
  if (number_at<std::uint16_t>(all, 0) != kBtfMagic || number_at<std::uint8_t>(all, 2) != kBtfVersion) {
    return btf_error(0, "is not BTF of version 1", ErrorCode::kVersion);
  }
  const std::uint64_t base = number_at<std::uint32_t>(all, 4);
  const std::uint64_t begin = base + number_at<std::uint32_t>(all, 8);
  const std::uint64_t size = number_at<std::uint32_t>(all, 12);
  btf.strings_at_ = base + number_at<std::uint32_t>(all, 16);
  btf.strings_size_ = number_at<std::uint32_t>(all, 20);
  if (base < kBtfHeaderBytes || !holds(all, begin, size) || !holds(all, btf.strings_at_, btf.strings_size_)) {
    return btf_error(4, "has types or strings beyond its end");
  }
  const std::string_view types = all.substr(0, begin + size);
  btf.offsets_.push_back(0);
  for (std::uint64_t at = begin; at < types.size();) {
    if (!holds(types, at, kTypeBytes)) return btf_error(at, "ends within a type");
    const auto info = number_at<std::uint32_t>(types, at + 4);
    const std::uint32_t kind = (info >> 24U) & kKindMask;
    if (kind == 0 || kind >= kKindCount) {
      return btf_error(at, "has a type of kind " + std::to_string(kind) + ", which is not known", ErrorCode::kVersion);
    }
    const std::uint64_t extra = kExtra[kind].fixed + kExtra[kind].each * (info & 0xffffU);
    if (!holds(types, at + kTypeBytes, extra)) return btf_error(at, "ends within a type");
    btf.offsets_.push_back(static_cast<std::uint32_t>(at));
    at += kTypeBytes + extra;
  }
  return btf;
}

std::optional<Btf::Type> Btf::type_at(std::uint32_t type) const {
  if (type == 0 || type >= offsets_.size()) return std::nullopt;
  const std::uint64_t at = offsets_[type];
  const auto info = number_at<std::uint32_t>(bytes_, at + 4);
  return Type{.at = at + kTypeBytes,
              .name = number_at<std::uint32_t>(bytes_, at),
              .kind = (info >> 24U) & kKindMask,
              .count = info & 0xffffU,
              .flag = (info >> 31U) != 0,
              .size_or_type = number_at<std::uint32_t>(bytes_, at + 8)};
}

std::optional<Btf::Type> Btf::resolved(std::uint32_t type) const {
  auto found = type_at(type);
  for (unsigned depth = 0; found && is_transparent(found->kind); ++depth) {
    if (depth == kMaxDepth) return std::nullopt;
    found = type_at(found->size_or_type);
  }
  return found;
}

std::string_view Btf::name_at(std::uint32_t offset) const {
  if (offset >= strings_size_) return {};
  const std::string_view rest =
      std::string_view(bytes_).substr(strings_at_ + offset, std::min<std::size_t>(strings_size_ - offset, kMaxNameBytes));
  const std::size_t end = rest.find('\0');
  return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

std::optional<std::uint32_t> Btf::find_struct(std::string_view name) const {
  for (std::uint32_t type = 1; type < offsets_.size(); ++type) {
    const auto found = type_at(type);
    if (found && is_compound(found->kind) && found->count > 0 && name_at(found->name) == name) return type;
  }
  return std::nullopt;
}

std::optional<BtfMember> Btf::find_direct(const Type& owner, std::string_view name, unsigned depth,
                                          unsigned& structs_left) const {
  if (depth == kMaxDepth || structs_left == 0) return std::nullopt;
  --structs_left;
  for (std::uint32_t i = 0; i < owner.count; ++i) {
    const std::uint64_t at = owner.at + i * kMemberBytes;
    const auto offset = number_at<std::uint32_t>(bytes_, at + 8);
    BtfMember member{.bit_offset = owner.flag ? offset & 0xff'ffffU : offset,
                     .bit_size = owner.flag ? offset >> 24U : 0,
                     .type = number_at<std::uint32_t>(bytes_, at + 4)};
    const std::string_view member_name = name_at(number_at<std::uint32_t>(bytes_, at));
    if (member_name == name) return member;
    if (!member_name.empty()) continue;
    const auto inner = resolved(member.type);
    if (!inner || !is_compound(inner->kind)) continue;
    if (auto found = find_direct(*inner, name, depth + 1, structs_left)) {
      found->bit_offset += member.bit_offset;
      return found;
    }
  }
  return std::nullopt;
}

std::optional<BtfMember> Btf::find_member(std::uint32_t type, std::string_view path) const {
  BtfMember member{.type = type};
  while (true) {
    const std::string_view name = path.substr(0, path.find('.'));
    const auto owner = resolved(member.type);
    if (name.empty() || !owner || !is_compound(owner->kind)) return std::nullopt;
    unsigned structs_left = kMaxStructs;
    auto found = find_direct(*owner, name, 0, structs_left);
    if (!found) return std::nullopt;
    found->bit_offset += member.bit_offset;
    member = *found;
    if (name.size() == path.size()) return member;
    path.remove_prefix(name.size() + 1);
  }
}

std::optional<std::uint64_t> Btf::size_of(std::uint32_t type) const {
  std::uint64_t elements = 1;
  for (unsigned depth = 0; depth < kMaxDepth; ++depth) {
    const auto found = resolved(type);
    if (!found) return std::nullopt;
    std::uint64_t size = found->size_or_type;
    if (found->kind == kArray) {
      if (__builtin_mul_overflow(elements, number_at<std::uint32_t>(bytes_, found->at + 8), &elements)) return std::nullopt;
      type = number_at<std::uint32_t>(bytes_, found->at);
      continue;
    }
    if (found->kind == kPointer) size = kPointerBytes;
    if (found->kind == kForward || found->kind == kFunction || found->kind == kFunctionType) return std::nullopt;
    if (__builtin_mul_overflow(elements, size, &size)) return std::nullopt;
    return size;
  }
  return std::nullopt;
}

std::optional<BtfArray> Btf::array_of(std::uint32_t type) const {
  const auto found = resolved(type);
  if (!found || found->kind != kArray) return std::nullopt;
  const auto element = number_at<std::uint32_t>(bytes_, found->at);
  return BtfArray{
      .element = element, .count = number_at<std::uint32_t>(bytes_, found->at + 8), .stride = size_of(element).value_or(0)};
}

std::optional<BtfArray> Btf::array_member(std::string_view owner, std::string_view path) const {
  const auto member = find_member(find_struct(owner).value_or(0), path);
  auto array = member ? array_of(member->type) : std::nullopt;
  if (array) array->offset = member->bit_offset / 8;
  return array;
}

std::optional<std::uint32_t> Btf::target_of(std::uint32_t type) const {
  const auto found = resolved(type);
  if (!found || found->kind != kPointer) return std::nullopt;
  return found->size_or_type;
}

std::optional<std::uint64_t> Btf::enumerator(std::string_view constant) const {
  for (std::uint32_t type = 1; type < offsets_.size(); ++type) {
    const auto found = type_at(type);
    if (!found || (found->kind != kEnum && found->kind != kEnum64)) continue;
    const std::uint64_t each = kExtra[found->kind].each;
    for (std::uint32_t i = 0; i < found->count; ++i) {
      const std::uint64_t at = found->at + i * each;
      if (name_at(number_at<std::uint32_t>(bytes_, at)) != constant) continue;
      const std::uint64_t low = number_at<std::uint32_t>(bytes_, at + 4);
      return found->kind == kEnum ? low : low | (std::uint64_t{number_at<std::uint32_t>(bytes_, at + 8)} << 32U);
    }
  }
  return std::nullopt;
}

}  // namespace memstat::postmortem
