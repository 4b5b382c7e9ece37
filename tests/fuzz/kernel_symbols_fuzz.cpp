// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as /proc/kallsyms. A table that was rejected, or has no function, yields no names.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/events/memuse/kernel_symbols.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  memstat::events::KernelSymbols symbols;
  const auto result = symbols.parse(std::string(reinterpret_cast<const char*>(data), size));
  if (!result && !symbols.empty()) std::abort();
  for (const std::uint64_t address :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0xffffffff81001001}, ~std::uint64_t{0}}) {
    if (!symbols.name_of_caller(address).empty() && symbols.empty()) std::abort();
  }
  return 0;
}
