// SPDX-License-Identifier: BSD-2-Clause
// Resident memory by series, at 100 000 of them: the list with its slots, snapshots and text pages, and what each further
// format or coding adds. Ten polls each. Prints one JSON object of bytes a series. Figure: snapshots and pages with one
// format in use, at most 200; two snapshots are in use if no reader is slow.
#include <cstdio>
#include <deque>
#include <memory>
#include <utility>

#include "core/kernel/kernel_view.h"
#include "daemon/exposition/exposition.h"
#include "daemon/serve/page_cache.h"
#include "tests/bench/many_types.h"

namespace {

using namespace memstat;

constexpr std::size_t kTypes = 11'112;  // nine series each
constexpr int kPolls = 10;

class Bench {
 public:
  void run() {
    const std::uint64_t nothing = resident();
    data_ = std::make_unique<ManyTypes>(kTypes);
    if (Snapshot labels; true) data_->build(labels);  // label texts are kept with the types
    const std::uint64_t list = resident();
    polls(0, nullptr);
    const std::uint64_t text = resident();
    polls(0, [&] { scrape(ExpositionFormat::kText, ContentCoding::kGzip); });
    const std::uint64_t gzip = resident();
    polls(0, [&] { scrape(ExpositionFormat::kOpenMetrics, ContentCoding::kIdentity); });
    const std::uint64_t openmetrics = resident();
    polls(0, [&] { scrape(ExpositionFormat::kProtobuf, ContentCoding::kIdentity); });
    const std::uint64_t protobuf = resident();
    polls(SnapshotPool::kSize - 1, nullptr);
    const std::uint64_t slow = resident();
    polls(0, nullptr);
    const std::uint64_t after = resident();
    std::printf(
        "{\"series\": %zu, \"list\": %.1f, \"text\": %.1f, \"one_format\": %.1f, \"gzip\": %.1f, "
        "\"openmetrics\": %.1f, \"protobuf\": %.1f, \"slow_readers\": %.1f, \"after_slow_readers\": %.1f}\n",
        series_, each(nothing, list), each(list, text), each(nothing, text), each(text, gzip), each(gzip, openmetrics),
        each(openmetrics, protobuf), each(protobuf, slow), each(slow, after));
  }

 private:
  std::uint64_t resident() { return meter_->read().resident_bytes; }
  [[nodiscard]] double each(std::uint64_t before, std::uint64_t after) const {
    return (static_cast<double>(after) - static_cast<double>(before)) / static_cast<double>(series_);
  }
  void scrape(ExpositionFormat format, ContentCoding coding) { last_ = cache_.page(format, coding); }

  /// `held`: the number of older snapshots that slow readers hold.
  template <typename Scrape>
  void polls(std::size_t held, Scrape scrape) {
    std::deque<std::shared_ptr<const RenderedSnapshot>> readers;
    for (int i = 0; i < kPolls; ++i) {
      data_->poll();
      while (readers.size() > held) readers.pop_front();
      RenderedSnapshot* snapshot = pool_.free_snapshot();
      if (snapshot == nullptr) continue;
      data_->build(*snapshot);
      prepare_pages({.tier = Tier::kFull}, *snapshot);
      static_cast<void>(page_of(*snapshot, kFallbackFormat));
      series_ = snapshot->series;
      pool_.publish(snapshot);
      readers.push_back(pool_.current());
      if constexpr (requires { scrape(); }) scrape();
      last_ = {};
    }
  }

  SystemClock clock_;
  SelfMetrics metrics_{"bench"};
  SnapshotPool pool_;
  PageCache cache_{pool_, metrics_, clock_};
  std::unique_ptr<ProcessStatsReader> meter_ = make_process_stats_reader();
  std::unique_ptr<ManyTypes> data_;
  HttpResponse last_;
  std::size_t series_ = kTypes * 9;
};

}  // namespace

int main() {
  Bench().run();
  return 0;
}
