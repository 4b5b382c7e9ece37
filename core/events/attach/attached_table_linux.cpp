// SPDX-License-Identifier: BSD-2-Clause
#if defined(MEMSTAT_HAVE_LIBBPF)

#include "core/events/attach/attached_table.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "core/base/clock.h"
#include "core/events/bpf/sampling.h"

namespace memstat::events {
namespace {

constexpr int kRounds = 24;
constexpr int kStepsARound = 100;
constexpr double kMinCost = 2;  // ns; a result outside this range is not the cost of an event
constexpr double kMaxCost = 5'000;

/// Implausible results fall back to EventCost's defaults: this machine may be too busy, or unable to do the work.
EventCost cost_of(double events, double counted_ns, double passed_over_ns) {
  EventCost cost;
  if (events < 1) return cost;
  const double counted = counted_ns / events;
  const double passed_over = passed_over_ns / events;
  if (counted > kMinCost && counted < kMaxCost) cost.counted = counted;
  if (passed_over > kMinCost && passed_over < kMaxCost) cost.passed_over = passed_over;
  cost.passed_over = std::min(cost.passed_over, cost.counted);
  return cost;
}

}  // namespace

Result<void> AttachedTable::open() {
  auto file = TypesFile::make();
  if (!file) return file.error();
  types_file_ = *std::move(file);
  types_ = types_file_->parse();
  if (!types_) return refused("the kernel's types", errno);
  auto result = check(*types_);
  if (result) result = load(*types_);
  if (result) result = attach(*types_);
  types_.reset();
  types_file_.reset();
  if (!result) {
    detach();
    object_.reset();
  }
  return result;
}

Result<void> GovernedTable::load_programs_of(std::span<const unsigned char> programs, std::span<const std::byte> constants,
                                             const Maps& maps, const std::function<Result<void>()>& prepare) {
  auto object = open_programs(programs, *types_file_);
  if (!object) return object.error();
  object_ = *std::move(object);
  bpf_map* by_cpu = bpf_object__find_map_by_name(object_.get(), "by_cpu");
  bpf_map* shared = bpf_object__find_map_by_name(object_.get(), ".bss");
  bpf_map* read_only = bpf_object__find_map_by_name(object_.get(), ".rodata");
  if (by_cpu == nullptr || shared == nullptr || read_only == nullptr || bpf_map__value_size(shared) < maps.shared) {
    return refused("the maps of the programs", EINVAL);
  }
  if (const int error = bpf_map__set_initial_value(read_only, constants.data(), constants.size()); error != 0) {
    return refused("the constants of the programs", error);
  }
  if (auto result = prepare(); !result) return result;
  const auto cpus = load_programs(object_.get(), *types_file_);
  if (!cpus) return cpus.error();
  cpu_count_ = *cpus;
  if (auto result = shared_.open(shared, maps.shared, maps.is_written); !result) return result;
  return by_cpu_.open(by_cpu, cpu_count_ * maps.by_cpu, maps.is_written);
}

/// The minimum of many short rounds, since other tasks only ever add time.
double GovernedTable::step_ns() {
  double least = std::numeric_limits<double>::max();
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t begin = system_clock().monotonic_ns();
    for (int step = 0; step < kStepsARound; ++step) cause_events();
    least = std::min(least, static_cast<double>(system_clock().monotonic_ns() - begin) / kStepsARound);
  }
  return least;
}

/// Events of other tasks are counted, too. The minimum of a few rounds contains only the events of this work.
double GovernedTable::events_a_step() {
  double least = std::numeric_limits<double>::max();
  for (int round = 0; round < kRounds / 4; ++round) {
    const std::uint64_t before = events_counted();
    for (int step = 0; step < kStepsARound; ++step) cause_events();
    least = std::min(least, static_cast<double>(events_counted() - before) / kStepsARound);
  }
  return least;
}

void GovernedTable::cause_events() { ::close(::eventfd(0, EFD_CLOEXEC)); }

void GovernedTable::set_mask(std::uint32_t mask) {
  if (has_ticks_) __atomic_store_n(&static_cast<memstat_sampling*>(sampling_.writable())->mask, mask, __ATOMIC_RELAXED);
}

Result<void> GovernedTable::attach(const btf& types) {
  const bpf_map* sampling = bpf_object__find_map_by_name(object_.get(), ".data.sampling");
  if (sampling == nullptr || bpf_map__value_size(sampling) < sizeof(memstat_sampling)) {
    return refused("the programs' sampling map", EINVAL);
  }
  if (auto result = sampling_.open(sampling, sizeof(memstat_sampling), true); !result) return result;
  const double detached_ns = step_ns();
  if (auto result = attach_programs(types); !result) return result;
  const double events = events_a_step();
  const double counted_ns = step_ns() - detached_ns;
  set_mask(MEMSTAT_SAMPLING_MOST);
  const double passed_over_ns = step_ns() - detached_ns;
  set_mask(0);
  EventCost cost = cost_of(events, counted_ns, passed_over_ns);
  if (!has_ticks_) cost.passed_over = cost.counted;
  const std::int64_t now_ns = system_clock().monotonic_ns();
  governor_.start(cost, events_counted(), now_ns);
  attached_.enlist();
  backoff_.begun(now_ns);
  return {};
}

void GovernedTable::come_back(std::uint64_t events, std::int64_t now_ns) {
  if (!attached_.may_attach_again() || !backoff_.is_due(now_ns)) return;
  set_mask(governor_.trial_mask());
  if (!attached_.attach_again()) {
    backoff_.given_up(now_ns);
    return;
  }
  backoff_.begun(now_ns);
  governor_.try_again(events, now_ns);
}

ProgramFacts GovernedTable::look(std::uint64_t events) {
  const std::int64_t now_ns = system_clock().monotonic_ns();
  const ProgramFacts facts = attached_.facts();
  if (governor_.is_attached()) {
    governor_.look(events, facts.run_ns, facts.runs, now_ns);
    set_mask(governor_.mask());
    if (!governor_.is_attached()) {
      attached_.detach();
      backoff_.given_up(now_ns);
    }
  } else {
    come_back(events, now_ns);
  }
  governor_.set_again(!attached_.are_enlisted()      ? GovernorFacts::kNever
                      : attached_.may_attach_again() ? GovernorFacts::kLater
                                                     : GovernorFacts::kLost);
  return facts;
}

bool GovernedTable::tend() {
  if (!is_open() || !governor_.is_started() || !governor_.is_attached()) return false;
  look(events_now());
  return governor_.is_attached();
}

}  // namespace memstat::events

#endif
