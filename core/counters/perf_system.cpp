// SPDX-License-Identifier: BSD-2-Clause
#include "core/counters/perf_system.h"

#include <algorithm>
#include <cerrno>

#include "core/base/text.h"
#include "core/counters/event_names.h"
#include "core/counters/libpfm.h"

namespace memstat::counters {
namespace {

constexpr std::string_view kDevices = "/sys/bus/event_source/devices/";
constexpr std::string_view kTracing[] = {"/sys/kernel/tracing/events/", "/sys/kernel/debug/tracing/events/"};
// PMUs without hardware counters.
constexpr std::string_view kSoftPmus[] = {"software", "tracepoint", "breakpoint",  "kprobe",    "uprobe",
                                          "msr",      "power",      "cstate_core", "cstate_pkg"};

// Names of page table walks for the data TLB in libpfm4: Intel since Haswell, AMD Zen, Arm.
constexpr std::string_view kPageWalkNames[] = {
    "DTLB_LOAD_MISSES:WALK_COMPLETED", "L1_DTLB_MISS:TLB_RELOAD_4K_L2_MISS:TLB_RELOAD_2M_L2_MISS:TLB_RELOAD_1G_L2_MISS",
    "DTLB_WALK"};

constexpr std::uint64_t kDummy = 9;         // PERF_COUNT_SW_DUMMY
constexpr std::uint64_t kInstructions = 1;  // PERF_COUNT_HW_INSTRUCTIONS

Answer<EventCode> wrong_event(std::string_view event, const std::string& why, Refusal refusal = Refusal::kInvalidEvent) {
  return Refused{refusal, EINVAL, "event " + std::string(event) + ": " + why};
}

Request user_request(std::string event, const EventCode& code) {
  Request request;
  request.event = std::move(event);
  request.counts_system = false;
  request.code = code;
  return request;
}

}  // namespace

PerfSystem::PerfSystem(PerfEventApi& api, KernelView& view) : api_(&api), view_(&view) {}

Refused PerfSystem::check() const {
  const PerfEvent event{.config = kDummy, .excludes_kernel = true, .excludes_hypervisor = true};
  const int fd = api_->open(event, 0, -1, -1);
  if (fd >= 0) {
    api_->close(fd);
    return {};
  }
  return explain_perf_error(-fd, user_request("dummy", {.config = kDummy}), Target{}, read_perf_permissions(*view_));
}

bool PerfSystem::can_open(const EventCode& code) const {
  const PerfEvent event{
      .type = code.type, .config = code.config, .excludes_kernel = true, .excludes_hypervisor = true, .is_disabled = true};
  const int fd = api_->open(event, 0, -1, -1);
  if (fd >= 0) api_->close(fd);
  return fd >= 0;
}

/// The number of instruction events that fit into one group: the counters available to a thread.
unsigned PerfSystem::count_counters() const {
  constexpr std::size_t kMax = 32;
  std::vector<int> group;
  const PerfEvent event{.type = kPerfHardware,
                        .config = kInstructions,
                        .excludes_kernel = true,
                        .excludes_hypervisor = true,
                        .is_disabled = true,
                        .is_enabled_on_exec = true};
  while (group.size() < kMax) {
    const int fd = api_->open(event, 0, -1, group.empty() ? -1 : group.front());
    if (fd < 0) break;
    group.push_back(fd);
  }
  for (auto fd = group.rbegin(); fd != group.rend(); ++fd) api_->close(*fd);
  return static_cast<unsigned>(group.size());
}

/// The PMU of the CPU's cores: "cpu", on arm64 "armv8_...", on hybrid CPUs "cpu_core"; "" if there is none.
std::string PerfSystem::core_directory() const {
  std::vector<std::string> names;
  if (!view_->list_directory(std::string(kDevices.substr(0, kDevices.size() - 1)), names)) return {};
  for (const std::string& name : names) {
    if (name == "cpu" || name == "cpu_core" || name.starts_with("armv8") || name.starts_with("armv7")) {
      return std::string(kDevices) + name;
    }
  }
  return {};
}

const CounterFacts& PerfSystem::facts() const {
  std::call_once(facts_once_, [this] {
    CounterFacts facts;
    facts.can_notify = true;
    facts.counters = count_counters();
    const std::string directory = core_directory();
    Buffer text;
    if (!directory.empty() && view_->read_file(directory + "/caps/max_precise", text)) {
      facts.is_precise = parse_u64(trim(text.view())).value_or(0) != 0;
    }
    const std::string pmu = directory.empty() ? "" : directory.substr(kDevices.size());
    facts.name = facts.counters == 0 ? "Linux perf events: the kernel's own events, no counters of the CPU"
                                     : "Linux perf events: " + (pmu.empty() ? "the CPU" : pmu) + " with " +
                                           std::to_string(facts.counters) + " counters";
    facts.reference = "perf_event_open(2) describes the kernel's events, the CPU's manual its own";
    for (const NamedEvent& event : kernel_events()) {
      if (!event.code.needs_counter || (facts.counters != 0 && can_open(event.code))) {
        facts.events.push_back(
            {.name = event.name, .description = event.description, .needs_counter = event.code.needs_counter});
      }
    }
    facts.attributes = {"config", "config1", "config2", "picnum", "precise"};
    std::vector<std::string> names;
    if (!directory.empty() && view_->list_directory(directory + "/format", names)) {
      facts.attributes.insert(facts.attributes.end(), names.begin(), names.end());
    }
    if (facts.counters != 0) {
      if (const auto walks = resolve_page_walks(); walks.is_given() && can_open(walks.value)) {
        facts.events.push_back({.name = std::string(kPageWalks),
                                .description = "walks of page tables for the data TLB, by the CPU's own event",
                                .needs_counter = true});
      }
      for (EventInfo& event : libpfm_events()) facts.events.push_back(std::move(event));
      for (std::string& name : libpfm_attributes()) facts.attributes.push_back(std::move(name));
    }
    std::sort(facts.attributes.begin(), facts.attributes.end());
    facts.attributes.erase(std::unique(facts.attributes.begin(), facts.attributes.end()), facts.attributes.end());
    facts_ = std::move(facts);
  });
  return facts_;
}

std::optional<Answer<EventCode>> PerfSystem::resolve_tracepoint(std::string_view event) const {
  const auto parts = parse_tracepoint(event);
  if (!parts) return std::nullopt;
  const std::string place = std::string(parts->group) + "/" + std::string(parts->name) + "/id";
  Buffer text;
  int last_errno = ENOENT;
  for (const std::string_view directory : kTracing) {
    const auto result = view_->read_file(std::string(directory) + place, text);
    if (!result) {
      if (result.error().system_errno != ENOENT) last_errno = result.error().system_errno;
      continue;
    }
    const auto number = parse_u64(trim(text.view()));
    if (!number) break;
    return Answer<EventCode>{.value = {.type = kPerfTracepoint, .config = *number}};
  }
  if (last_errno == EACCES || last_errno == EPERM) {
    return Answer<EventCode>(Refused{Refusal::kPermission, EACCES,
                                     "event " + std::string(event) + ": the numbers of tracepoints are in " +
                                         std::string(kTracing[0]) + ", which only root may read"});
  }
  std::vector<std::string> names;
  if (!view_->list_directory(kTracing[0].substr(0, kTracing[0].size() - 1), names) || names.empty()) {
    return wrong_event(event,
                       "the numbers of tracepoints are in tracefs, "
                       "which is not mounted or not readable: mount -t tracefs nodev /sys/kernel/tracing");
  }
  return std::nullopt;
}

Answer<EventCode> PerfSystem::resolve_pmu(std::string_view event) const {
  const auto parts = parse_pmu_event(event);
  if (!parts) return wrong_event(event, "not of the form pmu/term=value,.../");
  const std::string directory = std::string(kDevices) + std::string(parts->pmu);
  Buffer text;
  if (!view_->read_file(directory + "/type", text)) {
    return wrong_event(event, "there is no PMU of that name in " + std::string(kDevices.substr(0, kDevices.size() - 1)));
  }
  const auto type = parse_u64(trim(text.view()));
  constexpr std::uint64_t kMaxTypes = 0xFFFFFFFFU;
  if (!type || *type > kMaxTypes) return wrong_event(event, directory + "/type is not a number");
  EventCode code{.type = static_cast<std::uint32_t>(*type),
                 .needs_counter = std::find(std::begin(kSoftPmus), std::end(kSoftPmus), parts->pmu) == std::end(kSoftPmus)};
  std::vector<PmuEvent::Term> terms = parts->terms;
  bool is_expanded = false;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const PmuEvent::Term& term = terms[i];
    if (term.name == "config") {
      code.config = term.value;
      continue;
    }
    if (!term.has_value && !is_expanded && view_->read_file(directory + "/events/" + std::string(term.name), text)) {
      // A named event expands to terms, none of which is a named event again.
      const std::string whole = "x/" + std::string(trim(text.view())) + "/";
      const auto inner = parse_pmu_event(whole);
      if (!inner) return wrong_event(event, directory + "/events is malformed");
      for (const PmuEvent::Term& one : inner->terms) {
        if (!view_->read_file(directory + "/format/" + std::string(one.name), text) ||
            place_bits(trim(text.view()), one.value, code) != Placement::kDone) {
          return wrong_event(event, directory + "/format does not have its terms");
        }
      }
      is_expanded = true;
      continue;
    }
    if (!view_->read_file(directory + "/format/" + std::string(term.name), text)) {
      return wrong_event(event,
                         std::string(term.name) + " is neither in " + directory + "/events nor in " + directory + "/format");
    }
    const Placement placement = place_bits(trim(text.view()), term.value, code);
    if (placement != Placement::kDone) {
      const std::string why = placement == Placement::kTooLarge ? " is larger than its field" : " has an unknown format";
      return wrong_event(event, std::string(term.name) + why, Refusal::kAttributeOutOfRange);
    }
  }
  return {.value = code};
}

