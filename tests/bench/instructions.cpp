// SPDX-License-Identifier: BSD-2-Clause
// The program whose instructions tests/bench/instructions.py counts: N times the same step of the daemon, on a capture in a
// directory, without socket, timer and real clock. `poll` is a whole poll with the page; `scrape` creates the answer to
// GET /metrics. Usage: instructions poll|scrape DIRECTORY N
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/capture/archive.h"
#include "daemon/poll/poller.h"
#include "daemon/serve/endpoints.h"
#include "tests/support/manual_clock.h"
#include "tests/support/prepared_kernel_view.h"

namespace memstat {
namespace {

constexpr int kWarmUp = 6;  // polls until every arena has its size

/// The bytes of the first poll, so that reading them is a copy, without a system call.
std::shared_ptr<PreparedKernelView> prepare(const char* directory) {
  auto capture = open_capture(directory);
  if (!capture) {
    std::fprintf(stderr, "%s\n", to_string(capture.error()).c_str());
    return nullptr;
  }
  auto view = std::make_shared<PreparedKernelView>((*capture)->os(), (*capture)->cpu_count(), (*capture)->page_size());
  std::vector<std::string> names = {"/proc/slabinfo",       "kern.malloc_stats",    "kern.malloc_count",
                                    "kern.smp.maxcpus",     "vm.zone_stats",        "vm.zone_count",
                                    "vm.malloc.zone_sizes", "vm.malloc.zone_count", "kern.smp.maxid"};
  std::vector<std::string> caches;
  if ((*capture)->list_directory("/sys/kernel/slab", caches)) {
    for (const std::string& cache : caches) names.push_back("/sys/kernel/slab/" + cache + "/object_size");
  }
  view->copy_from(**capture, names);
  return view;
}

int count(const std::string& step, const char* directory, int times) {
  const std::shared_ptr<PreparedKernelView> view = prepare(directory);
  if (view == nullptr) return 1;
  ManualClock clock;
  SelfMetrics metrics("count");
  SnapshotPool pool;
  const Config config;
  Poller poller(view, clock, metrics, pool, config, {});
  poller.open_sources();
  const auto poll = [&] {
    clock.advance(std::chrono::seconds(10));
    return poller.poll(clock.monotonic_ns()) && !page_of(*pool.current(), kFallbackFormat).empty();
  };
  bool is_good = true;
  for (int i = 0; i < kWarmUp; ++i) is_good = poll() && is_good;
  if (step == "poll") {
    for (int i = 0; i < times; ++i) is_good = poll() && is_good;
  } else {
    Pages pages(pool, metrics, poller, clock, {});
    HttpRequest request;
    request.method = "GET";
    request.path = "/metrics";
    request.host = "localhost";
    for (int i = 0; i < times; ++i) is_good = pages.respond(request).status == 200 && is_good;
  }
  return is_good ? 0 : 1;
}

}  // namespace
}  // namespace memstat

int main(int argc, char** argv) {
  if (argc != 4 || (std::string(argv[1]) != "poll" && std::string(argv[1]) != "scrape")) {
    std::fprintf(stderr, "usage: instructions poll|scrape DIRECTORY N\n");
    return 2;
  }
  return memstat::count(argv[1], argv[2], std::atoi(argv[3]));
}
