// SPDX-License-Identifier: BSD-2-Clause
// Events of Linux's memory management since memstatd attached to them (core/events/vm_events.h). The text, in this order:
//
//   vm_events 1                   the version
//   missed N                      events during an event of the same kind on the same CPU
//   by_cache 0|1                  1: failures of slab caches are counted here, and linux_slab_events has none
//   unsupported EVENT: REASON     an event that this kernel or its policy does not give
//   event EVENT COUNT [BYTES]     bytes: of events that have a size
//   victim COUNT COMMAND          processes that were killed for memory; other_victim COUNT: of further commands
//   cache COUNT NAME              slab caches that got no memory; other_cache COUNT: further ones
//   end
//
// A name may come twice: two CPUs met it at once.
#include <array>
#include <memory>
#include <string>

#include "core/base/arithmetic.h"
#include "core/base/text.h"
#include "core/events/event_metrics.h"
#include "core/events/vm_events.h"
#include "core/source.h"

namespace memstat::sources {
namespace {

using events::kLostEvents;
using events::kVmEventBytes;
using events::kVmEvents;

constexpr std::string_view kTable = "linux_vm_events";

constexpr SystemMetric kVictims{
    .facts = {.name = "memstat_oom_victims_total",
              .kind = MetricKind::kCounter,
              .tier = Tier::kDefault,
              .help = "Processes that the kernel chose to kill because memory ran out, since memstatd attached to these "
                      "events, by command; beyond 64 commands: other."},
    .labels = {"command"}};

constexpr SourceOption kOptions[] = {{.name = "events",
                                      .kind = SourceOption::Kind::kKey,
                                      .default_pattern = "failures",
                                      .help = "The mode of key events: failures counts what is rare only."}};

struct State final : ReaderState {
  std::unique_ptr<LiveTable> table;
};

/// Replays call neither step of the table.
LiveTable& table_of(State& state) {
  if (!state.table) state.table = events::make_vm_events(state.options[0].text);
  return *state.table;
}

Result<void> open(KernelView& view, RawBytes&, State& state) { return view.open_table(kTable, table_of(state)); }

Result<void> read(KernelView& view, RawBytes& raw, State& state) {
  return view.read_table(kTable, table_of(state), raw.parts[0]);
}

/// Parses one text. Thread safety: none.
class Parser {
 public:
  Parser(const RawBytes& raw, Staging& staging) : text_(raw.parts[0].view()), rest_(text_), staging_(staging) {}

  Result<void> parse() {
    staging_.reset({}, 0);
    if (auto result = parse_header(); !result) return result;
    std::string_view line;
    while (true) {
      const std::size_t offset = text_.size() - rest_.size();
      if (!next_line(rest_, line)) return data_error(kTable, offset, "ends without the line 'end'");
      if (line == "end") break;
      if (!take(line)) return data_error(kTable, offset, "is neither an event nor a name with its count");
    }
    if (!rest_.empty()) return data_error(kTable, text_.size() - rest_.size(), "goes on behind the line 'end'");
    add_victims();
    return {};
  }

 private:
  Result<void> parse_header() {
    std::string_view line;
    if (!next_line(rest_, line) || line != "vm_events 1") {
      Error error = data_error(kTable, 0, "does not start with 'vm_events 1'");
      error.code = ErrorCode::kVersion;
      return error;
    }
    constexpr std::array<std::string_view, 2> kWords{"missed", "by_cache"};
    std::array<std::uint64_t, kWords.size()> numbers{};
    for (std::size_t i = 0; i < kWords.size(); ++i) {
      const std::size_t offset = text_.size() - rest_.size();
      std::string_view word;
      if (!next_line(rest_, line) || !next_word(line, word) || word != kWords[i] || !take_number(line, numbers[i]) ||
          !line.empty()) {
        return data_error(kTable, offset, "expected '" + std::string(kWords[i]) + "' and a number");
      }
    }
    staging_.statistics().add(kLostEvents, numbers[0], {"vm_missed"});
    if (numbers[1] == 0) staging_.leave(FieldMask(Field::kFailures), {});
    return {};
  }

  static bool take_number(std::string_view& line, std::uint64_t& number) {
    std::string_view word;
    if (!next_word(line, word)) return false;
    const auto value = parse_u64(word);
    number = value.value_or(0);
    return value.has_value();
  }

