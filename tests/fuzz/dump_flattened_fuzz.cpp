// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as the heads of the pieces of a flattened dump.
#include <cstdint>

#include "core/postmortem/container/flattened.h"
#include "tests/fuzz/dump_seeds.h"
#include "tests/fuzz/fuzz_source.h"

extern "C" int LLVMFuzzerInitialize(int* /*count*/, char*** /*arguments*/) {
  memstat::write_dump_seeds([](const memstat::FakeLinuxDump& dump) { return dump.elf().substr(0, 0x100); });
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using memstat::postmortem::FlatPiece;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (std::uint64_t at = 0;; at += FlatPiece::kBytes) {
    const auto piece = memstat::postmortem::parse_flat_piece(bytes, "fuzzed", at);
    if (!piece) {
      MEMSTAT_FUZZ_REQUIRE(piece.error().offset == at && !piece.error().detail.empty());
      return 0;
    }
    if (!*piece) return 0;
    MEMSTAT_FUZZ_REQUIRE((*piece)->offset <= FlatPiece::kMaxOffset && (*piece)->size <= FlatPiece::kMaxOffset);
    bytes.remove_prefix(FlatPiece::kBytes);
  }
}
