// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as the read-only data of a kernel, which is searched for tables of symbols. Results must be
// within it.
#include "core/postmortem/linux/kallsyms.h"
#include "tests/fuzz/fuzz_target.h"

void memstat::fuzz(std::string_view bytes) {
  const auto found = postmortem::find_symbol_tables(bytes);
  if (!found) return;
  MEMSTAT_FUZZ_REQUIRE(found->offsets < found->relative_base && found->relative_base < found->count &&
                       found->count < found->names && found->names < found->tokens && found->tokens < found->index &&
                       found->index + 512 <= bytes.size());
}
