// SPDX-License-Identifier: BSD-2-Clause
// The cost of reading a slab cache's files while its list of partial slabs is short, and while it is long: the constant-time
// files that linux_slab_sysfs reads must cost the same; those that walk the list cost more, as does /proc/slabinfo. Also one
// read of everything that the source reads. Prints JSON: the quickest of many reads, in ns. Needs root, and 4 KiB of memory
// a slab. Usage: partial_slabs_bench [SLABS], 100000 by default.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "core/query.h"
#include "tests/support/partial_slabs.h"

namespace memstat {
namespace {

constexpr const char* kFiles[] = {"slabs", "total_objects", "partial", "cpu_slabs", "objects", "objects_partial"};

long long quickest_ns(int repetitions, const std::function<bool()>& step) {
  auto quickest = std::chrono::nanoseconds::max();
  for (int i = 0; i < repetitions; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    if (!step()) return 0;
    quickest = std::min(quickest, std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin));
  }
  return quickest.count();
}

void measure(KernelView& view, SourceReader& reader, const std::string& cache) {
  Buffer text;
  std::printf("{");
  for (const char* file : kFiles) {
    const std::string path = "/sys/kernel/slab/" + cache + "/" + file;
    std::printf("\"%s\": %lld, ", file, quickest_ns(100, [&] { return static_cast<bool>(view.read_file(path, text)); }));
  }
  std::printf("\"slabinfo\": %lld, ",
              quickest_ns(20, [&] { return static_cast<bool>(view.read_file("/proc/slabinfo", text)); }));
  std::printf("\"source\": %lld}", quickest_ns(20, [&] { return static_cast<bool>(read_source(reader, view)); }));
}

int run(std::size_t slabs) {
  auto view = make_live_kernel_view();
  SourceReader reader(*find_source("linux_slab_sysfs"));
  if (!view || !open_source(reader, **view)) {
    std::fprintf(stderr, "partial_slabs_bench: needs root on Linux\n");
    return 1;
  }
  Buffer text;
  const auto cache = std::find_if(std::begin(kMessageCaches), std::end(kMessageCaches), [&](const char* name) {
    return (*view)->read_file("/sys/kernel/slab/" + std::string(name) + "/slabs", text).has_value();
  });
  if (cache == std::end(kMessageCaches)) return 1;
  std::printf("{\"slabs\": %zu, \"short\": ", slabs);
  measure(**view, reader, *cache);
  PartialSlabs partial;
  if (!partial.make(slabs)) {
    std::fprintf(stderr, "partial_slabs_bench: this system does not allow that many messages\n");
    return 1;
  }
  std::printf(", \"long\": ");
  measure(**view, reader, *cache);
  std::printf("}\n");
  return 0;
}

}  // namespace
}  // namespace memstat

int main(int argc, char** argv) { return memstat::run(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100'000); }
