// SPDX-License-Identifier: BSD-2-Clause
// Full-screen view of all memory types.
#include "daemon/ctl/commands/poll_walk.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <utility>

#include "core/base/clock.h"
#include "daemon/ctl/commands/reports.h"
#include "daemon/ctl/commands/shared_options.h"
#include "daemon/ctl/source/http_client.h"
#include "daemon/ctl/source/report_source.h"
#include "daemon/ctl/top/model.h"
#include "daemon/ctl/top/reader.h"
#if defined(MEMSTAT_HAVE_TOP)
#include "daemon/ctl/top/screen.h"
#endif

namespace memstat::ctl {
namespace {

std::int64_t interval_of(const CommandLine& options) { return options.interval_ns.value_or(1'000'000'000); }

/// The origin of the figures; "" for this machine. Without password.
std::string title_of(const CommandLine& options) {
  if (!options.from || *options.from == "live" || options.hosts.size() > 1) return {};
  if (is_prometheus(*options.from)) return "Prometheus";
  return is_url(*options.from) ? parse_url(*options.from).url.for_logs : options.from->substr(options.from->rfind('/') + 1);
}

/// A sample as lines, without the line of keys.
std::string plain_text(TopModel& model) {
  constexpr std::size_t kLineWidth = 100;
  constexpr std::size_t kManyLines = 100'000;
  std::string text;
  std::vector<TopLine> lines = model.frame(kLineWidth, kManyLines, true);
  lines.pop_back();  // the line of keys
  while (!lines.empty() && lines.back().text.empty()) lines.pop_back();
  for (const TopLine& line : lines) {
    text += line.text.substr(0, line.text.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

/// Without --count, reads enough samples for growth: two, or all polls of a capture. Prints the last one.
Report plain_top(const CommandLine& options, TopReader& reader, TopModel& model) {
  const std::size_t usual = reader.poll_count() == 0 ? 2 : reader.poll_count();
  const std::uint64_t count = options.count.value_or(usual);
  std::string problem;
  std::vector<std::string> missing;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i != 0 && reader.poll_count() == 0) ::poll(nullptr, 0, static_cast<int>(interval_of(options) / 1'000'000));
    TopReading reading = reader.read({.wants_sample = true});
    if (!reading.sample) break;
    problem = reading.sample->problem;
    missing = reading.sample->missing;
    if (reading.sample->is_failed()) return {.problem = problem};
    apply(std::move(reading), model);
    if (i + 1 == count || reader.is_at_end()) break;
    if (options.count && print(plain_text(model) + "\n") != kExitDone) return {.problem = problem};
  }
  return {.output = plain_text(model), .problem = problem, .missing = missing};
}

#if defined(MEMSTAT_HAVE_TOP)
/// A full screen that waits for keys, signals and read results.
class FullScreen {
 public:
  FullScreen(const CommandLine& options, TopReader& reader, TopModel& model)
      : interval_(interval_of(options)), reader_(reader), model_(model), next_(system_clock().now() + interval_) {
    model_.set_interval(interval_);
    hide_waiting();
  }

  [[nodiscard]] const std::string& problem() const { return screen_.problem(); }

  /// Returns the signal that ended it; 0 for a key or SIGINT.
  int run() {
    while (true) {
      read_what_is_due();
      screen_.draw(model_.frame(screen_.width(), screen_.height(), screen_.is_utf8()));
      const ScreenEvent event = screen_.wait(milliseconds_left(), reader_.wake_fd());
      if (event.kind == ScreenEvent::Kind::kClosed) return SIGHUP;
      if (event.kind == ScreenEvent::Kind::kSignal) return event.signal == SIGINT ? 0 : event.signal;
      if (event.kind != ScreenEvent::Kind::kKey) continue;
      const TopAction action = model_.press(event.key);
      if (action == TopAction::kQuit) return 0;
      if (action == TopAction::kReadSplits) wants_splits_ = true;
      if (action == TopAction::kFaster || action == TopAction::kSlower) change_interval(action == TopAction::kSlower);
    }
  }

 private:
  /// Selects the next longer or shorter of the usual intervals.
  void change_interval(bool is_slower) {
    using std::chrono::milliseconds;
    constexpr std::array kIntervals{milliseconds(250),  milliseconds(500),    milliseconds(1000),   milliseconds(2000),
                                    milliseconds(5000), milliseconds(10'000), milliseconds(30'000), milliseconds(60'000)};
    const std::chrono::nanoseconds before = interval_;
    for (const auto& one : kIntervals) {
      if (is_slower && one > before) {
        interval_ = one;
        break;
      }
      if (!is_slower && one < before) interval_ = one;
    }
    next_ = system_clock().now() + interval_;
    model_.set_interval(interval_);
  }

  void read_what_is_due() {
    if (auto reading = reader_.take()) apply(std::move(*reading), model_);
    const TimePoint now = system_clock().now();
    if (model_.is_paused()) next_ = now + interval_;
    if (!reader_.is_busy() && (now >= next_ || wants_splits_)) {
      TopReader::Wish wish{.wants_sample = now >= next_};
      if (const TypeRow* const type = model_.selected(); type != nullptr && model_.shows_splits()) wish.split_of = *type;
      if (wish.wants_sample) next_ = std::max(next_ + interval_, now);  // missed samples are not made up for
      wants_splits_ = false;
      asked_ = now;
      reader_.start(std::move(wish));
      if (auto reading = reader_.take()) apply(std::move(*reading), model_);
    }
    model_.set_waiting(reader_.is_busy() ? std::chrono::floor<std::chrono::seconds>(now - asked_).count() : 0);
  }
  [[nodiscard]] int milliseconds_left() const {
    constexpr std::int64_t kSecond = 1000;  // updates the time without an answer
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_ - system_clock().now()).count();
    return static_cast<int>(reader_.is_busy() ? kSecond : std::clamp<std::int64_t>(left, 0, 86'400'000));
  }

  TopScreen screen_;
  std::chrono::nanoseconds interval_;
  TopReader& reader_;
  TopModel& model_;
  TimePoint next_;
  TimePoint asked_{};
  bool wants_splits_ = false;
};
#endif

constexpr auto kTopOptions =
    joined(std::array{kKernelOption, kFromHostsOption, interval_option("Time between two samples: 1s by default"),
                      count_option("Print this number of samples as lines, instead of a full screen"),
                      flag("--hosts", "A row for each host, as the command hosts", store<&CommandLine::is_of_fleet>)},
           kServerOptions);

Report run_top(const CommandLine& options) {
  if (options.is_of_fleet) return top_of_hosts(options);
  OpenedSource opened = options.hosts.size() > 1 ? open_fleet(options.hosts) : open_source(options.from, options.server);
  if (opened.source == nullptr) return {.problem = opened.problem};
  const std::size_t polls = opened.source->poll_count();
  const std::size_t first_poll = options.server.at && polls != 0 ? polls - 1 : first_poll_of(options.from);
  TopReader reader(std::move(opened.source), first_poll, title_of(options));
  TopModel model;
  const bool is_terminal = ::isatty(STDOUT_FILENO) == 1 && ::isatty(STDIN_FILENO) == 1;
  if (!is_terminal || options.count) {
    model.unfold_all();
    return plain_top(options, reader, model);
  }
#if defined(MEMSTAT_HAVE_TOP)
  TopReading first = reader.read({.wants_sample = true});
  if (first.sample && first.sample->is_failed()) return {.problem = first.sample->problem};
  apply(std::move(first), model);
  int signal = 0;
  {
    FullScreen screen(options, reader, model);
    if (!screen.problem().empty()) return {.problem = screen.problem()};
    signal = screen.run();
  }
  let_take_effect(signal);
  return {};
#else
  std::fputs(kNoScreen, stderr);
  return plain_top(options, reader, model);
#endif
}

}  // namespace

const Command kTopCommand{"top",
                          Group::kLook,
                          "Full-screen view of all memory types, refreshed at an interval",
                          "memstatctl top\n"
                          "memstatctl top --interval 5s --from http://127.0.0.1:8947\n"
                          "memstatctl top --from http://db1:8947 --from http://db2:8947\n"
                          "memstatctl top --count 1 --from bug.tar.zst",
                          kTopOptions,
                          run_top};

}  // namespace memstat::ctl
