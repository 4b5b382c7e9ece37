// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as /proc/kallsyms. A table that was rejected, or has no function, yields no names.
#include <cstdlib>
#include <string>

#include "core/events/memuse/kernel_symbols.h"
#include "tests/fuzz/fuzz_target.h"

void memstat::fuzz(std::string_view bytes) {
  events::KernelSymbols symbols;
  const auto result = symbols.parse(std::string(bytes));
  if (!result && !symbols.empty()) std::abort();
  for (const std::uint64_t address :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0xffffffff81001001}, ~std::uint64_t{0}}) {
    if (!symbols.name_of_caller(address).empty() && symbols.empty()) std::abort();
  }
}
