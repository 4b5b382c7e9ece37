// SPDX-License-Identifier: BSD-2-Clause
// For fuzzers of sources that read sysctls together and are not rosters.
#pragma once

#include <string_view>

#include "core/collect/sysctl_list.h"
#include "tests/fuzz/fuzz_source.h"

namespace memstat {

/// Commits any bytes as the bundle, then their lines "NAME CONTENT" as a complete bundle, which a fuzzer rarely guesses.
inline void fuzz_listed_sysctls(std::string_view source, std::string_view bytes, void (*commit)(SourceReader&)) {
  SourceReader reader(*find_source(source));
  reader.raw.page_size = 4096;
  reader.raw.parts[0].assign(bytes);
  commit(reader);
  Buffer scratch;
  FileBundleWriter bundle(reader.raw.parts[0], scratch);
  std::string_view line;
  while (next_line(bytes, line)) {
    std::string_view name;
    if (next_word(line, name)) static_cast<void>(bundle.add(name, line.substr(std::min<std::size_t>(line.size(), 1))));
  }
  static_cast<void>(bundle.add(kEndOfListedSysctls, {}));
  commit(reader);
}

}  // namespace memstat
