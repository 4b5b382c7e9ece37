// SPDX-License-Identifier: BSD-2-Clause
// Allocations, frees and failures of Linux slab caches, counted from the events of the allocator since memstatd attached to
// them. The text, in this order:
//
//   slab_events 1                 the version
//   kmalloc_frees 0|1             1: frees of the caches of kmalloc() are counted
//   counted_by_sysfs 0|1          1: the kernel counts allocations and frees itself, and linux_slab_sysfs has them
//   unplaced N                    events of caches without room
//   missed N                      events that occurred during one of the same kind on the same CPU
//   governor ATTACHED WEIGHT COST_NS SAMPLED_NS BUDGET_PPM [later|lost]      optional; if ATTACHED is 0, "end" follows
//   type SIZE NAME                a cache, with B per object; type_without_frees: its frees are unknown
//   cpu N ALLOCATIONS FREES REQUESTED FAILURES      of the type above on CPU N; omitted if all are 0
//   event EVENT COUNT [BYTES]     of all caches and of allocations without a cache; bytes requested
//   large SIZE COUNT              kmalloc() above the largest cache, of up to this number of bytes
//   gfp ALLOCATOR CLASS ALLOCATIONS FAILURES        by GFP class, if enabled
//   sizes ALLOCATOR BYTES COUNT...      allocations by size, up to 8 B, 16 B, ..., 1 GiB, and above; if enabled
//   end
//
// A name may occur twice (caches with the same name, a failed kmalloc()); it is one type with the sums. Amounts in use are
// never derived: bulk frees and frees after a grace period have no event, so allocations less frees drift without bound.
#include <string>

#include "core/base/arithmetic.h"
#include "core/events/attach/event_source.h"
#include "core/events/attach/live_tables.h"
#include "core/events/slab/slab_rows.h"
#include "core/source.h"

namespace memstat::sources::linux_slab_events {
namespace {

using events::kLostEvents;
using events::kVmEventBytes;
using events::kVmEvents;

constexpr SourceOption kOptions[] = {
    events::events_option("counters", "The mode of key events and what they may cost, in millionths of a CPU."),
    events::kGfpOption};
constexpr std::size_t kGfpClassesOption = 1;

constexpr FieldMask kKernelCounts{Field::kNumAllocs, Field::kNumFrees};
constexpr CpuFieldMask kKernelCpuCounts{CpuField::kNumAllocs, CpuField::kNumFrees};

std::unique_ptr<TextTableSource> make_slab_table(const ReaderState& state) {
  const bool has_classes = state.options[kGfpClassesOption].number != 0;
  return events::make_slab_events(state.options[0].text + std::string(has_classes ? events::kGfpWord : ""));
}

class Parser {
 public:
  Parser(const RawBytes& raw, Staging& staging)
      : rows_(events::kSlabTable, raw.parts[0].view()), cpu_count_(raw.cpu_count), staging_(staging) {}

  Result<void> parse() {
    staging_.reset({}, 0);
    if (auto result = parse_header(); !result) return result;
    auto result = rows_.take_rest([this](const events::TableRow& row) { return take(row); });
    if (result && staging_.types().empty() && !governor_.is_detached()) return rows_.wrong(rows_.size(), "has no cache");
    return result;
  }

 private:
  Result<void> parse_header() {
    std::uint64_t has_frees = 0;
    std::uint64_t is_counted = 0;
    std::uint64_t unplaced = 0;
    std::uint64_t missed = 0;
    auto result = rows_.take_head(
        {{"kmalloc_frees", &has_frees}, {"counted_by_sysfs", &is_counted}, {"unplaced", &unplaced}, {"missed", &missed}});
    if (!result) return result;
    CpuFieldMask cpu_fields = cpu_fields_;
    if (has_frees == 0) {
      cpu_fields.remove(CpuField::kNumFrees);
      cpu_fields.remove(CpuField::kMemFreed);
    }
    if (is_counted != 0) {
      fields_ = fields_ - kKernelCounts;
      cpu_fields = cpu_fields - kKernelCpuCounts;
    }
    staging_.reset(cpu_fields, cpu_count_);
    if (is_counted != 0) staging_.omit(kKernelCounts, kKernelCpuCounts);
    staging_.statistics().add(kLostEvents, unplaced, {"unplaced"});
    staging_.statistics().add(kLostEvents, missed, {"missed"});
    return {};
  }

  bool take(const events::TableRow& row) {
    if (row.word == "cpu") return take_cpu(row);
    if (row.word == "type" || row.word == "type_without_frees") return take_type(row);
    if (row.word == "governor") return governor_.take(row, events::kSlabTable.source, staging_);
    if (row.word == "event") return events::take_event(row, staging_);
    if (row.word == "gfp") return gfp_.take(row, staging_);
    if (row.word == "sizes") return events::take_sizes(row, staging_);
    return row.word == "large";
  }

