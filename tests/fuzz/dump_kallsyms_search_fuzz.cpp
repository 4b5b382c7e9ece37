// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as the read-only data of a kernel, which is searched for tables of symbols. Results must be
// within it.
#include <cstdint>

#include "core/postmortem/linux/kallsyms.h"
#include "tests/fuzz/dump_seeds.h"
#include "tests/fuzz/fuzz_source.h"

extern "C" int LLVMFuzzerInitialize(int* /*count*/, char*** /*arguments*/) {
  memstat::write_dump_seeds([](const memstat::FakeLinuxDump& /*dump*/) {
    memstat::FakeKernelOptions options = memstat::small_kernel();
    options.hides_symbols = true;
    return memstat::FakeLinuxDump(options).table("kallsyms");
  });
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto found = memstat::postmortem::find_symbol_tables({reinterpret_cast<const char*>(data), size});
  if (!found) return 0;
  MEMSTAT_FUZZ_REQUIRE(found->offsets < found->relative_base && found->relative_base < found->count &&
                       found->count < found->names && found->names < found->tokens && found->tokens < found->index &&
                       found->index + 512 <= size);
  return 0;
}
