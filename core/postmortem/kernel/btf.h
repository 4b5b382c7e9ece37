// SPDX-License-Identifier: BSD-2-Clause
// BTF: the types that a kernel knows of itself (Documentation/bpf/btf.rst), enough of it to find members of structs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace memstat::postmortem {

/// Where a member lies in its struct. Thread safety: a plain value.
struct BtfMember {
  std::uint64_t bit_offset = 0;
  std::uint32_t bit_size = 0;  ///< Of a bit field; 0: it is none.
  std::uint32_t type = 0;
};

struct BtfArray {
  std::uint32_t element = 0;  ///< A type.
  std::uint32_t count = 0;
};

/// Owns the bytes between __start_BTF and __stop_BTF, which may be any. Types are numbers; 0 is void, and what is asked of
/// numbers that are no type is not there. Thread safety: may be read by several threads.
class Btf {
 public:
  static constexpr std::size_t kMaxBytes = 64U << 20U;  // Debian's kernels have 3 to 6 MiB

  /// Errors: kVersion for another format or kind of type, kData with the offset of what does not fit.
  static Result<Btf> parse(std::string bytes);

  [[nodiscard]] std::uint32_t type_count() const { return static_cast<std::uint32_t>(offsets_.size()); }

  /// The struct (or union) of that name that has members.
  [[nodiscard]] std::optional<std::uint32_t> find_struct(std::string_view name) const;
  /// A member, also of anonymous structs and unions within. "a.b" is member b of the struct that member a is.
  [[nodiscard]] std::optional<BtfMember> find_member(std::uint32_t type, std::string_view path) const;
  /// B; typedefs and qualifiers are followed. Nothing for functions, void, and arrays of such.
  [[nodiscard]] std::optional<std::uint64_t> size_of(std::uint32_t type) const;
  [[nodiscard]] std::optional<BtfArray> array_of(std::uint32_t type) const;
  /// The type that a pointer points to.
  [[nodiscard]] std::optional<std::uint32_t> target_of(std::uint32_t type) const;
  /// The value of a constant of an enum: `constant` of any enum that has it.
  [[nodiscard]] std::optional<std::uint64_t> enumerator(std::string_view constant) const;

 private:
  struct Type {
    std::uint64_t at = 0;  // of what follows the three words
    std::uint32_t name = 0;
    std::uint32_t kind = 0;
    std::uint32_t count = 0;
    bool flag = false;
    std::uint32_t size_or_type = 0;
  };
  [[nodiscard]] std::optional<Type> type_at(std::uint32_t type) const;
  // Without typedefs and qualifiers.
  [[nodiscard]] std::optional<Type> resolved(std::uint32_t type) const;
  [[nodiscard]] std::string_view name_at(std::uint32_t offset) const;
  [[nodiscard]] std::optional<BtfMember> find_direct(const Type& owner, std::string_view name, unsigned depth,
                                                     unsigned& structs_left) const;

  std::string bytes_;
  std::uint64_t strings_at_ = 0;  // in bytes_
  std::uint64_t strings_size_ = 0;
  std::vector<std::uint32_t> offsets_;  // of each type in bytes_; the first is void's, which has none
};

}  // namespace memstat::postmortem
