// SPDX-License-Identifier: BSD-2-Clause
// FreeBSD's counters: hwpmc(4) through libpmc(3). Differences from Linux: a set on a thread counts the whole process,
// because hwpmc attaches to processes; each request needs its own counter, so a set that does not fit is refused, never
// multiplexed; there is no notification of overflows.
#include "core/base/clock.h"
#include "core/counters/counter_system.h"
#include "core/kernel/dynamic_library.h"

#if defined(__FreeBSD__)

#include <pmc.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace memstat::counters {
namespace {

/// libpmc's functions. Not linked: its event tables take 6 MB, which only programs that count should pay for; memstatd
/// locks its memory.
struct PmcLibrary : DynamicLibrary {
  PmcLibrary() : DynamicLibrary({"libpmc.so.5"}) {}  // FreeBSD 11 and later
  decltype(&::pmc_init) init = find("pmc_init");
  decltype(&::pmc_allocate) allocate = find("pmc_allocate");
  decltype(&::pmc_attach) attach = find("pmc_attach");
  decltype(&::pmc_start) start = find("pmc_start");
  decltype(&::pmc_stop) stop = find("pmc_stop");
  decltype(&::pmc_read) read = find("pmc_read");
  decltype(&::pmc_release) release = find("pmc_release");
  decltype(&::pmc_cpuinfo) cpuinfo = find("pmc_cpuinfo");
  decltype(&::pmc_event_names_of_class) event_names_of_class = find("pmc_event_names_of_class");
};

/// Loaded on the first call.
const PmcLibrary& pmc_library() {
  static const PmcLibrary loaded;
  return loaded;
}

std::uint64_t now_ns() { return static_cast<std::uint64_t>(system_clock().monotonic_ns()); }

/// The specification for pmc_allocate: the event, its attributes, and the modes to count in.
std::string specification(const Request& request) {
  std::string text = request.event;
  for (const Attribute& attribute : request.attributes) text += "," + attribute.name + "=" + std::to_string(attribute.value);
  // By default hwpmc counts both.
  if (request.counts_user != request.counts_system) text += request.counts_user ? ",usr" : ",os";
  return text;
}

Refused explain(int system_errno, const Request& request) {
  const auto refused = [&](Refusal refusal, const std::string& text) {
    return Refused{.refusal = refusal, .system_errno = system_errno, .text = "event " + request.event + ": " + text};
  };
  switch (system_errno) {
    case ENXIO:
    case ENOENT: return refused(Refusal::kInvalidEvent, "this CPU does not have it");
    case EPERM:
    case EACCES:
      return refused(Refusal::kPermission,
                     "the process belongs to another user, or security.bsd.unprivileged_syspmcs is 0, "
                     "which refuses counting on a CPU: run as root");
    case EINVAL: return refused(Refusal::kConflictingRequests, "hwpmc rejects it in this form");
    case ENOSYS: return refused(Refusal::kResourceUnavailable, "hwpmc is not loaded: kldload hwpmc");
    case ESRCH: return refused(Refusal::kNone, "there is no such process");
    default: return refused(Refusal::kResourceUnavailable, "no counter is free: unbind other sets");
  }
}

class PmcSet : public BoundSet {
 public:
  ~PmcSet() override {
    for (const Counter& counter : counters_) {
      pmc_library().stop(counter.id);
      pmc_library().release(counter.id);
    }
  }

  Refused open(std::span<const Request> requests, const Target& target) {
    const bool is_cpu = target.kind == Target::Kind::kCpu;
    counters_.reserve(requests.size());
    for (const Request& request : requests) {
      pmc_id_t id = PMC_ID_INVALID;
      const std::uint32_t flags = target.is_inherited ? PMC_F_DESCENDANTS : 0U;
      if (pmc_library().allocate(specification(request).c_str(), is_cpu ? PMC_MODE_SC : PMC_MODE_TC, flags,
                                 is_cpu ? target.cpu : PMC_CPU_ANY, &id, 0) != 0) {
        return explain(errno, request);
      }
      counters_.push_back({.id = id, .preset = request.preset});
      const bool is_other = target.kind == Target::Kind::kThread || target.kind == Target::Kind::kProcess;
      if (!is_cpu && pmc_library().attach(id, is_other ? target.process : ::getpid()) != 0) return explain(errno, request);
      if (pmc_library().start(id) != 0) return explain(errno, request);
    }
    began_ = now_ns();
    return {};
  }

