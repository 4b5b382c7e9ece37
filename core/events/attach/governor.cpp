// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/attach/governor.h"

#include <array>

#include "core/events/bpf/sampling.h"

namespace memstat::events {
namespace {

/// The smallest sampling mask that keeps the load below the budget, or the largest mask.
std::uint32_t mask_for(const EventBudget::Load& load, double budget) {
  std::uint32_t mask = 0;
  if (load.counted <= load.passed_over) return mask;  // these programs cannot skip events
  const auto cost = [&] { return load.passed_over + (load.counted - load.passed_over) / (mask + 1); };
  while (cost() > budget && mask < MEMSTAT_SAMPLING_MOST) mask = 2 * mask + 1;
  return mask;
}

std::uint64_t growth(std::uint64_t now, std::uint64_t& before) {
  const std::uint64_t grown = now - std::min(now, before);
  before = now;
  return grown;
}

}  // namespace

std::size_t EventBudget::add_table() {
  const MutexLock lock(mutex_);
  loads_.emplace_back();
  return loads_.size() - 1;
}

void EventBudget::leave(std::size_t table) {
  const MutexLock lock(mutex_);
  loads_[table] = {};
}

std::optional<std::uint32_t> EventBudget::settle(std::size_t table, Load load, double spent, double budget,
                                                 std::int64_t now_ns) {
  const MutexLock lock(mutex_);
  const double most = seconds_ * budget;
  if (!is_started_) credit_ = most;
  if (is_started_ && now_ns > last_ns_) credit_ += budget * static_cast<double>(now_ns - last_ns_) / 1e9;
  is_started_ = true;
  last_ns_ = std::max(last_ns_, now_ns);
  credit_ = std::min(credit_ - spent, most);
  loads_[table] = load;
  Load sum;
  bool is_largest = true;
  for (const Load& each : loads_) {
    sum.counted += each.counted;
    sum.passed_over += each.passed_over;
    is_largest = is_largest && each.passed_over <= load.passed_over;
  }
  if (credit_ < most / 2 && sum.passed_over > budget && is_largest) {
    loads_[table] = {};
    credit_ = most / 2;  // other tables are judged without it
    return std::nullopt;
  }
  return credit_ > most / 2 ? 0 : mask_for(sum, budget);
}

EventBudget& process_budget() {
  static EventBudget budget;
  return budget;
}

void add_governor(TableWriter& rows, const GovernorFacts& facts) {
  const std::array numbers{std::uint64_t{facts.is_attached}, facts.weight, facts.cost_ns, facts.sampled_ns,
                           facts.budget_ppm};
  if (facts.is_attached || facts.again == GovernorFacts::kNever) {
    rows.add(kGovernorRow.word, numbers);
  } else {
    rows.add(kGovernorRow.word, numbers, {facts.again == GovernorFacts::kLater ? "later" : "lost"});
  }
}

Governor::~Governor() {
  if (table_) shared_.leave(*table_);
}

void Governor::start(EventCost cost, std::uint64_t events, std::int64_t now_ns) {
  cost_ = cost;
  events_ = events;
  last_ns_ = now_ns;
  begin_ns_ = now_ns;
  if (!table_) table_ = shared_.add_table();
}

void Governor::look(std::uint64_t events, std::uint64_t run_ns, std::uint64_t runs, std::int64_t now_ns) {
  if (!facts_.is_attached || !table_ || now_ns <= last_ns_) return;
  const std::int64_t passed_ns = now_ns - last_ns_;
  last_ns_ = now_ns;
  const auto count = static_cast<double>(growth(events, events_));
  const double share = 1 / static_cast<double>(facts_.weight);
  const double estimate = count * (share * cost_.counted + (1 - share) * cost_.passed_over);
  // The kernel measures the time within a program, but not the time to get there.
  const double measured =
      static_cast<double>(growth(run_ns, run_ns_)) + static_cast<double>(growth(runs, runs_)) * cost_.passed_over;
  const double spent_ns = std::max(estimate, measured);
  facts_.cost_ns += static_cast<std::uint64_t>(spent_ns);
  if (facts_.weight > 1) facts_.sampled_ns += static_cast<std::uint64_t>(passed_ns);
  const double rate_now = count / static_cast<double>(passed_ns);  // events per ns, so that ns per event gives CPUs
  const double averaged_ns = std::min(static_cast<double>(now_ns - begin_ns_), shared_.rate_seconds() * 1e9);
  rate_ += std::min(1.0, static_cast<double>(passed_ns) / averaged_ns) * (rate_now - rate_);
  const auto mask = shared_.settle(*table_, {.counted = rate_ * cost_.counted, .passed_over = rate_ * cost_.passed_over},
                                   spent_ns / 1e9, static_cast<double>(facts_.budget_ppm) / 1e6, now_ns);
  facts_.is_attached = mask.has_value();
  facts_.weight = mask.value_or(0) + 1;
}

std::uint32_t Governor::trial_mask() const { return cost_.counted > cost_.passed_over ? MEMSTAT_SAMPLING_MOST : 0; }

void Governor::try_again(std::uint64_t events, std::int64_t now_ns) {
  events_ = events;
  last_ns_ = now_ns;
  begin_ns_ = now_ns;
  facts_.is_attached = true;
  facts_.weight = trial_mask() + 1;
}

}  // namespace memstat::events
