// SPDX-License-Identifier: BSD-2-Clause
// The kernel's own table of symbols (scripts/kallsyms.c writes it, kernel/kallsyms.c reads it), which every kernel built
// with CONFIG_KALLSYMS has in its image; variables are in it with CONFIG_KALLSYMS_ALL.
//
// A name is a length and that many tokens, each of which stands for a few letters; the first letter is the kind of symbol.
// Addresses are 32-bit distances from a base, in one of three ways over the years (SymbolAddresses).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace memstat::postmortem {

/// The names, of any bytes. Does not own them. Thread safety: may be read by several threads.
class SymbolNames {
 public:
  static constexpr std::size_t kTokens = 256;
  static constexpr std::size_t kMaxName = 1024;          // KSYM_NAME_LEN is 512, 128 before Linux 6.1
  static constexpr std::uint32_t kMaxCount = 8U << 20U;  // Debian's kernels have 200 000

  /// `names`: kallsyms_names; `tokens`: kallsyms_token_table; `index`: kallsyms_token_index, 256 16-bit offsets into it.
  SymbolNames(std::string_view names, std::string_view tokens, std::string_view index)
      : names_(names), tokens_(tokens), index_(index) {}

  /// Calls `visit(number, name)` with each of the first `count` names, without their kind, until it says false. The name
  /// lives until it returns. Error: kData with the offset where a name does not fit.
  Result<void> for_each(std::uint32_t count, const std::function<bool(std::uint32_t, std::string_view)>& visit) const;

 private:
  // What a token stands for.
  [[nodiscard]] std::string_view token(std::uint8_t number) const;

  std::string_view names_;
  std::string_view tokens_;
  std::string_view index_;
};

/// How the 32-bit numbers of kallsyms_offsets become addresses.
enum class SymbolAddresses : std::uint8_t {
  kPerCpuAbsolute,  ///< x86 with several CPUs until Linux 6.14: 0 and more are per-CPU offsets, others base - 1 - number.
  kRelative,        ///< base + number, without sign.
  kPlace,           ///< The number's own address + number, with sign: kernels without kallsyms_relative_base.
};

/// The address of a symbol whose number is `number`: `base` is kallsyms_relative_base, `place` the number's own address.
std::uint64_t symbol_address(SymbolAddresses how, std::uint32_t number, std::uint64_t base, std::uint64_t place);

}  // namespace memstat::postmortem
