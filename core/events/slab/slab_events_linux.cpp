// SPDX-License-Identifier: BSD-2-Clause
// Loads and attaches bpf/slab_events.bpf.c. What this kernel has is asked of its BTF: the arguments of its tracepoints, the
// function that gives an object's cache, the bits of the GFP flags.
#include "core/events/slab/slab_events.h"

#if defined(MEMSTAT_HAVE_LIBBPF)

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <string>
#include <utility>

#include "core/events/attach/bpf_kernel.h"
#include "core/events/attach/embedded_programs.h"
#include "core/events/attach/event_settings.h"
#include "core/events/attach/governed_programs.h"
#include "core/events/bpf/slab_layout.h"
#include "core/events/slab/slab_text.h"

namespace memstat::events {
namespace {

constexpr const char* kStatisticsFile = "/sys/kernel/slab/kmem_cache/alloc_fastpath";

/// The programs, attached. Thread safety: none.
class SlabEvents final : public LiveTable {
 public:
  SlabEvents(const EventSettings& settings, EventBudget& budget) : governor_(settings.budget_ppm, budget) {
    facts_.has_sizes = settings.is_full;
    facts_.has_gfp_classes = settings.has_gfp_classes;
  }
  Result<void> open() override;
  Result<void> read(Buffer& out) override;
  bool tend() override;

 private:
  Result<void> choose(const btf& types);
  Result<void> load(const btf& types);
  Result<void> attach();
  const memstat_slab_slots& slots() const { return *static_cast<const memstat_slab_slots*>(shared_.get()); }
  std::span<const memstat_slab_cpu> cpus() const {
    return {static_cast<const memstat_slab_cpu*>(by_cpu_.get()), cpu_count_};
  }

  std::span<const unsigned char> programs_;  // the ELF file that suits this kernel
  ObjectPointer object_;
  AttachedPrograms attached_;  // behind the object, so that they go first
  SharedMap shared_;
  SharedMap by_cpu_;
  std::size_t cpu_count_ = 0;
  Governor governor_;
  GovernedPrograms governed_;
  SlabTextFacts facts_;
};

/// Which of the two objects suits this kernel.
Result<void> SlabEvents::choose(const btf& types) {
  if (!points_to(types, "kmem_cache_alloc", 2, "kmem_cache") || !points_to(types, "kmem_cache_free", 2, "kmem_cache")) {
    return not_present("kmem:kmem_cache_alloc",
                       "the events of this kernel do not name the cache (they do from Linux 6.1 on)");
  }
  if (arguments_of(types, "kmalloc") < 5 || arguments_of(types, "kfree") < 2) {
    return not_present("kmem:kmalloc", "this kernel has no such event with the arguments that memstatd knows");
  }
  facts_.has_kmalloc_frees = has_function(types, "bpf_get_kmem_cache");
  facts_.is_counted_by_sysfs = ::access(kStatisticsFile, F_OK) == 0;
  programs_ = facts_.has_kmalloc_frees ? slab_events_with_owner() : slab_events_by_size();
  return {};
}

Result<void> SlabEvents::load(const btf& types) {
  auto object = open_programs(programs_);
  if (!object) return object.error();
  object_ = *std::move(object);
  bpf_map* by_cpu = bpf_object__find_map_by_name(object_.get(), "by_cpu");
  bpf_map* shared = bpf_object__find_map_by_name(object_.get(), ".bss");
  bpf_map* flags = bpf_object__find_map_by_name(object_.get(), ".rodata");
  if (by_cpu == nullptr || shared == nullptr || flags == nullptr ||
      bpf_map__value_size(shared) < sizeof(memstat_slab_slots)) {
    return refused("the maps of the programs", EINVAL);
  }
  const memstat_slab_flags gfp{.reclaimable = gfp_flag(types, "___GFP_RECLAIMABLE_BIT", 0x10),
                               .account = gfp_flag(types, "___GFP_ACCOUNT_BIT", 0x400000),
                               .dma = gfp_flag(types, "___GFP_DMA_BIT", 0x1),
                               .has_sizes = facts_.has_sizes ? 1U : 0U,
                               .classes = gfp_flags(types, facts_.has_gfp_classes)};
  if (const int error = bpf_map__set_initial_value(flags, &gfp, sizeof gfp); error != 0) {
    return refused("the constants of the programs", error);
  }
  const auto cpus = load_programs(object_.get());
  if (!cpus) return cpus.error();
  cpu_count_ = *cpus;
  if (auto result = shared_.open(shared, sizeof(memstat_slab_slots)); !result) return result;
  return by_cpu_.open(by_cpu, cpu_count_ * sizeof(memstat_slab_cpu));
}

Result<void> SlabEvents::attach() {
  if (auto result = governed_.open(object_.get(), true); !result) return result;
  CostMeter meter([] { ::close(::eventfd(0, EFD_CLOEXEC)); }, [this] { return count_slab_events(slots(), cpus()); });
  return governed_.attach(
      meter, [this] { return attached_.attach_all(object_.get()); }, attached_, governor_);
}

Result<void> SlabEvents::open() {
  const auto types = kernel_types();
  if (!types) return types.error();
  auto result = choose(**types);
  if (result) result = load(**types);
  if (result) result = attach();
  if (!result) {  // half of the events would be false figures
    attached_.detach();
    object_.reset();
  }
  return result;
}

Result<void> SlabEvents::read(Buffer& out) {
  if (!object_) return refused("linux_slab_events", EPERM);
  facts_.missed_events = governed_.look(count_slab_events(slots(), cpus()), attached_, governor_).missed_events;
  facts_.governor = governor_.facts();
  write_slab_text(slots(), cpus(), facts_, out);
  return {};
}

bool SlabEvents::tend() {
  if (!object_ || !governor_.is_attached()) return false;
  governed_.look(count_slab_events(slots(), cpus()), attached_, governor_);
  return governor_.is_attached();
}

}  // namespace

std::unique_ptr<LiveTable> make_slab_events(std::string_view settings, EventBudget& budget) {
  return std::make_unique<SlabEvents>(event_settings(settings), budget);
}

}  // namespace memstat::events

#else

#include "core/events/attach/missing_events.h"

namespace memstat::events {

std::unique_ptr<LiveTable> make_slab_events(std::string_view /*settings*/, EventBudget& /*budget*/) {
  return make_missing_events("linux_slab_events", "libbpf");
}

}  // namespace memstat::events

#endif
