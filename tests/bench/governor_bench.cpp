// SPDX-License-Identifier: BSD-2-Clause
// Whether the governor keeps its budget under a load of slab events on this kernel: one thread per CPU opens and closes
// event descriptors at a rate; the kernel measures the programs' time (BPF_STATS_RUN_TIME). A second here represents ten of
// the daemon's: reads every second instead of every poll of 10 s, tends every 25 ms instead of 250, and saves
// the budget of 2 s instead of 20, so windows of 6 s represent minutes.
// Prints the actual load: a machine may not be able to cause the requested events. Needs root and libbpf.
#include <benchmark/benchmark.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/base/unique_fd.h"
#include "core/events/attach/live_tables.h"

namespace memstat {
namespace {

constexpr int kSeconds = 24;
constexpr int kSettled = 12;  // seconds until it is settled
constexpr std::size_t kWindow = 6;
constexpr double kSaved = events::EventBudget::kUsualSeconds / 10;
constexpr double kTended = 0.025;

double seconds_now() { return static_cast<double>(system_clock().monotonic_ns()) / 1e9; }

/// Threads that open and close event descriptors, together `steps_a_second` times a second, or as often as possible.
class Load {
 public:
  explicit Load(double steps_a_second) {
    const unsigned cpus = std::max(1U, std::thread::hardware_concurrency());
    for (unsigned cpu = 0; cpu < cpus; ++cpu) {
      threads_.emplace_back([this, cpu, pace = steps_a_second / cpus] { run(cpu, pace); });
    }
  }
  ~Load() {
    is_over_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  [[nodiscard]] double steps() const { return static_cast<double>(steps_); }

 private:
  void run(unsigned cpu, double pace) {
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(cpu, &own);
    ::pthread_setaffinity_np(::pthread_self(), sizeof own, &own);
    constexpr int kAtOnce = 500;
    double due = seconds_now();
    while (!is_over_) {
      for (int i = 0; i < kAtOnce; ++i) ::close(::eventfd(0, 0));
      steps_ += kAtOnce;
      due = std::max(due + kAtOnce / pace, seconds_now() - 0.01);  // late steps are not made up for
      std::this_thread::sleep_for(std::chrono::duration<double>(due - seconds_now()));
    }
  }

  std::atomic<bool> is_over_ = false;
  std::atomic<std::uint64_t> steps_ = 0;
  std::vector<std::thread> threads_;
};

/// The programs loaded after this was made, and the kernel's measurements of them.
class NewPrograms {
 public:
  NewPrograms() {
    while (bpf_prog_get_next_id(last_, &last_) == 0) {
    }
  }
  void find() {
    for (__u32 id = last_; bpf_prog_get_next_id(id, &id) == 0;) programs_.emplace_back(bpf_prog_get_fd_by_id(id));
  }
  struct Runs {
    double count = 0;
    double seconds = 0;
  };
  [[nodiscard]] Runs runs() const {
    Runs sum;
    for (const UniqueFd& program : programs_) {
      bpf_prog_info info{};
      __u32 size = sizeof info;
      if (bpf_obj_get_info_by_fd(program.get(), &info, &size) != 0) continue;
      sum.count += static_cast<double>(info.run_cnt);
      sum.seconds += static_cast<double>(info.run_time_ns) / 1e9;
    }
    return sum;
  }

 private:
  __u32 last_ = 0;
  std::vector<UniqueFd> programs_;
};

/// The numbers of the row "governor" of a table's text.
std::vector<double> governor_of(std::string_view text) {
  std::vector<double> numbers;
  const std::size_t at = text.find("\ngovernor ");
  if (at == std::string_view::npos) return numbers;
  text.remove_prefix(at + 10);
  std::string_view line = text.substr(0, text.find('\n'));
  for (std::string_view word; next_word(line, word);) numbers.push_back(static_cast<double>(parse_u64(word).value_or(0)));
  return numbers;
}

/// Events per step, counted by programs that count all.
double events_of_a_step() {
  const UniqueFd measuring(bpf_enable_stats(BPF_STATS_RUN_TIME));
  NewPrograms programs;
  const auto table = events::make_slab_events("counters 1000000000");
  if (!table->open()) return 0;
  programs.find();
  const double before = programs.runs().count;
  constexpr int kSteps = 20'000;
  for (int i = 0; i < kSteps; ++i) ::close(::eventfd(0, 0));
  return (programs.runs().count - before) / kSteps;
}

/// Events per second, in thousands, and a budget in millionths of a CPU.
void governed_live(benchmark::State& state) {
  const double a_step = events_of_a_step();
  if (a_step < 1) return state.SkipWithError("the kernel measures no programs, or refuses ours");
  Buffer text;
  for ([[maybe_unused]] auto step : state) {
    const double budget = static_cast<double>(state.range(1)) / 1e6;
    events::EventBudget shared(kSaved);
    NewPrograms programs;
    const auto table = events::make_slab_events("counters " + std::to_string(state.range(1)), shared);
    if (!table->open()) return state.SkipWithError("the kernel refuses the programs");
    programs.find();
    const UniqueFd measuring(
        bpf_enable_stats(BPF_STATS_RUN_TIME));           // now, so that it is not included in the cost of an event
    std::vector<double> spent{programs.runs().seconds};  // by second, of CPUs
    const double begin = seconds_now();
    const Load load(static_cast<double>(state.range(0)) * 1e3 / a_step);
    for (int i = 1; i <= kSeconds; ++i) {
      for (double due = begin + i - 1; due < begin + i;) {
        due += kTended;
        std::this_thread::sleep_for(std::chrono::duration<double>(due - seconds_now()));
        table->tend();
      }
      spent.push_back(programs.runs().seconds);
      if (!table->read(text)) return state.SkipWithError("the table cannot be read");
    }
    double worst = 0;
    for (std::size_t i = kWindow; i < spent.size(); ++i) worst = std::max(worst, spent[i] - spent[i - kWindow]);
    const std::vector<double> governor = governor_of(text.view());
    state.counters["millions_a_second"] = load.steps() * a_step / (seconds_now() - begin) / 1e6;
    const NewPrograms::Runs all = programs.runs();
    state.counters["counted_millions"] = all.count / 1e6;
    state.counters["program_ns"] = all.count == 0 ? 0 : all.seconds * 1e9 / all.count;
    state.counters["budget_percent"] = 100 * budget;
    state.counters["settled_percent"] = 100 * (spent.back() - spent[kSettled]) / (kSeconds - kSettled);
    state.counters["worst_window_percent"] = 100 * worst / static_cast<double>(kWindow);
    state.counters["whole_run_percent"] = 100 * (spent.back() - spent.front()) / kSeconds;
    state.counters["own_reckoning_percent"] = governor.size() < 5 ? 0 : 100 * governor[2] / 1e9 / kSeconds;
    state.counters["weight"] = governor.size() < 5 ? 0 : governor[1];
    state.counters["detached"] = governor.size() < 5 || governor[0] == 0 ? 1 : 0;
  }
}
BENCHMARK(governed_live)->Args({5'000, 10'000})->Args({200, 10'000})->Args({500, 1'000})->Iterations(1);

}  // namespace
}  // namespace memstat

BENCHMARK_MAIN();
