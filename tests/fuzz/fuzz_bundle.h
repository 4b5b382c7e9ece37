// SPDX-License-Identifier: BSD-2-Clause
// What the fuzzer of a source does that reads sysctls together and is no roster.
#pragma once

#include <string_view>

#include "core/collect/sysctl_list.h"
#include "tests/fuzz/fuzz_source.h"

namespace memstat {

/// Commits any bytes as the bundle, then a bundle that is whole, of their lines "NAME CONTENT", which a fuzzer hardly
/// guesses.
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
