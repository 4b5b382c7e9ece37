// SPDX-License-Identifier: BSD-2-Clause
// Loads and attaches bpf/slab_events.bpf.c. Its BTF shows what the kernel has: the arguments of tracepoints, the
// function that returns an object's cache, the bits of the GFP flags.
#include "core/events/attach/live_tables.h"

#if defined(MEMSTAT_HAVE_LIBBPF)

#include <unistd.h>

#include <cerrno>
#include <span>

#include "core/events/attach/attached_table.h"
#include "core/events/attach/embedded_programs.h"
#include "core/events/bpf/slab_layout.h"
#include "core/events/slab/slab_rows.h"

namespace memstat::events {
namespace {

constexpr const char* kStatisticsFile = "/sys/kernel/slab/kmem_cache/alloc_fastpath";

class SlabEvents final : public GovernedTable {
 public:
  SlabEvents(const EventSettings& settings, EventBudget& budget) : GovernedTable(kSlabTable, settings, budget) {
    facts_.has_sizes = settings.is_full;
    facts_.has_gfp_classes = settings.has_gfp_classes;
  }
  Result<void> read(Buffer& out) override;

 private:
  Result<void> check(const btf& types) override;
  Result<void> load(const btf& types) override;
  std::uint64_t events_now() override { return count_slab_events(slots(), cpus()); }
  const memstat_slab_slots& slots() const { return *static_cast<const memstat_slab_slots*>(shared_.get()); }
  std::span<const memstat_slab_cpu> cpus() const {
    return {static_cast<const memstat_slab_cpu*>(by_cpu_.get()), cpu_count_};
  }

  SlabFacts facts_;
};

Result<void> SlabEvents::check(const btf& types) {
  facts_.has_kmalloc_frees = has_function(types, "bpf_get_kmem_cache");
  facts_.is_counted_by_sysfs = ::access(kStatisticsFile, F_OK) == 0;
  return check_slab_events(types);
}

Result<void> SlabEvents::load(const btf& types) {
  const memstat_slab_flags flags{.reclaimable = gfp_flag(types, "___GFP_RECLAIMABLE_BIT", 0x10),
                                 .account = gfp_flag(types, "___GFP_ACCOUNT_BIT", 0x400000),
                                 .dma = gfp_flag(types, "___GFP_DMA_BIT", 0x1),
                                 .has_sizes = facts_.has_sizes ? 1U : 0U,
                                 .classes = gfp_flags(types, facts_.has_gfp_classes)};
  return load_programs_of(facts_.has_kmalloc_frees ? slab_events_with_owner() : slab_events_by_size(),
                          std::as_bytes(std::span(&flags, 1)),
                          {.shared = sizeof(memstat_slab_slots), .by_cpu = sizeof(memstat_slab_cpu)});
}

Result<void> SlabEvents::read(Buffer& out) {
  if (!is_open()) return refused(kSlabTable.source, EPERM);
  facts_.missed_events = look(events_now()).missed_events;
  facts_.governor = governor_.facts();
  write_slab_rows(slots(), cpus(), facts_, out);
  return {};
}

}  // namespace

std::unique_ptr<TextTableSource> make_slab_events(std::string_view settings, EventBudget& budget) {
  return std::make_unique<SlabEvents>(event_settings(settings), budget);
}

}  // namespace memstat::events

#endif
