// SPDX-License-Identifier: BSD-2-Clause
// Events counted by CPUs, by CPU: cache and TLB misses, page faults, context switches (perf_event_open(2)). They are not in
// files, so the kernel view reads a table (counters/counter_table.h) that the source makes from its own descriptors:
//
//   left_out dTLB-load-misses: this CPU does not have the event, or the virtual machine hides it
//   cpu 0 set memory enabled_ns 10000214 running_ns 10000214 minor-faults 17 81355 major-faults 0 12
//   end 1
//
// A line `cpu` has the times since the previous read and, for each event, the increase of the counter since then and the
// total since memstatd opened it. The total is the sum of the increases, each scaled by its times. The last line has the
// number of these lines.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "core/base/text.h"
#include "core/counters/counter_table.h"
#include "core/counters/event_names.h"
#include "core/source.h"

namespace memstat::sources::cpu_counters {
namespace {

constexpr SystemMetric kEvents =
    counter_metric("memstat_cpu_event_total", Tier::kDefault,
                   "Events that the CPU counted since memstatd opened its counters. Scaled where sets took turns, see "
                   "memstat_cpu_event_running_ratio.",
                   {"cpu", "event"});

constexpr SystemMetric kRunningRatio =
    gauge_metric("memstat_cpu_event_running_ratio", Tier::kDefault,
                 "Share of the time since the previous poll in which the CPU counted its least counted set; below 1, sets "
                 "took turns and the events are estimates.",
                 {"cpu"}, ValueFormat::kDouble);

constexpr std::string_view kName = "cpu_counters";
constexpr std::string_view kOnline = "/sys/devices/system/cpu/online";
constexpr std::size_t kTablePart = 0;  // index of the part in RawBytes
constexpr std::uint64_t kMaxCpus = 65536;
constexpr std::size_t kMaxEvents = 64;  // events per CPU

constexpr SourceOption kOptions[] = {{.name = "counters",
                                      .kind = SourceOption::Kind::kKey,
                                      .default_pattern = counters::kMemoryEvents,
                                      .problem_with = counters::problem_with_event,
                                      .help = "sets of events to count, a key at the top of the configuration (see "
                                              "memstatd.yaml(5)), here the events of set memory"}};

struct State final : ReaderState {
  std::unique_ptr<counters::CounterTable> table;
  Buffer online;
};

/// Follows the kernel's list of online CPUs. If it is unreadable, the previous list is kept.
void follow_online(KernelView& view, State& state) {
  if (view.read_file(kOnline, state.online)) state.table->set_online(state.online.view());
}

Result<void> under_its_name(Result<void> result) {
  if (!result) result.error().path = counters::kCounterOrigin;
  return result;
}

/// Replays call neither step of the table.
void make_table(KernelView& view, State& state) {
  if (state.table) return;
  state.table = std::make_unique<counters::CounterTable>(counters::parse_counter_sets(state.options[0].text));
  state.table->set_online("0-" + std::to_string(view.cpu_count() - 1));
}

Result<void> open(KernelView& view, RawBytes& /*raw*/, State& state) {
  state.table.reset();
  make_table(view, state);
  static_cast<void>(view.keep_open(kOnline));
  follow_online(view, state);
  return under_its_name(view.open_table(kName, *state.table));
}

Result<void> read(KernelView& view, RawBytes& raw, State& state) {
  make_table(view, state);
  follow_online(view, state);
  return under_its_name(view.read_table(kName, *state.table, raw.parts[kTablePart]));
}

/// Parses the `cpu` lines.
class Parser {
 public:
  Parser(std::string_view table, Staging& staging) : table_(table), staging_(staging) {}

  Result<void> run() {
    std::string_view rest = table_;
    std::uint64_t lines = 0;
    while (!rest.empty()) {
      const std::size_t newline = rest.find('\n');
      if (newline == std::string_view::npos) break;
      std::string_view line = rest.substr(0, newline);
      rest.remove_prefix(newline + 1);
      at_ = line.data();
      std::string_view word;
      if (!next_word(line, word)) return wrong("has an empty line");
      if (word == "end") {
        const auto wanted = number(line);
        if (!wanted || !trim(line).empty() || !rest.empty() || *wanted != lines) break;
        finish_cpu();
        return {};
      }
      if (word == "left_out") {
        if (auto read = read_left_out(line); !read) return read;
      } else if (word == "cpu") {
        ++lines;
        if (auto read = read_cpu(line); !read) return read;
      } else {
        return wrong("has a line that is neither of an event nor of a CPU");
      }
    }
    at_ = table_.data() + table_.size();
    return wrong("the table ends early");
  }

