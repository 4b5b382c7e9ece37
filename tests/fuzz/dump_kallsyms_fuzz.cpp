// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as a kernel's table of symbols: 512 of the index, 2048 of the tokens, the names.
#include "core/postmortem/linux/kallsyms.h"
#include "tests/fuzz/fuzz_target.h"

namespace {
constexpr std::size_t kIndex = 512;
constexpr std::size_t kTokens = 2048;
}  // namespace

void memstat::fuzz(std::string_view bytes) {
  const std::string_view index = bytes.substr(0, kIndex);
  const std::string_view tokens = bytes.substr(index.size(), kTokens);
  const postmortem::SymbolNames names(bytes.substr(index.size() + tokens.size()), tokens, index);
  std::uint32_t next = 0;
  const auto walked = names.for_each(1000, [&](std::uint32_t number, std::string_view name) {
    MEMSTAT_FUZZ_REQUIRE(number == next++ && name.size() <= postmortem::SymbolNames::kMaxName);
    return true;
  });
  MEMSTAT_FUZZ_REQUIRE(walked ? next == 1000 : walked.error().offset.has_value());
}
