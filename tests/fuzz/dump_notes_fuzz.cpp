// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as the notes of an ELF dump, and the VMCOREINFO found in them, which must be within the bytes.
#include <cstdint>

#include "core/postmortem/container/elf_core.h"
#include "core/postmortem/container/vmcoreinfo.h"
#include "tests/fuzz/dump_seeds.h"
#include "tests/fuzz/fuzz_source.h"

extern "C" int LLVMFuzzerInitialize(int* /*count*/, char*** /*arguments*/) {
  memstat::write_dump_seeds([](const memstat::FakeLinuxDump& dump) { return dump.elf().substr(0x1000, 0x2000); });
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string_view found = memstat::postmortem::find_note(bytes, "VMCOREINFO");
  MEMSTAT_FUZZ_REQUIRE(found.empty() ||
                       (found.data() >= bytes.data() && found.data() + found.size() <= bytes.data() + size));
  for (const std::string_view text : {found, bytes}) {
    const memstat::postmortem::VmCoreInfo info(text);
    MEMSTAT_FUZZ_REQUIRE(!info.text(""));
    static_cast<void>(info.symbol("swapper_pg_dir"));
    static_cast<void>(info.number("phys_base"));
  }
  return 0;
}
