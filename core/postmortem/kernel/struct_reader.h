// SPDX-License-Identifier: BSD-2-Clause
// Reads structs of the kernel as a whole and extracts fields according to the type information.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/postmortem/kernel/kernel_memory.h"

namespace memstat::postmortem {

/// An integer, pointer or bit field of up to 64 bits in a struct; or missing.
struct StructField {
  std::uint64_t bit_offset = 0;
  std::uint32_t bits = 0;  ///< 0: the struct has no such member.

  explicit operator bool() const { return bits != 0; }
  [[nodiscard]] std::uint64_t offset() const { return bit_offset / 8; }
  [[nodiscard]] std::uint64_t end() const { return (bit_offset + bits + 7) / 8; }
};

/// A struct type. Holds the bytes of one instance at a time.
class StructReader {
 public:
  /// The struct with this name. If the kernel has none, all its fields are missing.
  StructReader(KernelMemory& image, std::string_view name) : StructReader(image, image.types().find_struct(name)) {}
  /// An anonymous struct, by its type number.
  StructReader(KernelMemory& image, std::optional<std::uint32_t> type) : image_(image), type_(type) {}

  [[nodiscard]] bool exists() const { return type_.has_value(); }
  /// Size of the struct in B; 0 if it is missing.
  [[nodiscard]] std::uint64_t size() const;
  /// Adds a member, by its path (Btf::find_member), to what load() reads. Must not exceed 64 bits.
  StructField field(std::string_view path);
  /// The offset of a member in B, for reading it by other means.
  [[nodiscard]] std::optional<std::uint64_t> offset_of(std::string_view path) const;

  /// Reads the instance at `address`, up to the last added field. Errors: those of KernelMemory::read.
  Result<void> load(std::uint64_t address);
  /// A field's value in the loaded instance; 0 for a missing field.
  [[nodiscard]] std::uint64_t get(StructField field) const;

 private:
  KernelMemory& image_;
  std::optional<std::uint32_t> type_;
  std::uint64_t size_ = 0;
  std::string bytes_;
};

}  // namespace memstat::postmortem
