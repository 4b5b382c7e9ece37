// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as the sysctls that source freebsd_vm reads.
#include "core/kernel/listed_sysctls.h"
#include "tests/fuzz/fuzz_source.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace memstat;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  SourceReader reader(*find_source("freebsd_vm"));
  reader.raw.page_size = 4096;
  reader.raw.parts[0].assign(bytes);
  fuzz_commit(reader);
  // A fuzzer hardly guesses a bundle: lines "NAME BYTES" make one that is whole.
  Buffer scratch;
  FileBundleWriter bundle(reader.raw.parts[0], scratch);
  std::string_view rest = bytes;
  std::string_view line;
  while (next_line(rest, line)) {
    std::string_view name;
    if (next_word(line, name)) static_cast<void>(bundle.add(name, line.substr(std::min<std::size_t>(line.size(), 1))));
  }
  static_cast<void>(bundle.add(kEndOfListedSysctls, {}));
  fuzz_commit(reader);
  return 0;
}
