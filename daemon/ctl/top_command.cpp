// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/top_command.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <utility>

#include "core/base/clock.h"
#include "daemon/ctl/report_source.h"
#include "daemon/ctl/top_model.h"
#if defined(MEMSTAT_HAVE_TOP)
#include "daemon/ctl/top_screen.h"
#endif

namespace memstat::ctl {
namespace {

/// Samples of a source, one after the other: of a capture its polls.
class Sampler {
 public:
  Sampler(ReportSource& source, std::size_t first_poll)
      : source_(source), poll_count_(source.poll_count()), next_poll_(std::min(first_poll, poll_count_)) {}

  [[nodiscard]] std::size_t poll_count() const { return poll_count_; }
  /// Whether there will be nothing new: the capture is at its end.
  [[nodiscard]] bool is_at_end() const { return poll_count_ != 0 && next_poll_ == poll_count_; }

  void read_into(TopModel& model) {
    TopModel::Heading heading{.machine = {}, .replay_position = {}};
    if (poll_count_ != 0) {
      if (is_at_end()) return;
      Sample failed;
      if (failed.problem = source_.select_poll(next_poll_); !failed.problem.empty()) {
        next_poll_ = poll_count_;
        return model.add(std::move(failed), std::move(heading));
      }
      ++next_poll_;
      heading.replay_position = "poll " + std::to_string(next_poll_) + " of " + std::to_string(poll_count_);
    }
    Sample sample = source_.read();
    heading.machine = source_.machine();
    is_failed_ = sample.types.empty() && !sample.problem.empty();
    problem_ = sample.problem;
    model.add(std::move(sample), std::move(heading));
    if (is_first_ && !is_failed_) {
      constexpr unsigned kSeconds = 3600;
      model.seed(source_.history(kSeconds, TopModel::kTrendSamples));
      is_first_ = false;
    }
    if (model.shows_splits() && model.selected() != nullptr) model.set_splits(source_.splits(*model.selected()));
  }
  void read_splits(TopModel& model) {
    if (model.selected() != nullptr) model.set_splits(source_.splits(*model.selected()));
  }

  [[nodiscard]] bool is_failed() const { return is_failed_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  ReportSource& source_;
  std::size_t poll_count_;
  std::size_t next_poll_;
  bool is_first_ = true;
  bool is_failed_ = false;
  std::string problem_;
};

std::int64_t interval_of(const CommandLine& options) { return options.interval_ns.value_or(1'000'000'000); }

/// A sample as lines without the keys.
std::string plain_text(TopModel& model) {
  constexpr std::size_t kLineWidth = 100;
  constexpr std::size_t kManyLines = 100'000;
  std::string text;
  std::vector<TopLine> lines = model.frame(kLineWidth, kManyLines, true);
  lines.pop_back();  // the keys
  while (!lines.empty() && lines.back().text.empty()) lines.pop_back();
  for (const TopLine& line : lines) {
    text += line.text.substr(0, line.text.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

/// Without --count, as many samples as give a growth: two, or all polls of a capture, of which the last is printed.
Report plain_top(const CommandLine& options, Sampler& sampler, TopModel& model) {
  const std::size_t usual = sampler.poll_count() == 0 ? 2 : sampler.poll_count();
  const std::uint64_t count = options.count.value_or(usual);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i != 0 && sampler.poll_count() == 0) ::poll(nullptr, 0, static_cast<int>(interval_of(options) / 1'000'000));
    sampler.read_into(model);
    if (sampler.is_failed()) return {.output = {}, .problem = sampler.problem()};
    const bool is_last = i + 1 == count || sampler.is_at_end();
    if (is_last) break;
    if (options.count && print(plain_text(model) + "\n") != kExitDone) return {.output = {}, .problem = sampler.problem()};
  }
  return {.output = plain_text(model), .problem = sampler.problem()};
}

#if defined(MEMSTAT_HAVE_TOP)
/// The signal that ended it; 0: a key did, or SIGINT.
int full_screen(const CommandLine& options, Sampler& sampler, TopModel& model, std::string& problem) {
  TopScreen screen;
  if (problem = screen.problem(); !problem.empty()) return 0;
  const auto interval = std::chrono::nanoseconds(interval_of(options));
  TimePoint next = system_clock().now() + interval;
  while (true) {
    screen.draw(model.frame(screen.width(), screen.height(), screen.is_utf8()));
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - system_clock().now()).count();
    const ScreenEvent event = screen.wait(static_cast<int>(std::max<std::int64_t>(left, 0)));
    switch (event.kind) {
      case ScreenEvent::Kind::kClosed: return SIGHUP;
      case ScreenEvent::Kind::kSignal: return event.signal == SIGINT ? 0 : event.signal;
      case ScreenEvent::Kind::kKey: {
        const TopAction action = model.press(event.key);
        if (action == TopAction::kQuit) return 0;
        if (action == TopAction::kReadSplits) sampler.read_splits(model);
        break;
      }
      case ScreenEvent::Kind::kResized:
      case ScreenEvent::Kind::kTime: break;
    }
    if (system_clock().now() < next) continue;
    sampler.read_into(model);
    next = std::max(next + interval, system_clock().now());  // what was missed is not caught up with
  }
}
#endif

}  // namespace

Report run_top(const CommandLine& options, std::size_t first_poll) {
  const OpenedSource opened = open_source(options.from);
  if (opened.source == nullptr) return {.output = {}, .problem = opened.problem};
  Sampler sampler(*opened.source, first_poll);
  TopModel model;
  const bool is_terminal = ::isatty(STDOUT_FILENO) == 1 && ::isatty(STDIN_FILENO) == 1;
  if (!is_terminal || options.count) return plain_top(options, sampler, model);
#if defined(MEMSTAT_HAVE_TOP)
  sampler.read_into(model);
  if (sampler.is_failed()) return {.output = {}, .problem = sampler.problem()};
  std::string problem;
  const int signal = full_screen(options, sampler, model, problem);
  if (signal != 0) {  // the terminal is as it was: now the signal may do what it does
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  return {.output = {}, .problem = problem};
#else
  std::fprintf(stderr, "memstatctl: built without ncursesw, which the full screen needs; this is plain output\n");
  return plain_top(options, sampler, model);
#endif
}

}  // namespace memstat::ctl
