// SPDX-License-Identifier: BSD-2-Clause
// Linux slab caches, from one pass of the kernel's iterator over them. Free objects are counted wherever they are, so the
// number in use is exact; linux_slabinfo counts free objects in CPU slabs and sheaves as used. The text, in this order:
//
//   slab_caches 1                 the version
//   type SIZE OBJECT_SIZE PAGES SLABS OBJECTS ON_LISTS IN_BARNS IN_SLABS IN_SHEAVES NAME
//                                 a cache: B that an object takes, B that a caller gets, pages of a slab; slabs; objects
//                                 that these have room for; and which of them are free: in slabs on the nodes' lists, in the
//                                 nodes' barns of full sheaves, in slabs that CPUs hold, in sheaves of CPUs. type_about: a
//                                 list was not counted whole at this pass, and its rest was estimated
//   node N SLABS OBJECTS PARTIAL_SLABS FREE IN_BARN     of the type above on node N; FREE: in partial slabs
//   cpu N SLABS FREE IN_SHEAVES   of the type above on CPU N; FREE: in slabs that it holds
//   end
//
// Nodes without slabs and CPUs that hold nothing are left out. Caches of the same name are types of the same name, in the
// order of linux_slabinfo, which is read if this source is not available.
#include <algorithm>
#include <array>
#include <memory>

#include "core/base/arithmetic.h"
#include "core/events/attach/event_source.h"
#include "core/events/attach/live_tables.h"
#include "core/events/bpf/slab_caches_layout.h"
#include "core/events/caches/slab_caches_rows.h"
#include "core/source.h"

namespace memstat::sources::linux_slab_bpf {
namespace {

constexpr SourceOption kModeOfPass[] = {
    {.name = "events",
     .kind = SourceOption::Kind::kKey,
     .default_pattern = "failures",
     .help = "The mode of key events: all but off load the program, which runs at each poll and attaches to no event."}};

std::unique_ptr<TextTableSource> make_pass(const ReaderState&) { return events::make_slab_caches(); }

class PassParser {
 public:
  PassParser(const RawBytes& raw, Staging& staging)
      : table_(raw.parts[0].view()), page_size_(raw.page_size), cpu_count_(raw.cpu_count), staging_(staging) {}

  /// Nodes come after the types that have figures on them, so start with the previous number of nodes.
  Result<void> parse() {
    std::uint32_t nodes = staging_.node_count();
    while (true) {
      node_count_ = 0;
      if (auto result = parse_with(nodes); !result || node_count_ == nodes) return result;
      nodes = node_count_;
    }
  }

 private:
  Result<void> parse_with(std::uint32_t nodes) {
    staging_.reset({}, 0);
    events::TableReader rows(events::kSlabCachesTable, table_);
    if (auto result = rows.take_head(); !result) return result;
    staging_.reset(CpuFieldMask(CpuField::kFree), cpu_count_);
    staging_.set_nodes(NodeFieldMask(NodeField::kHeldBytes, NodeField::kTotalObjects), nodes);
    have_cpus_slabs_ = false;
    auto result = rows.take_rest([this](const events::TableRow& row) { return take(row); });
    if (!result) return result;
    if (staging_.types().empty()) return rows.wrong(rows.size(), "has no cache");
    if (!have_cpus_slabs_) staging_.omit(FieldMask(Field::kCpuSlabs), {});
    return {};
  }

  bool take(const events::TableRow& row) {
    if (row.word == "type" || row.word == "type_about") return take_type(row);
    if (staging_.types().empty()) return false;
    return row.word == "cpu" ? take_cpu(row) : take_node(row);
  }

  bool take_type(const events::TableRow& row) {
    const auto [size, object_size, pages, slabs, objects, on_lists, in_barns, in_slabs, in_sheaves] =
        std::to_array<std::uint64_t, 9>({row.number[0], row.number[1], row.number[2], row.number[3], row.number[4],
                                         row.number[5], row.number[6], row.number[7], row.number[8]});
    const std::uint64_t free = saturating_sum(saturating_sum(on_lists, in_barns), saturating_sum(in_slabs, in_sheaves));
    type_ = &staging_.add(row.name[0]);
    cpu_rows_ = node_rows_ = 0;
    type_->fields = kFields;
    Figures& figures = type_->figures;
    // The counters are read one after another, so more objects may seem free than exist.
    figures[Field::kFree] = std::min(free, objects);
    figures[Field::kCount] = objects - figures[Field::kFree];
    figures[Field::kSize] = object_size;
    figures[Field::kRSize] = size;
    figures[Field::kSlabs] = slabs;
    return !__builtin_mul_overflow(figures[Field::kCount], size, &figures[Field::kBytes]) &&
           !__builtin_mul_overflow(pages, page_size_, &slab_bytes_) &&
           !__builtin_mul_overflow(slabs, slab_bytes_, &figures[Field::kHeldBytes]);
  }

