// SPDX-License-Identifier: BSD-2-Clause
// Decoding a real kern.malloc_stats of 21 MB (1024 CPU slots a type, nearly all zero) against a plain checksum loop over
// the same bytes. Figure: decode / checksum at most 1.5.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>

#include "core/capture/archive.h"
#include "core/query.h"

namespace memstat {
namespace {

/// The raw bytes of the malloc source, as read from the capture.
SourceReader& malloc_reader() {
  static SourceReader reader = [] {
    SourceReader fresh(*find_source("freebsd_malloc"));
    auto capture = open_capture(MEMSTAT_SOURCE_DIR "/tests/fixtures/captures/freebsd-15.0-amd64-4cpu.tar.zst");
    if (!capture || !read_source(fresh, **capture)) std::abort();
    return fresh;
  }();
  return reader;
}

void checksum(benchmark::State& state) {
  const Buffer& bytes = malloc_reader().raw.parts[0];
  for (auto unused : state) {
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      std::uint64_t word;
      std::memcpy(&word, bytes.data() + at, 8);
      sum += word;
    }
    benchmark::DoNotOptimize(sum);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytes.size()));
}
BENCHMARK(checksum);

void decode(benchmark::State& state) {
  SourceReader& reader = malloc_reader();
  for (auto unused : state) {
    if (!parse_source(reader)) state.SkipWithError("parse failed");
    benchmark::DoNotOptimize(reader.staging.types().data());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * reader.raw.parts[0].size()));
}
BENCHMARK(decode);

}  // namespace
}  // namespace memstat

BENCHMARK_MAIN();