Answer<EventCode> PerfSystem::resolve_page_walks() const {
  const std::string directory = core_directory();
  Buffer text;
  if (!directory.empty() && view_->read_file(directory + "/events/dtlb_walk", text)) {
    return resolve_pmu(directory.substr(kDevices.size()) + "/dtlb_walk/");
  }
  for (const std::string_view name : kPageWalkNames) {
    if (auto found = libpfm_resolve(name, {}); found && found->is_given()) return *std::move(found);
  }
  const std::string why = "no event that counts them is known for this CPU";
  return wrong_event(kPageWalks, why + (has_libpfm() ? "" : ", since libpfm4 is not built in"));
}

std::optional<Answer<EventCode>> PerfSystem::resolve_base(std::string_view event) const {
  if (const NamedEvent* known = find_kernel_event(event)) return Answer<EventCode>{.value = known->code};
  if (event == kPageWalks) return resolve_page_walks();
  if (event.find('/') != std::string_view::npos) return resolve_pmu(event);
  if (const auto code = parse_raw_code(event)) {
    return Answer<EventCode>{.value = {.type = kPerfRaw, .config = *code, .needs_counter = true}};
  }
  return resolve_tracepoint(event);
}

Refused PerfSystem::apply(const Attribute& attribute, std::string_view event, EventCode& code) const {
  const auto refused = [&](Refusal refusal, std::string_view what) {
    return Refused{.refusal = refusal,
                   .system_errno = EINVAL,
                   .text = "event " + std::string(event) + ": attribute " + attribute.name + " " + std::string(what)};
  };
  constexpr std::uint64_t kMaxPrecise = 3;
  if (attribute.name == "picnum") {
    if (attribute.value < facts().counters) return {};  // the kernel chooses the counter
    return refused(Refusal::kInvalidCounter, "does not name a counter: there are " + std::to_string(facts().counters));
  }
  if (attribute.name == "precise") {
    if (attribute.value > kMaxPrecise) return refused(Refusal::kAttributeOutOfRange, "is at most 3");
    code.precise = static_cast<std::uint8_t>(attribute.value);
    return {};
  }
  if (attribute.name == "config") return code.config = attribute.value, Refused{};
  if (attribute.name == "config1") return code.config1 = attribute.value, Refused{};
  if (attribute.name == "config2") return code.config2 = attribute.value, Refused{};
  const std::string directory = core_directory();
  Buffer text;
  const bool is_word = attribute.name.find('/') == std::string::npos && !attribute.name.empty();
  if (code.type == kPerfRaw && is_word && !directory.empty() &&
      view_->read_file(directory + "/format/" + attribute.name, text)) {
    switch (place_bits(trim(text.view()), attribute.value, code)) {
      case Placement::kDone: return {};
      case Placement::kTooLarge: return refused(Refusal::kAttributeOutOfRange, "is larger than its field");
      case Placement::kMalformed: break;
    }
  }
  return refused(Refusal::kInvalidAttribute, "does not exist for it");
}

