// SPDX-License-Identifier: BSD-2-Clause
#include "core/counters/counter_table.h"

#include <algorithm>
#include <cerrno>
#include <initializer_list>

#include "core/base/ascii.h"
#include "core/base/text.h"

namespace memstat::counters {
namespace {

constexpr std::uint32_t kMaxCpus = 65536;

/// The reason in an error text, without the event and CPU at its beginning, which the line has already, and without the
/// advice for libcpc's callers.
std::string_view reason_of(std::string_view text) {
  const std::size_t colon = text.find(": ");
  if (text.starts_with("event ") && colon != std::string_view::npos) text.remove_prefix(colon + 2);
  return text.substr(0, text.find("; others are in the list"));
}

Error error_of(const Refused& refused) {
  Error error = system_error(kCounterOrigin, refused.system_errno, refused.text);
  if (refused.system_errno == ENOSYS) error.code = ErrorCode::kNotPresent;
  return error;
}

void append(std::initializer_list<std::string_view> parts, Buffer& out) {
  for (const std::string_view part : parts) out.append(part);
}

bool is_wanted(const CounterSet& set, std::uint32_t cpu) { return set.cpus == "all" || list_has(set.cpus, cpu); }

}  // namespace

CounterTable::CounterTable(std::vector<CounterSet> sets, MakeSystem make_system)
    : wanted_(std::move(sets)), make_system_(std::move(make_system)) {}

void CounterTable::set_online(std::string_view list) {
  list = trim(list);
  if (list == online_ || !highest_of_list(list)) return;
  online_ = list;
  has_new_online_ = true;
}

/// Tries each event on its own, so that missing ones do not disable their sets. Fails if none is left.
Refused CounterTable::try_events(std::uint32_t cpu) {
  sets_.clear();
  left_out_.clear();
  Refused first;
  bool has_any = false;
  for (const CounterSet& wanted : wanted_) {
    Set& set = sets_.emplace_back();
    set.wanted = wanted;
    for (const std::string& event : wanted.events) {
      Request request;
      request.event = event;
      const auto code = system_->resolve(event, {});
      Refused refused = code.refused;
      if (code.is_given()) {
        request.code = code.value;
        const Target target{.kind = Target::Kind::kCpu, .cpu = static_cast<int>(cpu)};
        refused = system_->bind(std::span(&request, 1), target).refused;
      }
      if (refused.system_errno == 0) {
        set.requests.push_back(std::move(request));
        has_any = true;
        continue;
      }
      left_out_.push_back("left_out " + event + ": " + make_label_text(reason_of(refused.text)) + "\n");
      // Prefer a missing permission over a missing event: there is something to do about it.
      const bool is_permission = refused.refusal == Refusal::kPermission && first.refusal != Refusal::kPermission;
      if (first.system_errno == 0 || is_permission) first = std::move(refused);
    }
  }
  if (has_any) return {};
  if (first.system_errno == 0) return {.system_errno = ENOENT, .text = "the sets have no events"};
  return first;
}

Refused CounterTable::bind(OnCpu& place) {
  const Set& set = sets_[place.set];
  auto answer = system_->bind(set.requests, {.kind = Target::Kind::kCpu, .cpu = static_cast<int>(place.cpu)});
  if (!answer.is_given()) {
    place.refused = make_label_text(reason_of(answer.refused.text)) + (is_open_ ? "; restart memstatd to count it" : "");
    return answer.refused;
  }
  place.refused.clear();
  place.bound = std::move(answer.value);
  place.before.assign(set.requests.size(), {});
  place.now.assign(set.requests.size(), {});
  place.totals.resize(set.requests.size());
  return {};
}

/// Follows the list of online CPUs. Fails with the first refusal if no CPU has a set.
Refused CounterTable::bind_online() {
  has_new_online_ = false;
  Refused first{.refusal = Refusal::kNoCpu, .system_errno = ENODEV, .text = "no CPU of the sets is online"};
  bool is_first = true;
  bool has_any = false;
  const std::uint32_t cpus = std::min(highest_of_list(online_).value_or(0), kMaxCpus - 1) + 1;
  for (std::uint32_t cpu = 0; cpu < cpus; ++cpu) {
    const bool is_online = list_has(online_, cpu);
    for (std::size_t number = 0; number < sets_.size(); ++number) {
      const Set& set = sets_[number];
      if (set.requests.empty() || !is_wanted(set.wanted, cpu)) continue;
      const auto before = [](const OnCpu& one, const std::pair<std::uint32_t, std::size_t>& place) {
        return std::pair(one.cpu, one.set) < place;
      };
      auto place = std::lower_bound(places_.begin(), places_.end(), std::pair(cpu, number), before);
      const bool is_known = place != places_.end() && place->cpu == cpu && place->set == number;
      if (!is_online && !is_known) continue;
      if (!is_known) {
        place = places_.emplace(place);
        place->cpu = cpu;
        place->set = number;
      }
      if (!is_online) {
        place->bound.reset();
        place->refused.clear();
        continue;
      }
      if (!place->bound) {
        if (Refused refused = bind(*place); refused.system_errno != 0 && std::exchange(is_first, false)) {
          first = std::move(refused);
        }
      }
      has_any = has_any || place->bound != nullptr;
    }
  }
  for (OnCpu& place : places_) {  // CPUs above the highest that is now online
    if (place.cpu >= cpus) place.bound.reset();
  }
  return has_any ? Refused{} : first;
}

Result<void> CounterTable::open() {
  if (wanted_.empty()) {
    return system_error(kCounterOrigin, ENOENT,
                        "no set of events is configured; to count the default set on all CPUs: counters: [{set: memory}]");
  }
  auto made = make_system_();
  if (!made.is_given()) return error_of(made.refused);
  system_ = std::move(made.value);
  places_.clear();
  is_open_ = false;
  std::uint32_t first_cpu = 0;
  while (first_cpu + 1 < kMaxCpus && !list_has(online_, first_cpu)) ++first_cpu;
  Refused refused = try_events(first_cpu);
  if (refused.system_errno == 0) refused = bind_online();
  is_open_ = refused.system_errno == 0;
  if (is_open_) return {};
  places_.clear();
  system_.reset();
  return error_of(refused);
}

/// Adds the increase since the last read to the totals.
void CounterTable::count(OnCpu& place) {
  for (std::size_t i = 0; i < place.now.size(); ++i) {
    const Count& now = place.now[i];
    const Count& before = place.before[i];
    place.totals[i] +=
        extrapolated(now.value - before.value, now.enabled_ns - before.enabled_ns, now.running_ns - before.running_ns);
  }
}

void CounterTable::write(const OnCpu& place, Buffer& out) {
  // A set that does not fit the CPU is multiplexed, event by event: use the times of the event that ran least.
  std::uint64_t enabled = 0;
  std::uint64_t running = 0;
  for (std::size_t i = 0; i < place.now.size(); ++i) {
    const std::uint64_t one = place.now[i].running_ns - place.before[i].running_ns;
    if (i != 0 && one >= running) continue;
    running = one;
    enabled = place.now[i].enabled_ns - place.before[i].enabled_ns;
  }
  const Set& set = sets_[place.set];
  append({"cpu ", NumberDigits(place.cpu).view(), " set ", set.wanted.name, " enabled_ns ", NumberDigits(enabled).view(),
          " running_ns ", NumberDigits(std::min(running, enabled)).view()},
         out);
  for (std::size_t i = 0; i < place.now.size(); ++i) {
    const std::uint64_t increase = place.now[i].value - place.before[i].value;
    append({" ", set.requests[i].event, " ", NumberDigits(increase).view(), " ", NumberDigits(place.totals[i]).view()}, out);
  }
  out.append("\n");
}

Result<void> CounterTable::read(Buffer& out) {
  if (!is_open_) {
    if (auto opened = open(); !opened) return opened;
  }
  if (has_new_online_) static_cast<void>(bind_online());
  out.clear();
  for (const std::string& line : left_out_) out.append(line);
  std::uint64_t lines = 0;
  int last_errno = ENODEV;
  for (OnCpu& place : places_) {
    if (!place.refused.empty()) {
      append({"left_out cpu", NumberDigits(place.cpu).view(), ": ", place.refused, "\n"}, out);
    }
    if (!place.bound) continue;
    std::uint64_t ticks = 0;
    if (const int error = place.bound->sample_unscaled(place.now, ticks); error != 0) {
      last_errno = error;  // the events of a CPU that goes offline leave their group
      place.bound.reset();
      place.refused = "the kernel released its counters with the CPU; restart memstatd to count it again";
      continue;
    }
    count(place);
    write(place, out);
    place.before.swap(place.now);
    ++lines;
  }
  if (lines == 0) return system_error(kCounterOrigin, last_errno, "no CPU could be read; restart memstatd");
  append({"end ", NumberDigits(lines).view(), "\n"}, out);
  return {};
}

}  // namespace memstat::counters