  bool take_type(const events::TableRow& row) {
    size_ = row.number[0];
    StagedType& type = staging_.merge(row.name[0]);
    index_ = static_cast<std::size_t>(&type - staging_.types().data());
    if (type.fields.empty()) type.fields = fields_;
    if (row.word != "type") type.fields = type.fields - FieldMask(Field::kNumFrees, Field::kMemFreed);
    figures_ = &type.figures;
    return true;
  }

  void add(Field field, std::uint64_t amount) { (*figures_)[field] = saturating_sum((*figures_)[field], amount); }
  void add(CpuField field, std::uint32_t cpu, std::uint64_t amount) {
    if (!staging_.cpu_fields().has(field)) return;
    staging_.set_cpu_figure(index_, field, cpu, saturating_sum(staging_.cpu_figure(index_, field, cpu), amount));
  }

  bool take_cpu(const events::TableRow& row) {
    if (figures_ == nullptr) return false;
    const std::uint64_t allocations = row.number[1];
    const std::uint64_t frees = row.number[2];
    const std::uint64_t allocated = saturating_product(allocations, size_);
    const std::uint64_t freed = saturating_product(frees, size_);
    add(Field::kNumAllocs, allocations);
    add(Field::kNumFrees, frees);
    add(Field::kMemAlloced, allocated);
    add(Field::kMemFreed, freed);
    add(Field::kRequestedBytes, row.number[3]);
    add(Field::kFailures, row.number[4]);
    if (row.number[0] >= cpu_count_) return true;  // hot-plugged after the CPUs were counted; shown next time
    const auto cpu = static_cast<std::uint32_t>(row.number[0]);
    add(CpuField::kNumAllocs, cpu, allocations);
    add(CpuField::kNumFrees, cpu, frees);
    add(CpuField::kMemAlloced, cpu, allocated);
    add(CpuField::kMemFreed, cpu, freed);
    return true;
  }

  events::TableReader rows_;
  events::GovernorRow governor_;
  events::GfpRows gfp_;
  std::uint32_t cpu_count_;
  Staging& staging_;
  FieldMask fields_{Field::kNumAllocs, Field::kNumFrees,       Field::kMemAlloced,
                    Field::kMemFreed,  Field::kRequestedBytes, Field::kFailures};
  CpuFieldMask cpu_fields_{CpuField::kNumAllocs, CpuField::kNumFrees, CpuField::kMemAlloced, CpuField::kMemFreed};
  std::uint64_t size_ = 0;      // B, of the current type
  std::size_t index_ = 0;       // index of the current type
  Figures* figures_ = nullptr;  // figures of the current type; valid until the next one
};

Result<void> parse(const RawBytes& raw, Staging& staging) { return Parser(raw, staging).parse(); }

constexpr auto kOrigins = events::with_costs({
    {Field::kNumAllocs, "kmem:kmalloc + kmem:kmem_cache_alloc since attaching"},
    {Field::kNumFrees, "kmem:kfree + kmem:kmem_cache_free since attaching"},
    {Field::kMemAlloced, "allocations x size of struct kmem_cache"},
    {Field::kMemFreed, "frees x size of struct kmem_cache"},
    {Field::kRequestedBytes, "bytes_req of kmem:kmalloc, object_size x kmem:kmem_cache_alloc"},
    {Field::kFailures, "failed calls of both"},
    {CpuField::kNumAllocs, "the same on the CPU"},
    {CpuField::kNumFrees, "the same on the CPU"},
    {CpuField::kMemAlloced, "the same on the CPU"},
    {CpuField::kMemFreed, "the same on the CPU"},
    {kVmEvents, "the same for all caches, kmalloc and kfree also without a cache, _node for those that named a node"},
    {kVmEventBytes, "bytes_req of the same"},
    {kLostEvents, "counted by memstatd's programs and, as recursion_misses, by the kernel"},
    {events::kAllocationSizes, "bytes_req of kmem:kmalloc, object_size of the caches of kmem:kmem_cache_alloc"},
    {events::kGfpAllocations, "gfp_flags of kmem:kmem_cache_alloc and kmalloc"},
    {events::kGfpFailures, "the same, without an object"},
});

}  // namespace

extern const SourceDescriptor descriptor = events::attached_source({
    .name = "linux_slab_events",
    .origin = "raw tracepoints kmem:kmalloc, kfree, kmem_cache_alloc, kmem_cache_free",
    .os = OperatingSystem::kLinux,
    .allocator = Allocator::kSlab,
    .origins = kOrigins,
    .options = kOptions,
    .notes = "on if key events.mode is counters or full; needs root, or CAP_BPF and CAP_PERFMON, at start, and Linux 6.1 "
             "with BTF; counts from its start, not from boot; objects in use are not derived from it, because frees in bulk "
             "and after a grace period have no event; kmalloc() above 8 KiB uses no cache; frees of kmalloc() caches need "
             "Linux 6.13; adds some 30 ns to each allocation and free of the kernel; at most 1024 caches",
    .steps = events::table_steps<events::kSlabTable, make_slab_table, parse>(),
});

}  // namespace memstat::sources::linux_slab_events
