// SPDX-License-Identifier: BSD-2-Clause
#include "core/counters/event_names.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/counters/perf_event.h"

namespace memstat::counters {
namespace {

struct Row {
  std::string_view name;
  std::string_view description;
};

// By number: enum perf_sw_ids.
constexpr Row kSoftware[] = {
    {"cpu-clock", "ns of CPU time, by the CPU's clock"},
    {"task-clock", "ns of CPU time of the thread"},
    {"page-faults", "page faults, minor and major"},
    {"context-switches", "context switches"},
    {"cpu-migrations", "moves of the thread to another CPU"},
    {"minor-faults", "page faults that needed no read from a disk"},
    {"major-faults", "page faults that waited for a disk"},
    {"alignment-faults", "unaligned accesses that the kernel had to perform"},
    {"emulation-faults", "instructions that the kernel had to emulate"},
    {"dummy", "nothing"},
    {"bpf-output", "records written by BPF programs"},
    {"cgroup-switches", "context switches to a thread of another control group"},
};

// By number: enum perf_hw_id.
constexpr Row kHardware[] = {
    {"cpu-cycles", "CPU cycles"},
    {"instructions", "instructions retired"},
    {"cache-references", "accesses to the last-level cache, as far as the CPU counts them"},
    {"cache-misses", "accesses that missed the last-level cache"},
    {"branch-instructions", "branches retired"},
    {"branch-misses", "branches that were predicted wrong"},
    {"bus-cycles", "cycles of the bus"},
    {"stalled-cycles-frontend", "cycles in which no instruction could be issued"},
    {"stalled-cycles-backend", "cycles in which no instruction could be retired"},
    {"ref-cycles", "cycles at the CPU's nominal frequency"},
};

// By number: enum perf_hw_cache_id, perf_hw_cache_op_id.
constexpr Row kCaches[] = {{"L1-dcache", "the level 1 data cache"}, {"L1-icache", "the level 1 instruction cache"},
                           {"LLC", "the last-level cache"},         {"dTLB", "the data TLB"},
                           {"iTLB", "the instruction TLB"},         {"branch", "the branch predictor"},
                           {"node", "the memory of the local node"}};
constexpr Row kOperations[] = {{"load", "loads"}, {"store", "stores"}, {"prefetch", "prefetches"}};

constexpr GenericName kGeneric[] = {
    {"PAPI_br_ins", "branch-instructions"},
    {"PAPI_br_msp", "branch-misses"},
    {"PAPI_l1_dca", "L1-dcache-loads"},
    {"PAPI_l1_dcm", "L1-dcache-load-misses"},
    {"PAPI_l1_icm", "L1-icache-load-misses"},
    {"PAPI_l3_tca", "cache-references"},
    {"PAPI_l3_tcm", "cache-misses"},
    {"PAPI_ref_cyc", "ref-cycles"},
    {"PAPI_res_stl", "stalled-cycles-backend"},
    {"PAPI_tlb_dm", "dTLB-load-misses"},
    {"PAPI_tlb_im", "iTLB-load-misses"},
    {"PAPI_tot_cyc", "cpu-cycles"},
    {"PAPI_tot_ins", "instructions"},
};

std::vector<NamedEvent> make_events() {
  std::vector<NamedEvent> events;
  const auto add = [&events](std::string name, std::string description, std::uint32_t type, std::uint64_t config) {
    events.push_back({.name = std::move(name),
                      .description = std::move(description),
                      .code = {.type = type, .config = config, .needs_counter = type != kPerfSoftware}});
  };
  for (std::size_t i = 0; i < std::size(kSoftware); ++i) {
    add(std::string(kSoftware[i].name), std::string(kSoftware[i].description), kPerfSoftware, i);
  }
  for (std::size_t i = 0; i < std::size(kHardware); ++i) {
    add(std::string(kHardware[i].name), std::string(kHardware[i].description), kPerfHardware, i);
  }
  for (std::size_t cache = 0; cache < std::size(kCaches); ++cache) {
    for (std::size_t operation = 0; operation < std::size(kOperations); ++operation) {
      const std::string stem = std::string(kCaches[cache].name) + "-" + std::string(kOperations[operation].name);
      const std::string what = std::string(kOperations[operation].description);
      const std::string where = std::string(kCaches[cache].description);
      const std::uint64_t config = cache | operation << 8U;
      add(stem + (operation == 2 ? "es" : "s"), what + " from " + where, kPerfCache, config);
      add(stem + "-misses", what + " that missed " + where, kPerfCache, config | 1U << 16U);
    }
  }
  return events;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

bool is_plain(std::string_view event) {
  constexpr std::size_t kMaxSize = 512;
  return !event.empty() && event.size() <= kMaxSize && is_valid_label_text(event) &&
         event.find_first_of(" \t") == std::string_view::npos;
}

/// Whether the name is in the style of CPU manuals and libpfm4: upper case.
bool is_cpu_event_name(std::string_view event) {
  constexpr std::size_t kMinSize = 3;
  return event.size() >= kMinSize && std::all_of(event.begin(), event.end(), [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == ':' || c == '=';
         });
}

}  // namespace

const std::vector<NamedEvent>& kernel_events() {
  static const std::vector<NamedEvent> events = make_events();
  return events;
}

std::span<const GenericName> generic_names() { return kGeneric; }

const NamedEvent* find_kernel_event(std::string_view name) {
  for (const GenericName& generic : kGeneric) {
    if (generic.name == name) name = generic.event;
  }
  if (name == "cycles") name = "cpu-cycles";
  if (name == "faults") name = "page-faults";
  if (name == "cs") name = "context-switches";
  if (name == "migrations") name = "cpu-migrations";
  if (name == "branches") name = "branch-instructions";
  for (const NamedEvent& event : kernel_events()) {
    if (event.name == name) return &event;
  }
  return nullptr;
}

std::optional<std::uint64_t> parse_raw_code(std::string_view text) {
  constexpr std::size_t kMaxDigits = 16;
  if (!text.starts_with('r') || text.size() > kMaxDigits + 1) return std::nullopt;
  return parse_hex_u64(text.substr(1));
}

std::optional<TracepointName> parse_tracepoint(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const TracepointName parts{.group = text.substr(0, colon), .name = text.substr(colon + 1)};
  if (!is_name(parts.group) || !is_name(parts.name)) return std::nullopt;
  return parts;
}

std::optional<PmuEvent> parse_pmu_event(std::string_view text) {
  constexpr std::size_t kMaxTerms = 64;
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || slash + 1 >= text.size() || !text.ends_with('/')) return std::nullopt;
  PmuEvent event{.pmu = text.substr(0, slash), .terms = {}};
  if (!is_name(event.pmu)) return std::nullopt;
  std::string_view rest = text.substr(slash + 1, text.size() - slash - 2);
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view word = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const std::size_t sign = std::min(word.find('='), word.size());
    PmuEvent::Term term{.name = word.substr(0, sign), .value = 1, .has_value = sign != word.size()};
    if (term.has_value) {
      const auto value = parse_number(word.substr(sign + 1));
      if (!value) return std::nullopt;
      term.value = *value;
    }
    if (!is_name(term.name) || event.terms.size() == kMaxTerms) return std::nullopt;
    event.terms.push_back(term);
  }
  return event;
}

