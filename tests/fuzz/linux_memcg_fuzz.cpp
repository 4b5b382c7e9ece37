// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as what was read of all control groups, as each file of one group, and as names and contents
// of many files, which a fuzzer would hardly guess the lengths of.
#include <algorithm>
#include <set>

#include "core/collect/file_bundle.h"
#include "tests/fuzz/fuzz_source.h"

namespace {

using namespace memstat;

// A bundle may well name no group, so this is not fuzz_commit.
void commit(std::string_view bundle) {
  SourceReader reader(*find_source("linux_memcg"));
  reader.raw.parts[0].assign(bundle);
  MemoryTypeList list;
  const Result<void> first = commit_source(reader, list, 1);
  if (!first) {
    require_typed(first.error(), reader);
    MEMSTAT_FUZZ_REQUIRE(list.size() == 0);
    return;
  }
  MEMSTAT_FUZZ_REQUIRE(list.size() == reader.staging.types().size());
  const std::uint64_t sum = require_sane(list, *reader.descriptor);
  // No two series with the same labels.
  std::set<std::pair<const SystemMetric*, std::string>> series;
  const StagedStatistics& statistics = reader.staging.statistics();
  for (const StagedStatistics::Entry& entry : statistics.entries()) {
    std::string labels;
    for (std::size_t i = 0; i < entry.metric->label_names().size(); ++i) {
      MEMSTAT_FUZZ_REQUIRE(is_valid_label_text(statistics.label(entry, i)));
      labels += std::string(statistics.label(entry, i)) + '\0';
    }
    MEMSTAT_FUZZ_REQUIRE(series.emplace(entry.metric, labels).second);
  }
  MEMSTAT_FUZZ_REQUIRE(commit_source(reader, list, 2).has_value());
  MEMSTAT_FUZZ_REQUIRE(require_sane(list, *reader.descriptor) == sum);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
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
  return 0;
}
