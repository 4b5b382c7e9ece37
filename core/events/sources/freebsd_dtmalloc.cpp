// SPDX-License-Identifier: BSD-2-Clause
// Allocations, frees and failures of FreeBSD's malloc(9) by type, CPU and size, counted from the events of the DTrace
// provider dtmalloc since memstatd attached to them. The text, in this order:
//
//   dtmalloc 1                    the version
//   unplaced N                    events of rows for which there was no room
//   dropped N                     events that DTrace had no room for
//   probe NAME                    a type as its probe is called, in ascending order
//   size CPU SIZE ALLOCATIONS FREES                 of the probe above, of this size class; CPUs in ascending order
//   large CPU ALLOCATIONS ALLOCATED FREES FREED     the same beyond the size classes, with B
//   end
//
// Allocations of size 0 are failures, which no sysctl counts by type. The other figures are also in kern.malloc_stats, but
// not by size; over the same time both agree. The names of that stream are read once, and again when it lacks the name of a
// probe and the number of types has changed.
#include <algorithm>
#include <array>
#include <span>

#include "core/base/arithmetic.h"
#include "core/collect/sysctl_stream.h"
#include "core/events/attach/live_tables.h"
#include "core/events/malloc/malloc_rows.h"
#include "core/events/table/event_metrics.h"
#include "core/parse/malloc_probe_names.h"
#include "core/source.h"

namespace memstat::sources::freebsd_dtmalloc {
namespace {

using events::kLostEvents;
using events::kVmEventBytes;
using events::kVmEvents;

constexpr std::string_view kTable = "freebsd_dtmalloc";

constexpr SystemMetric kMallocEvents = counter_metric("memstat_malloc_events_total", Tier::kFull,
                                                      "Allocations and frees of malloc(9) since memstatd attached to their "
                                                      "events, by type and CPU; malloc_failure: failed allocations.",
                                                      {"type", "cpu", "event"});

constexpr SystemMetric kMallocEventBytes =
    counter_metric("memstat_malloc_event_bytes_total", Tier::kFull,
                   "Bytes that these events of malloc(9) allocated or freed, including the padding of the size class.",
                   {"type", "cpu", "event"});

constexpr SystemMetric kMallocSizes =
    counter_metric("memstat_malloc_size_events_total", Tier::kFull,
                   "Allocations and frees of malloc(9) since memstatd attached to their events, by type and size class "
                   "in bytes; larger: beyond the largest class.",
                   {"type", "size", "event"});

constexpr SourceOption kOptions[] = {
    {.name = "types",
     .kind = SourceOption::Kind::kPattern,
     .help = "Types whose events are shown by CPU and by size (by default all), up to 20000 series."}};

struct State final : ReaderState {
  std::unique_ptr<TextTableSource> table = events::make_malloc_events();
  MallocProbeNames names;
  std::uint32_t type_count = 0;  ///< Number of types in the kernel when the names were read.
  Buffer scratch;                ///< For an integer.
};

Result<void> open(KernelView& view, RawBytes&, State& state) { return view.open_table(kTable, *state.table); }

Result<void> read_names(KernelView& view, State& state) {
  const auto count = read_sysctl_u32(view, kMallocStream.count, state.scratch);
  const bool is_known =
      state.names.size() != 0 && !view.wants_whole_polls() && (!state.is_stale || (count && *count == state.type_count));
  if (is_known) return {};
  Buffer bytes;  // many megabytes, nearly all zeros
  std::size_t size = 0;
  if (auto result = read_sysctl_stream(view, kMallocStream, size, bytes, state.scratch); !result) return result;
  const auto stream = StatisticsStream::open(kMallocStream.name, bytes.view(), kMallocStream.record_header);
  if (!stream) return stream.error();
  state.type_count = count ? *count : 0;
  return state.names.take(*stream);
}

Result<void> read(KernelView& view, RawBytes& raw, State& state) {
  if (auto result = view.read_table(kTable, *state.table, raw.parts[0]); !result) return result;
  return read_names(view, state);
}

/// Sums of one or more rows.
struct MallocSums {
  std::uint64_t allocations = 0;
  std::uint64_t allocated = 0;  // B
  std::uint64_t frees = 0;
  std::uint64_t freed = 0;  // B
  std::uint64_t failures = 0;

  void add(const MallocSums& other) {
    allocations = saturating_sum(allocations, other.allocations);
    allocated = saturating_sum(allocated, other.allocated);
    frees = saturating_sum(frees, other.frees);
    freed = saturating_sum(freed, other.freed);
    failures = saturating_sum(failures, other.failures);
  }
};

class Parser {
 public:
  Parser(const RawBytes& raw, const State& state, Staging& staging)
      : rows_(events::kMallocTable, raw.parts[0].view()), state_(state), staging_(staging) {}

