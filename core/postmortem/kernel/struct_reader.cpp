// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/kernel/struct_reader.h"

#include <algorithm>

#include "core/postmortem/container/bytes.h"

namespace memstat::postmortem {
namespace {

constexpr std::uint64_t kMaxStructBytes = 1U << 16U;  // bound for hostile type information; struct kmem_cache has 8 KiB

}  // namespace

StructField StructReader::field(std::string_view path) {
  const auto member = type_ ? image_.types().find_member(*type_, path) : std::nullopt;
  if (!member) return {};
  StructField field{.bit_offset = member->bit_offset, .bits = member->bit_size};
  if (field.bits == 0) {
    const auto size = image_.types().size_of(member->type);
    field.bits = static_cast<std::uint32_t>(std::min<std::uint64_t>(size.value_or(0), 8) * 8);
  }
  // A bit field must fit into the 64 bits that begin with its first byte.
  if (field.bits == 0 || field.bit_offset % 8 + field.bits > 64 || field.end() > kMaxStructBytes) return {};
  size_ = std::max(size_, field.end());
  return field;
}

std::optional<std::uint64_t> StructReader::offset_of(std::string_view path) const {
  const auto member = type_ ? image_.types().find_member(*type_, path) : std::nullopt;
  if (!member || member->bit_offset / 8 > kMaxStructBytes) return std::nullopt;
  return member->bit_offset / 8;
}

std::uint64_t StructReader::size() const { return type_ ? image_.types().size_of(*type_).value_or(0) : 0; }

Result<void> StructReader::load(std::uint64_t address) {
  bytes_.resize(static_cast<std::size_t>(size_));
  return image_.read(address, bytes_.data(), bytes_.size());
}

std::uint64_t StructReader::get(StructField field) const {
  if (!field) return 0;
  std::uint64_t value = 0;
  for (std::uint64_t at = field.offset(), shift = 0; at < field.end(); ++at, shift += 8) {
    value |= std::uint64_t{number_at<std::uint8_t>(bytes_, at)} << shift;
  }
  value >>= field.bit_offset % 8;
  return field.bits >= 64 ? value : value & ((std::uint64_t{1} << field.bits) - 1);
}

}  // namespace memstat::postmortem
