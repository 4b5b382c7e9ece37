// SPDX-License-Identifier: BSD-2-Clause
// gzip of a page of 1200 and of 100 000 series: ours against zlib at level 1 and 6. The pages have the names and figures of
// captured slab caches, as often as it takes. Figure: zlib 1 / ours, time, at least 2.5; bytes are counters.
#include <benchmark/benchmark.h>
#include <zlib.h>

#include <array>
#include <cstdlib>
#include <string>

#include "core/capture/archive.h"
#include "core/query.h"
#include "daemon/serve/gzip.h"

namespace memstat {
namespace {

constexpr std::array kMetrics = {"memstat_type_bytes", "memstat_type_objects", "memstat_type_held_bytes",
                                 "memstat_type_free_objects", "memstat_type_object_footprint_bytes"};
constexpr std::array kFigures = {Field::kBytes, Field::kCount, Field::kHeldBytes, Field::kFree, Field::kRSize};

/// A text page of about that number of series.
std::string make_page(std::size_t series) {
  SourceReader reader(*find_source("linux_slabinfo"));
  auto capture = open_capture(MEMSTAT_SOURCE_DIR "/tests/fixtures/captures/linux-6.12-4cpu.tar.zst");
  MemoryTypeList list;
  if (!capture || !read_source(reader, **capture) || !commit_source(reader, list, 1)) std::abort();
  const std::size_t copies = (series + list.size() * kMetrics.size() - 1) / (list.size() * kMetrics.size());
  std::string page;
  for (std::size_t metric = 0; metric < kMetrics.size(); ++metric) {
    page.append("# HELP ").append(kMetrics[metric]).append(" As the kernel counts.\n");
    page.append("# TYPE ").append(kMetrics[metric]).append(" gauge\n");
    for (std::size_t copy = 0; copy < copies; ++copy) {
      for (const MemoryType* type = list.first(); type != nullptr; type = type->next()) {
        page.append(kMetrics[metric]).append("{allocator=\"slab\",type=\"").append(type->name());
        if (copy != 0) page.append(":").append(std::to_string(copy));
        // An odd factor makes the copies' figures different, like those of real types.
        page.append("\"} ").append(std::to_string(type->figure(kFigures[metric]) * (2 * copy + 1))).append("\n");
      }
    }
  }
  return page;
}

const std::string& page(std::int64_t series) {
  static const std::string small = make_page(1200);
  static const std::string large = make_page(100'000);
  return series > 10'000 ? large : small;
}

void report(benchmark::State& state, std::size_t in, std::size_t out) {
  state.counters["in"] = static_cast<double>(in);
  state.counters["out"] = static_cast<double>(out);
}

void ours(benchmark::State& state) {
  const std::string& text = page(state.range(0));
  GzipCompressor gzip;
  Buffer out;
  for (auto unused : state) {
    if (!gzip.compress(std::array{std::string_view(text)}, out)) state.SkipWithError("built without gzip");
    benchmark::DoNotOptimize(out.data());
  }
  report(state, text.size(), out.size());
}
BENCHMARK(ours)->Arg(1200)->Arg(100'000)->Unit(benchmark::kMicrosecond);

void zlib(benchmark::State& state) {
  const std::string& text = page(state.range(0));
  z_stream stream{};
  if (deflateInit2(&stream, static_cast<int>(state.range(1)), Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    std::abort();
  Buffer out;
  out.resize(deflateBound(&stream, static_cast<uLong>(text.size())));
  for (auto unused : state) {
    deflateReset(&stream);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    if (deflate(&stream, Z_FINISH) != Z_STREAM_END) state.SkipWithError("zlib failed");
  }
  report(state, text.size(), out.size() - stream.avail_out);
  deflateEnd(&stream);
}
BENCHMARK(zlib)->ArgsProduct({{1200, 100'000}, {1, 6}})->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace memstat

BENCHMARK_MAIN();
