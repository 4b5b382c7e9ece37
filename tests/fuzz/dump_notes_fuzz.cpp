// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as the notes of an ELF dump, and the VMCOREINFO found in them, which must be within the bytes.
#include "core/postmortem/container/dump_file.h"
#include "core/postmortem/container/vmcoreinfo.h"
#include "tests/fuzz/fuzz_target.h"

void memstat::fuzz(std::string_view bytes) {
  const std::string_view found = postmortem::find_note(bytes, "VMCOREINFO");
  MEMSTAT_FUZZ_REQUIRE(found.empty() ||
                       (found.data() >= bytes.data() && found.data() + found.size() <= bytes.data() + bytes.size()));
  for (const std::string_view text : {found, bytes}) {
    const postmortem::VmCoreInfo info(text);
    MEMSTAT_FUZZ_REQUIRE(!info.text(""));
    static_cast<void>(info.symbol("swapper_pg_dir"));
    static_cast<void>(info.number("phys_base"));
  }
}
