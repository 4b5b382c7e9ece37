// SPDX-License-Identifier: BSD-2-Clause
// The name of a type that is a kernel function: "function", or "function [module]" for one in a module.
#pragma once

#include <string_view>

#include "core/base/ascii.h"

namespace memstat {

/// The kernel's limits are 512 (KSYM_NAME_LEN) and 56 (MODULE_NAME_LEN). Longer input is not a valid name and is truncated.
/// There is room for a suffix of 32 bytes.
using SymbolName = StackText<512 + 3 + 63 + 32>;

/// `module` is without brackets; empty for the kernel itself.
inline SymbolName symbol_name(std::string_view function, std::string_view module = {}) {
  SymbolName name(function.substr(0, 512));
  if (!module.empty()) name.append(" [", module.substr(0, 63), "]");
  return name;
}

}  // namespace memstat
