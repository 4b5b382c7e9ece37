// SPDX-License-Identifier: BSD-2-Clause
// The daemon without its process, sockets and timer: a Poller on a fake kernel, polled by hand.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/poll/poller.h"
#include "tests/support/fake_kernel_view.h"
#include "tests/support/manual_clock.h"
#include "tests/support/page.h"
#include "tests/support/stream_builder.h"

namespace memstat {

inline constexpr std::string_view kSlabinfo = "/proc/slabinfo";
inline constexpr std::string_view kMallocStats = "kern.malloc_stats";
inline constexpr std::string_view kZoneStats = "vm.zone_stats";

/// The text of /proc/slabinfo with these caches, each with N active objects of 64 B.
inline std::string slabinfo(std::initializer_list<std::pair<std::string_view, std::uint64_t>> caches) {
  std::string text = slabinfo_header();
  for (const auto& [name, active] : caches) text += slabinfo_line(name, active, active + 10, 64, 1, 4);
  return text;
}

/// The fake kernel has no events of its own and passes a source's table on, so by default memstatd would attach to this
/// machine's events. Its reads return at once, but a busy machine may run their thread late, so a timeout is set only by
/// tests that need one.
inline Config of_fake_kernel(Config config) {
  if (config.events_mode == EventsMode::kFailures) config.events_mode = EventsMode::kOff;
  if (config.poll.timeout == Config{}.poll.timeout) config.poll.timeout = std::chrono::hours(1);
  return config;
}

/// Thread safety: as for its parts.
struct PolledDaemon {
  /// `sources`: those of this build if empty.
  explicit PolledDaemon(OperatingSystem os, Config of = {}, bool everything = false,
                        std::span<const SourceDescriptor* const> sources = all_sources(), bool is_replay = false)
      : config(of_fake_kernel(std::move(of))), view(std::make_shared<FakeKernelView>(os, 2)) {
    poller = std::make_unique<Poller>(
        view, clock, metrics, pool, config,
        Poller::Options{.is_replay = is_replay,
                        .everything = everything,
                        .log = [this](LogLevel level, std::string_view text) { log.emplace_back(level, std::string(text)); },
                        .sources = sources});
  }

  bool poll(std::chrono::nanoseconds after = std::chrono::seconds(10)) {
    clock.advance(after);
    return poller->poll(clock.monotonic_ns());
  }
  [[nodiscard]] std::string page() const {
    const auto snapshot = pool.current();
    return snapshot == nullptr ? std::string() : std::string(page_of(*snapshot, kFallbackFormat));
  }
  [[nodiscard]] std::optional<std::string> own(std::string_view series) const { return value_of(metrics.text(), series); }
  [[nodiscard]] SourceStatus status(std::string_view source) const {
    for (const SourceStatus& one : poller->statuses()) {
      if (one.name == source) return one;
    }
    return {};
  }
  /// Lines of the log of that level so far.
  [[nodiscard]] std::vector<std::string> logged(LogLevel level) const {
    std::vector<std::string> lines;
    for (const auto& [of, text] : log) {
      if (of == level) lines.push_back(text);
    }
    return lines;
  }

  ManualClock clock;
  SelfMetrics metrics{"1.2.3"};
  SnapshotPool pool;
  Config config;
  std::vector<std::pair<LogLevel, std::string>> log;
  std::shared_ptr<FakeKernelView> view;
  std::unique_ptr<Poller> poller;
};

}  // namespace memstat
