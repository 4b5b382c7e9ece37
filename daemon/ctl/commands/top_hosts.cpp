// SPDX-License-Identifier: BSD-2-Clause
// Full-screen view of many hosts.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <future>
#include <thread>

#include "core/base/clock.h"
#include "core/base/thread_name.h"
#include "daemon/ctl/commands/reports.h"
#include "daemon/ctl/source/http_client.h"
#include "daemon/ctl/top/host_model.h"
#if defined(MEMSTAT_HAVE_TOP)
#include "daemon/ctl/top/screen.h"
#endif

namespace memstat::ctl {
namespace {

#if defined(MEMSTAT_HAVE_TOP)
/// Draws what a model shows, and asks for reports on another thread: a server may hang, and keys are answered meanwhile.
class HostScreen {
 public:
  HostScreen(const CommandLine& options, std::chrono::nanoseconds interval)
      : options_(options),
        interval_(interval),
        model_(options.hosts.size() == 1 ? options.hosts.front() : std::string(), interval),
        next_(system_clock().now()) {
    hide_waiting();
  }

  [[nodiscard]] const std::string& problem() const { return screen_.problem(); }

  /// Returns the signal that ended it; 0 for a key or SIGINT.
  int run() {
    while (true) {
      ask_if_due();
      screen_.draw(model_.frame(screen_.width(), screen_.height()));
      const ScreenEvent event = screen_.wait(milliseconds_left(), -1);
      if (event.kind == ScreenEvent::Kind::kClosed) return SIGHUP;
      if (event.kind == ScreenEvent::Kind::kSignal) return event.signal == SIGINT ? 0 : event.signal;
      if (event.kind == ScreenEvent::Kind::kResized) next_ = system_clock().now();
      if (event.kind != ScreenEvent::Kind::kKey) continue;
      const TopAction action = model_.press(event.key);
      if (action == TopAction::kQuit) return 0;
      if (action == TopAction::kRead) next_ = system_clock().now();
    }
  }

 private:
  void ask_if_due() {
    using std::chrono::seconds;
    const TimePoint now = system_clock().now();
    if (pending_.valid() && pending_.wait_for(seconds(0)) == std::future_status::ready) model_.set_report(pending_.get());
    if (!pending_.valid() && now >= next_ && !model_.is_paused()) {
      next_ = now + interval_;
      asked_ = now;
      CommandLine options = options_;
      options.view = model_.view(options_.view, screen_.width());
      start(std::move(options));
    }
    model_.set_waiting(pending_.valid() ? std::chrono::floor<seconds>(now - asked_).count() : 0);
  }
  /// Nobody waits for the thread at the end: a server may take long.
  void start(CommandLine options) {
    std::packaged_task<Report()> task([options = std::move(options)] { return hosts_report(options); });
    pending_ = task.get_future();
    const SignalsBlocked blocked;  // they are for the main thread
    std::thread(std::move(task)).detach();
  }
  [[nodiscard]] int milliseconds_left() const {
    if (pending_.valid()) return 100;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_ - system_clock().now()).count();
    return static_cast<int>(model_.is_paused() ? 1000 : std::clamp<std::int64_t>(left, 0, 86'400'000));
  }

  TopScreen screen_;
  const CommandLine& options_;
  const std::chrono::nanoseconds interval_;
  HostModel model_;
  TimePoint next_;
  TimePoint asked_{};
  std::future<Report> pending_;
};
#endif

}  // namespace

Report top_of_hosts(const CommandLine& options) {
  const bool has_screen = ::isatty(STDOUT_FILENO) == 1 && ::isatty(STDIN_FILENO) == 1 && !options.count;
#if defined(MEMSTAT_HAVE_TOP)
  constexpr std::int64_t kUsualIntervalNs = 10'000'000'000;
  if (has_screen) {
    int signal = 0;
    {
      HostScreen screen(options, std::chrono::nanoseconds(options.interval_ns.value_or(kUsualIntervalNs)));
      if (!screen.problem().empty()) return {.problem = screen.problem()};
      signal = screen.run();
    }
    let_take_effect(signal);
    return {};
  }
#else
  if (has_screen) std::fputs(kNoScreen, stderr);
#endif
  return hosts_report(options);
}

}  // namespace memstat::ctl
