// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as what was read of all control groups, as each file of one group, and as names and contents
// of many files, whose lengths a fuzzer would rarely guess.
#include <algorithm>

#include "core/collect/file_bundle.h"
#include "tests/fuzz/fuzz_source.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace memstat;

void commit(std::string_view bundle) {
  SourceReader reader(*find_source("linux_memcg"));
  reader.raw.parts[0].assign(bundle);
  fuzz_commit(reader, true);
}

}  // namespace

void memstat::fuzz(std::string_view text) {
  commit(text);
  Buffer bundle;
  Buffer scratch;
  for (const std::string version : {"1\n", "2\n"}) {
    const bool is_version_1 = version == "1\n";
    for (const char* file : {"memory.current", "memory.max", "memory.high", "memory.events", "memory.stat",
                             "memory.usage_in_bytes", "memory.limit_in_bytes", "memory.failcnt", "memory.oom_control",
                             "memory.kmem.usage_in_bytes", "pids.current", "pids.max"}) {
      FileBundleWriter writer(bundle, scratch);
      (void)writer.add("/sys/fs/cgroup", version);
      (void)writer.add(std::string("/g/") + file, text);
      (void)writer.add("", "0\n");
      commit(bundle.view());
    }
    FileBundleWriter writer(bundle, scratch);
    (void)writer.add(is_version_1 ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup", version);
    // name NUL content NUL name NUL ...
    std::string_view rest = text;
    const auto next = [&rest] {
      const std::string_view word = rest.substr(0, rest.find('\0'));
      rest.remove_prefix(std::min(word.size() + 1, rest.size()));
      return word;
    };
    while (!rest.empty()) {
      const std::string_view name = next();
      (void)writer.add(name, next());
    }
    (void)writer.add("", "0\n");
    commit(bundle.view());
  }
}
