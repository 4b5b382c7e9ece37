// SPDX-License-Identifier: BSD-2-Clause
// Maps addresses in the running kernel to functions, with /proc/kallsyms: "ADDRESS KIND NAME", followed by "[MODULE]"
// for modules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace memstat::events {

/// Kernel functions by address. Thread safety: may be read by several threads once it is filled.
class KernelSymbols {
 public:
  /// Replaces the symbols with those of this text. Skips symbols at address 0, which is how the kernel hides addresses.
  /// Error: kData with the offset of a malformed line.
  Result<void> parse(std::string text);

  /// "function" or "function [module]" of the call with this return address; "" if unknown.
  [[nodiscard]] std::string name_of_caller(std::uint64_t return_address) const;
  [[nodiscard]] bool empty() const { return functions_.empty(); }

 private:
  struct Function {
    std::uint64_t address;
    std::size_t name;  // its offset in the text; it ends at a blank or the end of the line
  };

  std::string text_;
  std::vector<Function> functions_;  // by address
};

/// The symbols of the running kernel. Errors: kNotPresent, kPermission, kIo, kData.
Result<KernelSymbols> read_kernel_symbols();

}  // namespace memstat::events