  bool take(std::string_view line) {
    std::string_view word;
    if (!next_word(line, word)) return false;
    if (word == "unsupported") return take_unsupported(trim(line));
    if (word == "event") return take_event(line);
    std::uint64_t count = 0;
    if (!take_number(line, count)) return false;
    if (word == "other_victim") return line.empty() && (others_ = saturating_sum(others_, count), true);
    if (word == "other_cache") return line.empty();  // the event has them in its count
    if (line.size() < 2) return false;               // the name stands behind one blank, and may have more of them
    const std::string_view name = line.substr(1);
    if (word == "victim") return take_victim(count, name);
    if (word != "cache") return false;
    StagedType& type = staging_.merge(name);
    type.fields = FieldMask(Field::kFailures);
    type.figures[Field::kFailures] = saturating_sum(type.figures[Field::kFailures], count);
    return true;
  }

  bool take_unsupported(std::string_view reason) {
    if (reason.find(": ") == std::string_view::npos) return false;
    staging_.add_note(reason);
    return true;
  }

  bool take_event(std::string_view line) {
    std::string_view event;
    std::uint64_t count = 0;
    if (!next_word(line, event) || !is_valid_label_text(event) || !take_number(line, count)) return false;
    if (event_count_++ == kMostEvents) return false;
    staging_.statistics().add(kVmEvents, count, {event});
    if (line.empty()) return true;
    std::uint64_t bytes = 0;
    if (!take_number(line, bytes) || !line.empty()) return false;
    staging_.statistics().add(kVmEventBytes, bytes, {event});
    return true;
  }

  bool take_victim(std::uint64_t count, std::string_view command) {
    for (std::size_t i = 0; i < victim_count_; ++i) {
      if (victims_[i].command != command) continue;
      victims_[i].count = saturating_sum(victims_[i].count, count);
      return true;
    }
    if (victim_count_ == victims_.size()) return false;
    victims_[victim_count_++] = {.command = command, .count = count};
    return true;
  }

  /// A command may be called "other", too.
  void add_victims() {
    bool has_others = others_ == 0;
    for (std::size_t i = 0; i < victim_count_; ++i) {
      std::uint64_t count = victims_[i].count;
      if (!has_others && victims_[i].command == kOther) {
        count = saturating_sum(count, others_);
        has_others = true;
      }
      staging_.statistics().add(kVictims, count, {victims_[i].command});
    }
    if (!has_others) staging_.statistics().add(kVictims, others_, {kOther});
  }

  static constexpr std::size_t kMostEvents = 64;
  static constexpr std::size_t kMostCommands = 64;  // as many as the programs have room for
  static constexpr std::string_view kOther = "other";
  struct Victim {
    std::string_view command;
    std::uint64_t count = 0;
  };

  std::string_view text_;
  std::string_view rest_;
  Staging& staging_;
  std::array<Victim, kMostCommands> victims_;
  std::size_t victim_count_ = 0;
  std::size_t event_count_ = 0;
  std::uint64_t others_ = 0;  // victims of further commands
};

Result<void> parse(const RawBytes& raw, Staging& staging) { return Parser(raw, staging).parse(); }

constexpr MetricOrigin kOrigins[] = {
    {Field::kFailures, "calls of slab_out_of_memory(), else the kernel's messages \"cache: NAME\""},
    {kVmEvents,
     "oom_kill is oom:mark_victim, slab_failure a call of slab_out_of_memory() or else its message, page_failure the "
     "message "
     "\"page allocation failure\", percpu_failure percpu:percpu_alloc_percpu_fail, vmalloc_failure vmalloc:alloc_vmap_area "
     "that "
     "failed"},
    {kVmEventBytes, "size of percpu:percpu_alloc_percpu_fail and of vmalloc:alloc_vmap_area"},
    {kVictims, "comm of oom:mark_victim"},
    {kLostEvents, "recursion_misses of memstatd's programs"},
};

}  // namespace

extern const SourceDescriptor linux_vm_events;
const SourceDescriptor linux_vm_events{
    .name = kTable,
    .origin =
        "raw tracepoints oom:mark_victim, printk:console, percpu:percpu_alloc_percpu_fail, vmalloc:alloc_vmap_area; "
        "function slab_out_of_memory()",
    .os = OperatingSystem::kLinux,
    .allocator = Allocator::kSlab,
    .is_roster = false,
    .fields = fields_of(kOrigins),
    .cpu_fields = {},
    .origins = kOrigins,
    .options = kOptions,
    .is_on_by_default = false,
    .is_traced = true,
    .notes =
        "on unless key events.mode is off, where it is permitted: needs root, or CAP_BPF and CAP_PERFMON, at start, and "
        "BTF; "
        "attaches to what is rare, so that it costs nothing that can be measured; where programs cannot be attached to "
        "functions, failures of slab caches and pages are those that the kernel printed, which are fewer: it prints at most "
        "ten of each in five seconds, and none of callers that asked it not to; of a slab cache those for want of pages, "
        "not "
        "of a limit of a control group; where linux_slab_events is on, failures by cache are its own",
    .steps = source_steps<State, open, read, parse>(),
};

}  // namespace memstat::sources