  bool take_node(const events::TableRow& row) {
    const auto [node, slabs, objects, partial_slabs] =
        std::to_array<std::uint64_t, 4>({row.number[0], row.number[1], row.number[2], row.number[3]});
    if (node >= kMaxNodes) return false;
    // The BPF program omits further nodes, so the sum is unknown.
    if (++node_rows_ == MEMSTAT_CACHE_NODES) type_->fields.remove(Field::kPartialSlabs);
    type_->figures[Field::kPartialSlabs] = saturating_sum(type_->figures[Field::kPartialSlabs], partial_slabs);
    node_count_ = std::max(node_count_, static_cast<std::uint32_t>(node) + 1);
    std::uint64_t held = 0;
    if (__builtin_mul_overflow(slabs, slab_bytes_, &held)) return false;
    if (node >= staging_.node_count()) return true;
    staging_.node_figure(*type_, NodeField::kHeldBytes, static_cast<std::uint32_t>(node)) = held;
    staging_.node_figure(*type_, NodeField::kTotalObjects, static_cast<std::uint32_t>(node)) = objects;
    return true;
  }

  bool take_cpu(const events::TableRow& row) {
    if (++cpu_rows_ == MEMSTAT_CACHE_CPUS) type_->fields.remove(Field::kCpuSlabs);
    type_->figures[Field::kCpuSlabs] = saturating_sum(type_->figures[Field::kCpuSlabs], row.number[1]);
    have_cpus_slabs_ = have_cpus_slabs_ || row.number[1] != 0;
    if (row.number[0] >= cpu_count_) return true;  // hot-plugged after the CPUs were counted; shown next time
    staging_.set_cpu_figure(staging_.types().size() - 1, CpuField::kFree, static_cast<std::uint32_t>(row.number[0]),
                            saturating_sum(row.number[2], row.number[3]));
    return true;
  }

  static constexpr FieldMask kFields{Field::kBytes, Field::kCount, Field::kHeldBytes,    Field::kFree,    Field::kSize,
                                     Field::kRSize, Field::kSlabs, Field::kPartialSlabs, Field::kCpuSlabs};

  std::string_view table_;
  std::uint64_t page_size_;
  std::uint32_t cpu_count_;
  Staging& staging_;
  std::uint32_t node_count_ = 0;  // the highest node of the table so far, plus one
  bool have_cpus_slabs_ = false;
  // The type being read.
  StagedType* type_ = nullptr;
  std::uint64_t slab_bytes_ = 0;
  std::uint32_t node_rows_ = 0;
  std::uint32_t cpu_rows_ = 0;
};

Result<void> parse_pass(const RawBytes& raw, Staging& staging) { return PassParser(raw, staging).parse(); }

constexpr MetricOrigin kOriginsOfPass[] = {
    {Field::kBytes, "objects in use x size of struct kmem_cache"},
    {Field::kCount, "total_objects of each node - those free in slabs and sheaves of lists, CPUs and barns"},
    {Field::kHeldBytes, "nr_slabs of each node x pages of a slab x page size"},
    {Field::kFree, "objects - inuse of partial slabs + freelists and partial slabs of CPUs + sheaves of CPUs and barns"},
    {Field::kSize, "object_size of struct kmem_cache"},
    {Field::kRSize, "size of struct kmem_cache"},
    {Field::kSlabs, "nr_slabs of each node"},
    {Field::kPartialSlabs, "nr_partial of each node"},
    {Field::kCpuSlabs, "slab and partial of struct kmem_cache_cpu, until 6.19"},
    {NodeField::kHeldBytes, "nr_slabs of the node x pages of a slab x page size"},
    {NodeField::kTotalObjects, "total_objects of the node"},
    {CpuField::kFree,
     "freelist and partial slabs of struct kmem_cache_cpu + main, spare and rcu_free of struct "
     "slub_percpu_sheaves"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "linux_slab_bpf",
    .origin = "BPF iterator kmem_cache",
    .os = OperatingSystem::kLinux,
    .allocator = Allocator::kSlab,
    .origins = kOriginsOfPass,
    .options = kModeOfPass,
    .is_on_by_default = false,
    .is_traced = true,
    .replaces = "linux_slabinfo",
    .max_files = 1,
    .needs = events::kAttachNeeds,
    .notes =
        "on unless key events.mode is off, if it is permitted: needs root, or CAP_BPF and CAP_PERFMON, at start, and Linux "
        "6.13 with BTF; replaces linux_slabinfo, which is then not read and which counts free objects in slabs and sheaves "
        "of CPUs as used; has the figures of linux_slab_sysfs, too, whose files are then not opened; takes no lock, so no "
        "allocation waits for it; estimates lists of partial slabs that change while they are walked or have more than "
        "10000 slabs; counts the free objects of lists of 16 or more slabs at every sixth poll, of 448 or more less often, "
        "of 3072 or more at every forty-eighth, and when their length changes by a sixteenth, and takes the same "
        "average per slab in between",
    .steps = events::table_steps<events::kSlabCachesTable, make_pass, parse_pass>(),
};

}  // namespace memstat::sources::linux_slab_bpf
