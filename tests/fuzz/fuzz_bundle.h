// SPDX-License-Identifier: BSD-2-Clause
// What the fuzzers of sources do that read some files together.
#pragma once

#include <string_view>

#include "core/kernel/listed_files.h"
#include "core/kernel/listed_sysctls.h"
#include "tests/fuzz/fuzz_source.h"

namespace memstat {

/// Parses and commits any bytes as the bundle, then as each file that the source's origin names, whole bundles both. A
/// fuzzer hardly guesses a bundle: a line "/PATH" in the bytes begins another file of it, and what stands before the first
/// such line is the content of all files.
inline void fuzz_bundle(std::string_view source, std::string_view bytes) {
  SourceReader reader(*find_source(source));
  reader.raw.page_size = 4096;
  reader.raw.parts[0].assign(bytes);
  fuzz_commit(reader);
  const std::size_t common = std::min(bytes.find("\n/"), bytes.size() - 1) + 1;
  Buffer scratch;
  FileBundleWriter bundle(reader.raw.parts[0], scratch);
  const auto add = [&](std::string_view path, std::string_view content) {
    if (!path.empty()) static_cast<void>(bundle.add(path, content));
  };
  std::string_view paths = reader.descriptor->origin;
  while (common != 0 && !paths.empty()) {
    const std::size_t comma = std::min(paths.find(", "), paths.size());
    add(paths.substr(0, comma), bytes.substr(0, common));
    paths.remove_prefix(std::min(comma + 2, paths.size()));
  }
  std::string_view rest = bytes.substr(common);
  std::string_view path;
  while (next_line(rest, path)) {
    const std::size_t end = std::min(rest.find("\n/"), rest.size() - 1) + 1;
    add(path, rest.substr(0, end));
    rest.remove_prefix(end);
  }
  add(kEndOfListedFiles, "\n");
  reader.raw.parts[3].assign(bytes);
  fuzz_commit(reader);
}

/// Makes a bundle of lines "NAME CONTENT", which a fuzzer hardly guesses, whole by its last record. `keeps_space`: whether
/// the space before the content is part of it.
inline void bundle_lines(std::string_view bytes, bool keeps_space, std::string_view end, std::string_view end_content,
                         SourceReader& reader) {
  Buffer scratch;
  FileBundleWriter bundle(reader.raw.parts[0], scratch);
  std::string_view line;
  while (next_line(bytes, line)) {
    std::string_view name;
    if (!next_word(line, name)) continue;
    static_cast<void>(bundle.add(name, keeps_space ? line : line.substr(std::min<std::size_t>(line.size(), 1))));
  }
  static_cast<void>(bundle.add(end, end_content));
}

/// Commits any bytes as the bundle, then the bundle of files that their lines make.
inline void fuzz_listed_files(std::string_view source, std::string_view bytes) {
  SourceReader reader(*find_source(source));
  reader.raw.page_size = 4096;
  reader.raw.parts[0].assign(bytes);
  fuzz_commit(reader);
  bundle_lines(bytes, true, kEndOfListedFiles, "\n", reader);
  fuzz_commit(reader);
}

/// The same of sysctls. `commit`: fuzz_commit, or what takes its place for a source that is no roster.
inline void fuzz_listed_sysctls(std::string_view source, std::string_view bytes,
                                void (*commit)(SourceReader&) = fuzz_commit) {
  SourceReader reader(*find_source(source));
  reader.raw.page_size = 4096;
  reader.raw.parts[0].assign(bytes);
  commit(reader);
  bundle_lines(bytes, false, kEndOfListedSysctls, {}, reader);
  commit(reader);
}

}  // namespace memstat
