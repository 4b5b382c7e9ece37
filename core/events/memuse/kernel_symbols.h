// SPDX-License-Identifier: BSD-2-Clause
// Which function of the running kernel an address is in, out of /proc/kallsyms: "ADDRESS KIND NAME", and "[MODULE]" behind
// what is a module's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace memstat::events {

/// The functions of a kernel by address. Thread safety: once filled, may be read by several threads.
class KernelSymbols {
 public:
  /// Takes the text in place of what it held. Symbols at address 0, which the kernel shows to whom it hides them from, are
  /// left out. Error: kData with the offset of a line that is none.
  Result<void> parse(std::string text);

  /// "function" or "function [module]" for the function that the call before this return address is in; "" where none is
  /// known.
  [[nodiscard]] std::string name_of_caller(std::uint64_t return_address) const;
  [[nodiscard]] bool empty() const { return functions_.empty(); }

 private:
  struct Function {
    std::uint64_t address;
    std::size_t name;  // its place in the text, up to a blank or the line's end
  };

  std::string text_;
  std::vector<Function> functions_;  // by address
};

/// Of this machine. Errors: kNotPresent, kPermission, kIo, kData.
Result<KernelSymbols> read_kernel_symbols();

}  // namespace memstat::events