 private:
  Error wrong(std::string_view what) const {
    return data_error(counters::kCounterOrigin, static_cast<std::size_t>(at_ - table_.data()), what);
  }

  static std::optional<std::uint64_t> number(std::string_view& line) {
    std::string_view word;
    return next_word(line, word) ? parse_u64(word) : std::nullopt;
  }
  static std::optional<std::uint64_t> number_after(std::string_view name, std::string_view& line) {
    std::string_view word;
    return next_word(line, word) && word == name ? number(line) : std::nullopt;
  }

  Result<void> read_left_out(std::string_view line) {
    std::string_view name;
    const std::string_view text = trim(line);
    if (!next_word(line, name) || !name.ends_with(':') || trim(line).empty())
      return wrong("has a line left_out without a name or a reason");
    staging_.add_note(text);
    return {};
  }

  Result<void> read_cpu(std::string_view line) {
    const auto cpu = number(line);
    std::string_view word;
    const bool is_set = next_word(line, word) && word == "set" && next_word(line, word);
    const auto enabled = number_after("enabled_ns", line);
    const auto running = number_after("running_ns", line);
    if (!cpu || *cpu >= kMaxCpus || !is_set || !enabled || !running || *running > *enabled) {
      return wrong("has a line cpu without number, set and times");
    }
    if (cpu_ != cpu) {
      if (cpu_ && *cpu < *cpu_) return wrong("has its CPUs out of order");
      finish_cpu();
      cpu_ = cpu;
    }
    // There is no ratio without time.
    if (*enabled != 0) {
      const double ratio = static_cast<double>(*running) / static_cast<double>(*enabled);
      least_ratio_ = std::min(ratio, least_ratio_.value_or(1));
    }
    while (next_word(line, word)) {
      const auto counted = number(line);
      const auto total = number(line);
      if (!is_valid_label_text(word) || !counted || !total) return wrong("has an event without its two numbers");
      const auto end = names_.begin() + static_cast<std::ptrdiff_t>(events_);
      if (events_ == kMaxEvents) return wrong("has a CPU with more than 64 events");
      if (std::find(names_.begin(), end, word) != end) return wrong("has an event twice on one CPU");
      names_[events_++] = word;
      staging_.statistics().add(kEvents, *total, {*cpu, word});
    }
    return {};
  }

  void finish_cpu() {
    if (cpu_ && least_ratio_) staging_.statistics().add_double(kRunningRatio, *least_ratio_, {*cpu_});
    least_ratio_.reset();
    events_ = 0;
  }

  std::string_view table_;
  Staging& staging_;
  const char* at_ = nullptr;  // the current line
  std::optional<std::uint64_t> cpu_;
  std::optional<double> least_ratio_;
  std::array<std::string_view, kMaxEvents> names_;  // events of the CPU so far
  std::size_t events_ = 0;
};

Result<void> parse(const RawBytes& raw, Staging& staging) {
  staging.reset({}, 0);
  return Parser(raw.parts[kTablePart].view(), staging).run();
}

constexpr MetricOrigin kOrigins[] = {
    {kEvents, "the event's count, scaled by time enabled / time running where they differ"},
    {kRunningRatio, "time running / time enabled"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = kName,
    .origin = counters::kCounterOrigin,
    .os = OperatingSystem::kLinux,
    .origins = kOrigins,
    .options = kOptions,
    .max_files = SourceDescriptor::kFilesVary,
    .needs = "CAP_PERFMON",
    .notes =
        "counts the events of key counters of the configuration, and nothing without it, because most CPUs have four to "
        "eight counters, which perf(1) and the NMI watchdog also use; needs CAP_PERFMON (before Linux 5.8 "
        "CAP_SYS_ADMIN) or kernel.perf_event_paranoid of 0 when memstatd starts, and no privilege afterwards; events "
        "that the machine lacks are left out, and the status page shows why; a CPU that comes online later is counted "
        "after a restart",
    .steps = source_steps<State, open, read, parse>(),
};

}  // namespace memstat::sources::cpu_counters