  int sample(std::span<Count> counts, std::uint64_t& ticks) override {
    const std::uint64_t running = counted_ + (is_on_ ? now_ns() - began_ : 0);
    for (std::size_t i = 0; i < counters_.size(); ++i) {
      pmc_value_t value = 0;
      if (pmc_library().read(counters_[i].id, &value) != 0) return errno;
      counts[i] = {.value = counters_[i].preset + value - counters_[i].before, .enabled_ns = running, .running_ns = running};
    }
    ticks = running;
    return 0;
  }

  int enable(bool is_on) override {
    if (is_on == is_on_) return 0;
    for (const Counter& counter : counters_) {
      if ((is_on ? pmc_library().start(counter.id) : pmc_library().stop(counter.id)) != 0) return errno;
    }
    if (is_on) {
      began_ = now_ns();
    } else {
      counted_ += now_ns() - began_;
    }
    is_on_ = is_on;
    return 0;
  }

  int restart(std::span<const Request> requests) override {
    for (std::size_t i = 0; i < counters_.size(); ++i) {
      Counter& counter = counters_[i];
      pmc_value_t value = 0;
      if (pmc_library().read(counter.id, &value) != 0) return errno;
      counter.before = value;
      counter.preset = requests[i].preset;
    }
    counted_ = 0;
    began_ = now_ns();
    return 0;
  }

 private:
  struct Counter {
    pmc_id_t id = PMC_ID_INVALID;
    pmc_value_t before = 0;    // its count at the last restart
    std::uint64_t preset = 0;  // the preset at that time
  };
  std::vector<Counter> counters_;
  std::uint64_t began_ = 0;    // ns, when it last continued
  std::uint64_t counted_ = 0;  // ns, before that
  bool is_on_ = true;
};

class PmcSystem : public CounterSystem {
 public:
  PmcSystem() {
    facts_.reference = "pmc(3) and the pages it names";
    const struct pmc_cpuinfo* info = nullptr;
    if (pmc_library().cpuinfo(&info) != 0 || info == nullptr) return;
    for (std::uint32_t i = 0; i < info->pm_nclass; ++i) {
      const struct pmc_classinfo& pmcs = info->pm_classes[i];
      const bool is_soft = pmcs.pm_class == PMC_CLASS_SOFT;
      const bool is_timer = pmcs.pm_class == PMC_CLASS_TSC;
      if (!is_soft && !is_timer) facts_.counters += pmcs.pm_num;
      const char** names = nullptr;
      int count = 0;
      if (pmc_library().event_names_of_class(pmcs.pm_class, &names, &count) != 0) continue;
      for (int event = 0; event < count; ++event) {
        facts_.events.push_back({.name = names[event], .description = {}, .needs_counter = !is_soft});
      }
      std::free(names);
    }
    facts_.name = "hwpmc with " + std::to_string(facts_.counters) + " counters";
  }

  [[nodiscard]] const CounterFacts& facts() const override { return facts_; }

  /// hwpmc itself parses names and attributes when a counter is allocated; this only rejects names that it does not list.
  [[nodiscard]] Answer<EventCode> resolve(std::string_view event, std::span<const Attribute> /*attributes*/) const override {
    const std::string_view base = event.substr(0, event.find(','));
    const auto found =
        std::find_if(facts_.events.begin(), facts_.events.end(), [base](const EventInfo& one) { return one.name == base; });
    if (found == facts_.events.end()) {
      return Refused{Refusal::kInvalidEvent, EINVAL,
                     "there is no event " + std::string(base) + " here: pmccontrol -L lists them"};
    }
    return {.value = {.needs_counter = found->needs_counter}};
  }

  Answer<std::unique_ptr<BoundSet>> bind(std::span<const Request> requests, const Target& target) override {
    for (const Request& request : requests) {
      if (!request.notifies) continue;
      return Refused{Refusal::kNotCapable, EOPNOTSUPP,
                     "event " + request.event + ": hwpmc does not notify a program of an overflow"};
    }
    auto set = std::make_unique<PmcSet>();
    if (Refused refused = set->open(requests, target); refused.system_errno != 0) return refused;
    return {.value = std::move(set)};
  }

 private:
  CounterFacts facts_;
};

}  // namespace

Answer<std::unique_ptr<CounterSystem>> make_counter_system() {
  if (!pmc_library().is_complete()) {
    return Refused{Refusal::kNotCapable, ENOSYS,
                   "libpmc.so.5 of FreeBSD's base system is missing, so nothing is counted on CPUs"};
  }
  if (pmc_library().init() == 0) return {.value = std::make_unique<PmcSystem>()};
  return Refused{Refusal::kResourceUnavailable, errno, "hwpmc is not available: load it as root with kldload hwpmc"};
}

}  // namespace memstat::counters

#endif