  Result<void> parse() {
    staging_.reset({}, 0);
    staging_.notes().assign(state_.names.size(), 0);
    std::uint64_t unplaced = 0;
    std::uint64_t dropped = 0;
    auto result = rows_.take_head({{"unplaced", &unplaced}, {"dropped", &dropped}});
    if (result) result = rows_.take_rest([this](const events::TableRow& row) { return take(row); });
    if (!result) return result;
    finish_probe();
    add_all(unplaced, dropped);
    return {};
  }

 private:
  static constexpr std::size_t kMaxSeries = 20'000;
  static constexpr std::size_t kMaxSizes = 64;  // a bit each in the kernel's masks of size classes
  static constexpr std::uint64_t kNoCpu = ~std::uint64_t{0};

  struct Size {
    std::uint64_t size = 0;  // B
    MallocSums sums;
  };

  bool take(const events::TableRow& row) {
    if (row.word == "probe") return take_probe(row.name[0]);
    if (probe_.empty()) return false;
    return row.word == "size" ? take_size(row.number) : take_large(row.number);
  }

  bool take_probe(std::string_view name) {
    if (name <= probe_ || !is_valid_label_text(name)) return false;
    finish_probe();
    probe_ = name;
    label_ = name;
    const std::size_t place = state_.names.find(name);
    if (place == MallocProbeNames::kUnknown) {
      staging_.set_incomplete();
    } else if (place == MallocProbeNames::kShared) {
      is_any_shared_ = true;
    } else if (staging_.notes()[place]++ == 0) {
      StagedType& type = staging_.merge(state_.names.name(place));
      type.fields = FieldMask(Field::kFailures);
      label_ = type.name;
      failures_ = &type.figures[Field::kFailures];
    } else {
      label_ = {};  // two types with the same first 31 bytes, of which only one was kept
      is_any_shared_ = true;
    }
    const SourceOptionValue* const types = state_.options.empty() ? nullptr : &state_.options[0];
    is_shown_ = !label_.empty() && (types == nullptr || !types->matches || types->matches(label_));
    return true;
  }

  bool take_size(std::span<const std::uint64_t> numbers) {
    const std::uint64_t cpu = numbers[0];
    const std::uint64_t size = numbers[1];
    const std::uint64_t allocations = numbers[2];
    const std::uint64_t frees = numbers[3];
    if (!take_cpu(cpu)) return false;
    if (size == 0) {
      cpu_sums_.add({.failures = allocations});
      return true;
    }
    const MallocSums sums{.allocations = allocations,
                          .allocated = saturating_product(allocations, size),
                          .frees = frees,
                          .freed = saturating_product(frees, size)};
    cpu_sums_.add(sums);
    const auto end = sizes_.begin() + static_cast<std::ptrdiff_t>(size_count_);
    const auto found = std::find_if(sizes_.begin(), end, [size](const Size& known) { return known.size == size; });
    if (found != end) {
      found->sums.add(sums);
      return true;
    }
    if (size_count_ == kMaxSizes) return false;
    sizes_[size_count_++] = {.size = size, .sums = sums};
    return true;
  }

  bool take_large(std::span<const std::uint64_t> numbers) {
    if (!take_cpu(numbers[0])) return false;
    const MallocSums sums{.allocations = numbers[1], .allocated = numbers[2], .frees = numbers[3], .freed = numbers[4]};
    cpu_sums_.add(sums);
    large_.add(sums);
    has_large_ = true;
    return true;
  }

  bool take_cpu(std::uint64_t cpu) {
    if (cpu == kNoCpu || (cpu_ != kNoCpu && cpu < cpu_)) return false;
    if (cpu != cpu_) finish_cpu();
    cpu_ = cpu;
    return true;
  }

  void finish_cpu() {
    if (cpu_ != kNoCpu) {
      show(kMallocEvents, cpu_sums_.allocations, cpu_, "malloc");
      show(kMallocEvents, cpu_sums_.frees, cpu_, "free");
      if (cpu_sums_.failures != 0) show(kMallocEvents, cpu_sums_.failures, cpu_, "malloc_failure");
      show(kMallocEventBytes, cpu_sums_.allocated, cpu_, "malloc");
      show(kMallocEventBytes, cpu_sums_.freed, cpu_, "free");
    }
    probe_sums_.add(cpu_sums_);
    cpu_sums_ = {};
    cpu_ = kNoCpu;
  }

