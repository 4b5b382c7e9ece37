// SPDX-License-Identifier: BSD-2-Clause
// BTF: the kernel's own type information (Documentation/bpf/btf.rst), as far as needed to find struct members.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace memstat::postmortem {

/// The position of a struct member.
struct BtfMember {
  std::uint64_t bit_offset = 0;
  std::uint32_t bit_size = 0;  ///< Width of a bit field; 0: not a bit field.
  std::uint32_t type = 0;
};

struct BtfArray {
  std::uint32_t element = 0;  ///< Type of an element.
  std::uint32_t count = 0;
  std::uint64_t stride = 0;  ///< Size of an element in B; 0: unknown.
  std::uint64_t offset = 0;  ///< In its struct, in B.
};

/// Parsed BTF. Owns the bytes between __start_BTF and __stop_BTF, which are untrusted. Types are numbers; 0 is void.
/// Queries on invalid numbers return empty. Thread safety: may be read by several threads.
class Btf {
 public:
  static constexpr std::size_t kMaxBytes = 64U << 20U;  // Debian's kernels have 3 to 6 MiB

  /// Errors: kVersion for another format or an unknown kind of type; kData with the offset of malformed data.
  static Result<Btf> parse(std::string bytes);

  [[nodiscard]] std::uint32_t type_count() const { return static_cast<std::uint32_t>(offsets_.size()); }

  /// The struct or union with this name that has members.
  [[nodiscard]] std::optional<std::uint32_t> find_struct(std::string_view name) const;
  /// Finds a member, also in nested anonymous structs and unions. "a.b" is member b of the struct member a.
  [[nodiscard]] std::optional<BtfMember> find_member(std::uint32_t type, std::string_view path) const;
  /// Size in B, after following typedefs and qualifiers. Empty for functions, void, and arrays of these.
  [[nodiscard]] std::optional<std::uint64_t> size_of(std::uint32_t type) const;
  [[nodiscard]] std::optional<BtfArray> array_of(std::uint32_t type) const;
  /// A member that is an array, of the struct with this name.
  [[nodiscard]] std::optional<BtfArray> array_member(std::string_view owner, std::string_view path) const;
  /// The type that a pointer points to.
  [[nodiscard]] std::optional<std::uint32_t> target_of(std::uint32_t type) const;
  /// The value of an enumerator, whichever enum has it.
  [[nodiscard]] std::optional<std::uint64_t> enumerator(std::string_view constant) const;

 private:
  struct Type {
    std::uint64_t at = 0;  // offset of what follows the three words
    std::uint32_t name = 0;
    std::uint32_t kind = 0;
    std::uint32_t count = 0;
    bool flag = false;
    std::uint32_t size_or_type = 0;
  };
  [[nodiscard]] std::optional<Type> type_at(std::uint32_t type) const;
  // The type after removing typedefs and qualifiers.
  [[nodiscard]] std::optional<Type> resolved(std::uint32_t type) const;
  [[nodiscard]] std::string_view name_at(std::uint32_t offset) const;
  [[nodiscard]] std::optional<BtfMember> find_direct(const Type& owner, std::string_view name, unsigned depth,
                                                     unsigned& structs_left) const;

  std::string bytes_;
  std::uint64_t strings_at_ = 0;  // in bytes_
  std::uint64_t strings_size_ = 0;
  std::vector<std::uint32_t> offsets_;  // offset of each type in bytes_; the first is void, which has none
};

/// Converts CTF, the type information in section .SUNW_ctf of FreeBSD's kernel file (ctf(5)), untrusted bytes, to BTF with
/// the same type numbers. Supports version 2 (until FreeBSD 13) and 3, with or without zlib. `file` is for errors: kVersion
/// for other versions, and for compressed types in a build without zlib; kData with the offset of malformed data.
Result<Btf> parse_ctf(std::string_view section, std::string_view file);

}  // namespace memstat::postmortem
