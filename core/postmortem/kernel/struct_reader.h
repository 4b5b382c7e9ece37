// SPDX-License-Identifier: BSD-2-Clause
// Structs of the kernel, read whole and taken apart by what its types say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/postmortem/kernel/kernel_memory.h"

namespace memstat::postmortem {

/// An integer (or pointer, or bit field) of at most 64 bits in a struct, or nothing. Thread safety: a plain value.
struct StructField {
  std::uint64_t bit_offset = 0;
  std::uint32_t bits = 0;  ///< 0: the struct has no such member.

  explicit operator bool() const { return bits != 0; }
  [[nodiscard]] std::uint64_t offset() const { return bit_offset / 8; }
  [[nodiscard]] std::uint64_t end() const { return (bit_offset + bits + 7) / 8; }
};

/// One struct type; holds the bytes of one instance at a time. Thread safety: none.
class StructReader {
 public:
  /// A struct of `name`; fields of one that the kernel does not have are not there.
  StructReader(KernelMemory& image, std::string_view name) : StructReader(image, image.types().find_struct(name)) {}
  /// A struct without a name, by its number.
  StructReader(KernelMemory& image, std::optional<std::uint32_t> type) : image_(image), type_(type) {}

  [[nodiscard]] bool exists() const { return type_.has_value(); }
  /// The whole struct, B; 0 when there is none.
  [[nodiscard]] std::uint64_t size() const;
  /// The member with this path (Btf::find_member), which load() reads from now on. At most 64 bits of it count.
  StructField field(std::string_view path);
  /// The offset of a member that is read by other means, B.
  [[nodiscard]] std::optional<std::uint64_t> offset_of(std::string_view path) const;

  /// Reads the fields of the instance at `address`: from its start to the last of them. Errors: those of KernelMemory::read.
  Result<void> load(std::uint64_t address);
  /// The value in what load() read; 0 for a field that is not there.
  [[nodiscard]] std::uint64_t get(StructField field) const;

 private:
  KernelMemory& image_;
  std::optional<std::uint32_t> type_;
  std::uint64_t size_ = 0;
  std::string bytes_;
};

}  // namespace memstat::postmortem
