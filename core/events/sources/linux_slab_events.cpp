// SPDX-License-Identifier: BSD-2-Clause
// Allocations, frees and failures of Linux slab caches, counted from the events of the allocator since memstatd attached to
// them (core/events/slab/slab_events.h). The text, in this order:
//
//   slab_events 1                 the version
//   kmalloc_frees 0|1             1: frees of the caches of kmalloc() are counted
//   counted_by_sysfs 0|1          1: the kernel counts allocations and frees itself, and linux_slab_sysfs has them
//   unplaced N                    events of caches for which there was no room
//   missed N                      events during an event of the same kind on the same CPU
//   governor ATTACHED WEIGHT COST_NS SAMPLED_NS BUDGET_PPM [later|lost]      may be missing; ATTACHED 0: then "end" follows
//   type SIZE NAME                a cache: B that an object takes; type_without_frees: its frees are not known
//   cpu N ALLOCATIONS FREES REQUESTED FAILURES      of the type above on CPU N; CPUs with nothing but 0 are left out
//   event EVENT COUNT [BYTES]     of all caches and of what is no cache's; bytes: requested
//   large SIZE COUNT              kmalloc() beyond the largest cache that got this number of bytes, or less
//   gfp ALLOCATOR CLASS ALLOCATIONS FAILURES        by class of GFP flags, where that is counted
//   sizes ALLOCATOR BYTES COUNT...      allocations by size, up to 8 B, 16 B, ..., 1 GiB, and above; where that is counted
//   end
//
// A name may come twice (caches of one name, a kmalloc() that failed): it is one type with the sums. What is in use is never
// derived: bulk frees and frees after a grace period have no event, so allocations less frees drift without bound.
#include <array>
#include <limits>
#include <string>

#include "core/base/arithmetic.h"
#include "core/base/text.h"
#include "core/events/attach/event_settings.h"
#include "core/events/slab/slab_events.h"
#include "core/events/table/event_metrics.h"
#include "core/events/table/table_lines.h"
#include "core/source.h"

namespace memstat::sources::linux_slab_events {
namespace {

using events::kLostEvents;
using events::kVmEventBytes;
using events::kVmEvents;
using events::take_number;

constexpr SourceOption kOptions[] = {
    events::events_option("counters", "The mode of key events and what they may cost, in millionths of a CPU."),
    events::kGfpOption};
constexpr std::size_t kGfpClassesOption = 1;

constexpr std::string_view kTable = "linux_slab_events";

constexpr FieldMask kKernelCounts{Field::kNumAllocs, Field::kNumFrees};
constexpr CpuFieldMask kKernelCpuCounts{CpuField::kNumAllocs, CpuField::kNumFrees};

struct State final : ReaderState {
  std::unique_ptr<LiveTable> table;
};

/// Replays call neither step of the table.
LiveTable& table_of(State& state) {
  if (!state.table) {
    const bool has_classes = state.options[kGfpClassesOption].number != 0;
    state.table = events::make_slab_events(state.options[0].text + std::string(has_classes ? events::kGfpWord : ""));
  }
  return *state.table;
}

Result<void> open(KernelView& view, RawBytes&, State& state) { return view.open_table(kTable, table_of(state)); }

Result<void> read(KernelView& view, RawBytes& raw, State& state) {
  return view.read_table(kTable, table_of(state), raw.parts[0]);
}

/// Parses one text. Thread safety: none.
class Parser {
 public:
  Parser(const RawBytes& raw, Staging& staging)
      : lines_(kTable, raw.parts[0].view()),
        size_of_text_(raw.parts[0].size()),
        cpu_count_(raw.cpu_count),
        staging_(staging) {}

  Result<void> parse() {
    staging_.reset({}, 0);
    if (auto result = parse_header(); !result) return result;
    const auto take_line = [this](std::string_view line) {
      std::string_view word;
      next_word(line, word);
      return take(word, line);
    };
    auto result = lines_.take_rest(take_line, "is no type with its size, CPU with its five numbers, or event");
    if (result && staging_.types().empty() && !governor_.is_detached()) return lines_.wrong(size_of_text_, "names no cache");
    return result;
  }