Placement place_bits(std::string_view format, std::uint64_t value, EventCode& code) {
  const std::size_t colon = format.find(':');
  if (colon == std::string_view::npos) return Placement::kMalformed;
  const std::string_view word = format.substr(0, colon);
  std::uint64_t* const target = word == "config"    ? &code.config
                                : word == "config1" ? &code.config1
                                : word == "config2" ? &code.config2
                                                    : nullptr;
  if (target == nullptr) return Placement::kMalformed;
  std::uint64_t bits = *target;
  for (std::string_view rest = trim(format.substr(colon + 1)); !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view range = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const std::size_t dash = std::min(range.find('-'), range.size());
    const auto first = parse_u64(range.substr(0, dash));
    const auto last = dash == range.size() ? first : parse_u64(range.substr(dash + 1));
    if (!first || !last || *first > *last || *last > 63) return Placement::kMalformed;
    for (std::uint64_t bit = *first; bit <= *last; ++bit, value >>= 1U) {
      bits = (bits & ~(std::uint64_t{1} << bit)) | (value & 1U) << bit;
    }
  }
  if (value != 0) return Placement::kTooLarge;
  *target = bits;
  return Placement::kDone;
}

std::vector<std::string> nearest_names(std::string_view wanted, std::span<const EventInfo> known) {
  constexpr std::size_t kMax = 3;
  constexpr std::size_t kMaxSize = 128;  // longer words are not misspellings
  if (wanted.size() > kMaxSize) return {};
  const std::size_t limit = std::max<std::size_t>(2, wanted.size() / 3);
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const EventInfo& event : known) {
    if (event.name.size() > kMaxSize) continue;
    // Part of a name is similar, too: "faults" in "page-faults".
    const bool is_part = wanted.size() > 2 && event.name.find(wanted) != std::string::npos;
    const std::size_t edits = is_part ? 1 : edit_distance(wanted, event.name);
    if (edits <= limit) found.emplace_back(edits, event.name);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> names;
  for (auto& [edits, name] : found) {
    if (names.size() < kMax) names.push_back(std::move(name));
  }
  return names;
}

std::vector<CounterSet> parse_counter_sets(std::string_view text) {
  std::vector<CounterSet> sets;
  for (std::string_view line; next_line(text, line);) {
    CounterSet set;
    std::string_view word;
    if (!next_word(line, word)) continue;
    set.name = word;
    if (!next_word(line, word)) continue;
    set.cpus = word;
    while (next_word(line, word)) set.events.emplace_back(word);
    if (!set.events.empty()) sets.push_back(std::move(set));
  }
  return sets;
}

std::string problem_with_event(std::string_view event) {
  if (!is_plain(event)) return "is not the name of an event: 1 to 512 characters without blanks";
  // CPU-specific events and tracepoints may belong to another machine that shares the configuration.
  const bool is_of_kernel = find_kernel_event(event) != nullptr || event == kPageWalks || parse_raw_code(event) ||
                            parse_tracepoint(event) || parse_pmu_event(event);
  if (is_of_kernel || is_cpu_event_name(event)) return {};
  std::vector<EventInfo> known;
  for (const NamedEvent& one : kernel_events()) known.push_back({.name = one.name, .description = {}});
  known.push_back({.name = std::string(kPageWalks), .description = {}});
  const std::vector<std::string> near = nearest_names(event, known);
  if (near.empty()) return "is not an event of this machine; memstatctl counters --list prints those that are";
  return "is not an event; is it " + join_words(std::vector<std::string_view>(near.begin(), near.end()), " or ") + "?";
}

}  // namespace memstat::counters
