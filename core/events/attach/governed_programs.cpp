// SPDX-License-Identifier: BSD-2-Clause
#if defined(MEMSTAT_HAVE_LIBBPF)

#include "core/events/attach/governed_programs.h"

#include <algorithm>
#include <cerrno>
#include <limits>

#include "core/base/clock.h"
#include "core/events/bpf/sampling.h"

namespace memstat::events {
namespace {

constexpr int kRounds = 24;
constexpr int kStepsARound = 100;
constexpr double kMinCost = 2;  // ns; a result outside this range is not the cost of an event
constexpr double kMaxCost = 5'000;

}  // namespace

double CostMeter::measure() {
  double least = std::numeric_limits<double>::max();
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t begin = system_clock().monotonic_ns();
    for (int step = 0; step < kStepsARound; ++step) work_();
    least = std::min(least, static_cast<double>(system_clock().monotonic_ns() - begin) / kStepsARound);
  }
  return least;
}

void CostMeter::measure_counted() {
  // Events of other tasks are counted, too. The minimum of a few rounds contains only the events of this work.
  events_a_step_ = std::numeric_limits<double>::max();
  for (int round = 0; round < kRounds / 4; ++round) {
    const std::uint64_t before = events_();
    for (int step = 0; step < kStepsARound; ++step) work_();
    events_a_step_ = std::min(events_a_step_, static_cast<double>(events_() - before) / kStepsARound);
  }
  counted_ns_ = measure();
}

EventCost CostMeter::cost() const {
  EventCost cost;
  if (events_a_step_ < 1) return cost;
  const double counted = (counted_ns_ - detached_ns_) / events_a_step_;
  const double passed_over = (passed_over_ns_ - detached_ns_) / events_a_step_;
  if (counted > kMinCost && counted < kMaxCost) cost.counted = counted;
  if (passed_over > kMinCost && passed_over < kMaxCost) cost.passed_over = passed_over;
  cost.passed_over = std::min(cost.passed_over, cost.counted);
  return cost;
}

Result<void> GovernedPrograms::open(bpf_object* object, bool has_ticks) {
  has_ticks_ = has_ticks;
  const bpf_map* map = bpf_object__find_map_by_name(object, ".data.sampling");
  if (map == nullptr || bpf_map__value_size(map) < sizeof(memstat_sampling)) {
    return refused("the programs' sampling map", EINVAL);
  }
  return map_.open(map, sizeof(memstat_sampling), true);
}

void GovernedPrograms::set_mask(std::uint32_t mask) {
  if (has_ticks_) __atomic_store_n(&static_cast<memstat_sampling*>(map_.writable())->mask, mask, __ATOMIC_RELAXED);
}

Result<void> GovernedPrograms::attach(CostMeter& meter, const std::function<Result<void>()>& attach,
                                      AttachedPrograms& programs, Governor& governor) {
  meter.measure_detached();
  if (auto result = attach(); !result) return result;
  meter.measure_counted();
  set_mask(MEMSTAT_SAMPLING_MOST);
  meter.measure_passed_over();
  set_mask(0);
  EventCost cost = meter.cost();
  if (!has_ticks_) cost.passed_over = cost.counted;
  const std::int64_t now_ns = system_clock().monotonic_ns();
  governor.start(cost, meter.events(), now_ns);
  programs.enlist();
  backoff_.begun(now_ns);
  return {};
}

void GovernedPrograms::come_back(std::uint64_t events, std::int64_t now_ns, AttachedPrograms& programs, Governor& governor) {
  if (!programs.may_attach_again() || !backoff_.is_due(now_ns)) return;
  set_mask(governor.trial_mask());
  if (!programs.attach_again()) {
    backoff_.given_up(now_ns);
    return;
  }
  backoff_.begun(now_ns);
  governor.try_again(events, now_ns);
}

ProgramFacts GovernedPrograms::look(std::uint64_t events, AttachedPrograms& programs, Governor& governor) {
  const std::int64_t now_ns = system_clock().monotonic_ns();
  const ProgramFacts facts = programs.facts();
  if (governor.is_attached()) {
    governor.look(events, facts.run_ns, facts.runs, now_ns);
    set_mask(governor.mask());
    if (!governor.is_attached()) {
      programs.detach();
      backoff_.given_up(now_ns);
    }
  } else {
    come_back(events, now_ns, programs, governor);
  }
  governor.set_again(!programs.are_enlisted()      ? GovernorFacts::kNever
                     : programs.may_attach_again() ? GovernorFacts::kLater
                                                   : GovernorFacts::kLost);
  return facts;
}

bool has_ticks() { return libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_FUNC_jiffies64, nullptr) == 1; }

}  // namespace memstat::events

#endif