Answer<EventCode> PerfSystem::resolve(std::string_view event, std::span<const Attribute> attributes) const {
  constexpr std::size_t kMaxSize = 512;  // the original's CPC_MAX_EVENT_LEN
  if (event.empty() || event.size() > kMaxSize || event.find('\0') != std::string_view::npos) {
    return Refused{Refusal::kInvalidEvent, EINVAL, "a name of an event has 1 to 512 characters"};
  }
  std::optional<Answer<EventCode>> known = resolve_base(event);
  if (!known) {
    if (auto found = libpfm_resolve(event, attributes)) return *std::move(found);
    std::string text = "there is no event " + make_label_text(event) + " here";
    const auto near = nearest_names(event, facts().events);
    if (!near.empty())
      text += "; is it " + join_words(std::vector<std::string_view>(near.begin(), near.end()), " or ") + "?";
    return Refused{Refusal::kInvalidEvent, EINVAL, std::move(text)};
  }
  for (const Attribute& attribute : attributes) {
    if (!known->is_given()) break;
    known->refused = apply(attribute, event, known->value);
  }
  return *std::move(known);
}

Answer<std::unique_ptr<BoundSet>> PerfSystem::bind(std::span<const Request> requests, const Target& target) {
  for (const Request& request : requests) {
    if (!request.notifies) continue;
    if (target.kind == Target::Kind::kThread || target.kind == Target::Kind::kProcess) {
      return Refused{
          Refusal::kInvalidFlags, EINVAL,
          "event " + request.event + ": overflow is notified only to a thread that binds the set to itself or to a CPU"};
    }
    if (target.is_inherited) {
      return Refused{Refusal::kInvalidFlags, EINVAL,
                     "event " + request.event + ": Linux does not notify the overflow of a set that threads inherit"};
    }
  }
  std::vector<pid_t> threads;
  if (target.kind == Target::Kind::kCpu &&
      (target.cpu < 0 || static_cast<std::uint32_t>(target.cpu) >= view_->cpu_count())) {
    return Refused{
        Refusal::kNoCpu, EINVAL,
        "there is no CPU " + std::to_string(target.cpu) + ": the highest is " + std::to_string(view_->cpu_count() - 1)};
  }
  if (target.kind == Target::Kind::kThread || target.kind == Target::Kind::kProcess) {
    std::vector<std::string> names;
    const auto listed = view_->list_directory("/proc/" + std::to_string(target.process) + "/task", names);
    for (const std::string& name : names) {
      const auto number = parse_u64(name);
      if (!number) continue;
      const auto thread = static_cast<pid_t>(*number);
      if (target.kind == Target::Kind::kProcess || thread == target.thread) threads.push_back(thread);
    }
    if (!listed || threads.empty()) {
      const std::string process = "process " + std::to_string(target.process);
      return Refused{Refusal::kNone, ESRCH,
                     !listed ? "there is no " + process : process + " has no thread " + std::to_string(target.thread)};
    }
  }
  return bind_perf_set(*api_, requests, target, threads, read_perf_permissions(*view_));
}

}  // namespace memstat::counters