 private:
  Result<void> parse_header() {
    if (auto result = lines_.take_version("slab_events 1"); !result) return result;
    constexpr std::array<std::string_view, 4> kWords{"kmalloc_frees", "counted_by_sysfs", "unplaced", "missed"};
    std::array<std::uint64_t, kWords.size()> numbers{};
    for (std::size_t i = 0; i < kWords.size(); ++i) {
      if (auto result = lines_.take_figure(kWords[i], numbers[i]); !result) return result;
    }
    CpuFieldMask cpu_fields = cpu_fields_;
    if (numbers[0] == 0) {
      cpu_fields.remove(CpuField::kNumFrees);
      cpu_fields.remove(CpuField::kMemFreed);
    }
    if (numbers[1] != 0) {
      fields_ = fields_ - kKernelCounts;
      cpu_fields = cpu_fields - kKernelCpuCounts;
    }
    staging_.reset(cpu_fields, cpu_count_);
    if (numbers[1] != 0) staging_.leave(kKernelCounts, kKernelCpuCounts);
    staging_.statistics().add(kLostEvents, numbers[2], {"unplaced"});
    staging_.statistics().add(kLostEvents, numbers[3], {"missed"});
    return {};
  }

  bool take(std::string_view word, std::string_view line) {
    if (word == "cpu") return take_cpu(line);
    if (word == "type" || word == "type_without_frees") return take_type(line, word == "type");
    if (word == "governor") return governor_.take(line, kTable, staging_);
    if (word == "event") return event_count_++ < kMostEvents && events::take_event(line, staging_);
    if (word == "gfp") return gfp_.take(line, staging_);
    if (word == "sizes") return size_count_++ < kMostSizes && events::take_sizes(line, staging_);
    return word == "large" && take_large(line);
  }

  static bool take_large(std::string_view line) {
    std::uint64_t size = 0;
    std::uint64_t count = 0;
    return take_number(line, size) && take_number(line, count) && line.empty();
  }

  bool take_type(std::string_view line, bool has_frees) {
    if (!take_number(line, size_)) return false;
    if (line.size() < 2) return false;  // the name stands behind one blank, and may have more of them
    StagedType& type = staging_.merge(line.substr(1));
    index_ = static_cast<std::size_t>(&type - staging_.types().data());
    if (type.fields.empty()) type.fields = fields_;
    if (!has_frees) type.fields = type.fields - FieldMask(Field::kNumFrees, Field::kMemFreed);
    figures_ = &type.figures;
    return true;
  }

  void add(Field field, std::uint64_t amount) { (*figures_)[field] = saturating_sum((*figures_)[field], amount); }
  void add(CpuField field, std::uint32_t cpu, std::uint64_t amount) {
    if (!staging_.cpu_fields().has(field)) return;
    staging_.set_cpu_figure(index_, field, cpu, saturating_sum(staging_.cpu_figure(index_, field, cpu), amount));
  }

  bool take_cpu(std::string_view line) {
    std::array<std::uint64_t, 5> numbers{};
    for (std::uint64_t& number : numbers) {
      if (!take_number(line, number)) return false;
    }
    if (figures_ == nullptr || !line.empty()) return false;
    const auto& [cpu, allocations, frees, requested, failures] = numbers;
    const std::uint64_t allocated = saturating_product(allocations, size_);
    const std::uint64_t freed = saturating_product(frees, size_);
    add(Field::kNumAllocs, allocations);
    add(Field::kNumFrees, frees);
    add(Field::kMemAlloced, allocated);
    add(Field::kMemFreed, freed);
    add(Field::kRequestedBytes, requested);
    add(Field::kFailures, failures);
    if (cpu >= cpu_count_) return true;  // plugged in since the CPUs were counted: next time
    const auto place = static_cast<std::uint32_t>(cpu);
    add(CpuField::kNumAllocs, place, allocations);
    add(CpuField::kNumFrees, place, frees);
    add(CpuField::kMemAlloced, place, allocated);
    add(CpuField::kMemFreed, place, freed);
    return true;
  }

