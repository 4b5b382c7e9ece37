// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as the files of processes.
#include "core/collect/file_bundle.h"
#include "tests/fuzz/fuzz_source.h"
#include "tests/fuzz/fuzz_target.h"

void memstat::fuzz(std::string_view bytes) {
  SourceReader reader(*find_source("linux_process"));
  reader.raw.page_size = 4096;
  reader.raw.parts[0].assign(bytes);
  fuzz_commit(reader);
  // A fuzzer rarely guesses a bundle: lines "COMM STATM" make a complete one. The first byte is the number of names wanted.
  reader.state->options.assign(3, {});
  reader.state->options[0].matches = [](std::string_view name) { return name.starts_with('m'); };
  reader.state->options[1].number = bytes.empty() ? 0 : static_cast<unsigned char>(bytes.front());
  Buffer scratch;
  FileBundleWriter bundle(reader.raw.parts[0], scratch);
  std::string_view rest = bytes;
  std::string_view line;
  while (next_line(rest, line)) {
    std::string_view name;
    if (!next_word(line, name)) continue;
    static_cast<void>(bundle.add("/proc/1/statm", line));
    static_cast<void>(bundle.add("/proc/1/comm", name));
  }
  static_cast<void>(bundle.add("end", "0"));
  fuzz_commit(reader);
}