  void finish_probe() {
    finish_cpu();
    for (std::size_t i = 0; i < size_count_; ++i) show_size(sizes_[i].size, sizes_[i].sums);
    if (has_large_) show_size("larger", large_);
    if (failures_ != nullptr) *failures_ = probe_sums_.failures;
    all_.add(probe_sums_);
    probe_sums_ = {};
    size_count_ = 0;
    large_ = {};
    has_large_ = false;
    failures_ = nullptr;
  }

  void show_size(const LabelValue& size, const MallocSums& sums) {
    show(kMallocSizes, sums.allocations, size, "malloc");
    show(kMallocSizes, sums.frees, size, "free");
  }

  void show(const SystemMetric& metric, std::uint64_t value, const LabelValue& part, std::string_view event) {
    if (!is_shown_) return;
    if (++series_count_ <= kMaxSeries) staging_.statistics().add(metric, value, {label_, part, event});
  }

  void add_all(std::uint64_t unplaced, std::uint64_t dropped) {
    StagedStatistics& statistics = staging_.statistics();
    statistics.add(kVmEvents, all_.allocations, {"malloc"});
    statistics.add(kVmEvents, all_.frees, {"free"});
    statistics.add(kVmEvents, all_.failures, {"malloc_failure"});
    statistics.add(kVmEventBytes, all_.allocated, {"malloc"});
    statistics.add(kVmEventBytes, all_.freed, {"free"});
    statistics.add(kLostEvents, unplaced, {"malloc_unplaced"});
    statistics.add(kLostEvents, dropped, {"malloc_dropped"});
    if (series_count_ > kMaxSeries) {
      staging_.add_note("only 20000 series by CPU and by size are shown: choose types with sources.freebsd_dtmalloc.types");
    }
    if (is_any_shared_) staging_.add_note("types that share the name of a probe have no failures");
  }

  events::TableReader rows_;
  const State& state_;
  Staging& staging_;
  std::string_view probe_;             // the current one, as a name; "" before the first
  std::string_view label_;             // its type, or the probe's name if unknown; "" if it must not be shown
  bool is_shown_ = false;              // whether it is shown by CPU and by size
  std::uint64_t* failures_ = nullptr;  // the current type's failures; valid until the next type
  std::uint64_t cpu_ = kNoCpu;         // CPU of the current row
  MallocSums cpu_sums_;                // sums of the probe on this CPU
  MallocSums probe_sums_;
  MallocSums large_;
  bool has_large_ = false;
  std::array<Size, kMaxSizes> sizes_{};
  std::size_t size_count_ = 0;
  MallocSums all_;
  std::size_t series_count_ = 0;  // without the limit
  bool is_any_shared_ = false;
};

Result<void> parse(const RawBytes& raw, const State& state, Staging& staging) { return Parser(raw, state, staging).parse(); }

constexpr MetricOrigin kOrigins[] = {
    {Field::kFailures, "probes dtmalloc::TYPE:malloc with arg3 = 0, of all CPUs"},
    {kMallocEvents, "dtmalloc::TYPE:malloc and free on the CPU; malloc_failure: malloc with arg3 = 0"},
    {kMallocEventBytes, "arg3 of the same"},
    {kMallocSizes, "dtmalloc::TYPE:malloc and free by arg3, of all CPUs"},
    {kVmEvents, "the same of all types"},
    {kVmEventBytes, "arg3 of all types"},
    {kLostEvents, "drops that DTrace reports (malloc_dropped), rows beyond 65536 (malloc_unplaced)"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "freebsd_dtmalloc",
    .origin = "DTrace provider dtmalloc",
    .os = OperatingSystem::kFreeBsd,
    .allocator = Allocator::kMalloc,
    .origins = kOrigins,
    .options = kOptions,
    .is_on_by_default = false,
    .is_traced = true,
    .max_files = SourceDescriptor::kFilesVary,
    .needs = "root",
    .notes =
        "on if key events.mode is counters or full; needs root at start and the kernel module dtmalloc, which memstatd "
        "does not load itself (kldload dtraceall; sysrc kld_list+=dtraceall at each boot); "
        "counts from its start, whereas kern.malloc_stats counts from boot; failures by type have no other "
        "source; sizes are those of the size class; the kernel ends the tracing when it is not read for half a minute, so "
        "poll.interval must be shorter; unload no kernel module while it is attached, because the provider writes to the "
        "module's types when it detaches; types whose names begin with the same 31 bytes, or differ in blanks only, have no "
        "failures; on FreeBSD 15.0 (amd64, November 2026) it counted what kern.malloc_stats counts",
    .steps = source_steps<State, open, read, parse>(),
};

}  // namespace memstat::sources::freebsd_dtmalloc