  events::TableLines lines_;
  events::GovernorLine governor_;
  events::GfpLines gfp_;
  std::size_t size_of_text_;
  std::uint32_t cpu_count_;
  Staging& staging_;
  FieldMask fields_{Field::kNumAllocs, Field::kNumFrees,       Field::kMemAlloced,
                    Field::kMemFreed,  Field::kRequestedBytes, Field::kFailures};
  CpuFieldMask cpu_fields_{CpuField::kNumAllocs, CpuField::kNumFrees, CpuField::kMemAlloced, CpuField::kMemFreed};
  static constexpr std::size_t kMostEvents = 64;
  std::size_t event_count_ = 0;
  static constexpr std::size_t kMostSizes = 8;
  std::size_t size_count_ = 0;
  std::uint64_t size_ = 0;      // B, of the type at hand
  std::size_t index_ = 0;       // of it
  Figures* figures_ = nullptr;  // of it; lives until the next one
};

Result<void> parse(const RawBytes& raw, Staging& staging) { return Parser(raw, staging).parse(); }

constexpr MetricOrigin kOrigins[] = {
    {Field::kNumAllocs, "kmem:kmalloc + kmem:kmem_cache_alloc since attaching"},
    {Field::kNumFrees, "kmem:kfree + kmem:kmem_cache_free since attaching"},
    {Field::kMemAlloced, "allocations x size of struct kmem_cache"},
    {Field::kMemFreed, "frees x size of struct kmem_cache"},
    {Field::kRequestedBytes, "bytes_req of kmem:kmalloc, object_size x kmem:kmem_cache_alloc"},
    {Field::kFailures, "those of both that gave no memory"},
    {CpuField::kNumAllocs, "the same on the CPU"},
    {CpuField::kNumFrees, "the same on the CPU"},
    {CpuField::kMemAlloced, "the same on the CPU"},
    {CpuField::kMemFreed, "the same on the CPU"},
    {kVmEvents, "the same of all caches and, of kmalloc and kfree, of what is no cache's, _node of those that named a node"},
    {kVmEventBytes, "bytes_req of the same"},
    {kLostEvents, "counted by memstatd's programs and, as recursion_misses, by the kernel"},
    {events::kAllocationSizes, "bytes_req of kmem:kmalloc, object_size of the caches of kmem:kmem_cache_alloc"},
    {events::kGfpAllocations, "gfp_flags of kmem:kmem_cache_alloc and kmalloc"},
    {events::kGfpFailures, "the same, without an object"},
    {events::kEventsCost, "events x ns an event, or run_time_ns of memstatd's programs"},
    {events::kEventsSampled, "memstatd's governor"},
    {events::kEventsCounted, "memstatd's governor"},
    {events::kEventsBudget, "key events.budget"},
};

}  // namespace

extern const SourceDescriptor descriptor;
const SourceDescriptor descriptor{
    .name = "linux_slab_events",
    .origin = "raw tracepoints kmem:kmalloc, kfree, kmem_cache_alloc, kmem_cache_free",
    .os = OperatingSystem::kLinux,
    .allocator = Allocator::kSlab,
    .is_roster = false,
    .fields = fields_of(kOrigins),
    .cpu_fields = cpu_fields_of(kOrigins),
    .origins = kOrigins,
    .options = kOptions,
    .is_on_by_default = false,
    .is_traced = true,
    .helper_capabilities = events::kAttachCapabilities,
    .needs = events::kAttachNeeds,
    .notes =
        "on where key events.mode is counters or full; needs root, or CAP_BPF and CAP_PERFMON, at start, and Linux 6.1 with "
        "BTF; "
        "counts "
        "from its start, so that its counters are less than those since boot; objects in use are not derived from it, "
        "because "
        "frees in bulk and after a grace period have no event; kmalloc() above 8 KiB is no cache's; frees of the caches of "
        "kmalloc() from Linux 6.13 on; costs each allocation and free of the kernel some 30 ns; at most 1024 caches",
    .steps = source_steps<State, open, read, parse>(),
};

}  // namespace memstat::sources::linux_slab_events
