// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as the files of the areas.
#include "core/kernel/listed_files.h"
#include "tests/fuzz/fuzz_source.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace memstat;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  SourceReader reader(*find_source("linux_cma"));
  reader.raw.page_size = 4096;
  reader.raw.parts[0].assign(bytes);
  fuzz_commit(reader);
  // A fuzzer hardly guesses a bundle: lines "NAME CONTENT" make one that is whole.
  Buffer scratch;
  FileBundleWriter bundle(reader.raw.parts[0], scratch);
  std::string_view rest = bytes;
  std::string_view line;
  while (next_line(rest, line)) {
    std::string_view name;
    if (next_word(line, name)) static_cast<void>(bundle.add(name, line));
  }
  static_cast<void>(bundle.add(kEndOfListedFiles, "\n"));
  fuzz_commit(reader);
  return 0;
}
