// SPDX-License-Identifier: BSD-2-Clause
// Loads and attaches bpf/call_sites.bpf.c, and adds up what it counts.
#include "core/events/sites/call_sites.h"

#if defined(MEMSTAT_HAVE_LIBBPF)

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <string>
#include <utility>

#include "core/base/clock.h"
#include "core/events/attach/bpf_kernel.h"
#include "core/events/attach/embedded_programs.h"
#include "core/events/attach/event_settings.h"
#include "core/events/attach/governed_programs.h"

namespace memstat::events {
namespace {

/// The programs, attached. Thread safety: none.
class CallSites final : public LiveTable {
 public:
  CallSites(const EventSettings& settings, const SiteLimits& limits, EventBudget& budget)
      : governor_(settings.budget_ppm, budget), book_(limits) {}
  Result<void> open() override;
  Result<void> read(Buffer& out) override;
  bool tend() override;

 private:
  static Result<void> check(const btf& types);
  Result<void> load(const btf& types);
  Result<void> attach();
  /// Allocations so far, as the book counts them; the rows have what came since its last look.
  std::uint64_t events_now() {
    const std::uint64_t in_rows = count_site_events(table(), cpus());
    return book_.events() + in_rows - std::min(in_rows, looked_at_);
  }
  memstat_site_table& table() { return *static_cast<memstat_site_table*>(shared_.writable()); }
  std::span<memstat_site_cpu> cpus() { return {static_cast<memstat_site_cpu*>(by_cpu_.writable()), cpu_count_}; }

  ObjectPointer object_;
  AttachedPrograms attached_;  // behind the object, so that they go first
  SharedMap shared_;
  SharedMap by_cpu_;
  std::size_t cpu_count_ = 0;
  Governor governor_;
  GovernedPrograms governed_;
  SiteBook book_;
  std::uint64_t looked_at_ = 0;  // allocations in the rows at the book's last look
  SiteTextFacts facts_;
};

Result<void> CallSites::check(const btf& types) {
  if (!points_to(types, "kmem_cache_alloc", 2, "kmem_cache") || arguments_of(types, "kmem_cache_alloc") < 4) {
    return not_present("kmem:kmem_cache_alloc",
                       "the events of this kernel do not name the cache (they do from Linux 6.1 on)");
  }
  if (arguments_of(types, "kmalloc") < 5) {
    return not_present("kmem:kmalloc", "this kernel has no such event with the arguments that memstatd knows");
  }
  return {};
}

Result<void> CallSites::load(const btf& types) {
  auto object = open_programs(call_sites());
  if (!object) return object.error();
  object_ = *std::move(object);
  bpf_map* by_cpu = bpf_object__find_map_by_name(object_.get(), "by_cpu");
  bpf_map* shared = bpf_object__find_map_by_name(object_.get(), ".bss");
  bpf_map* constants = bpf_object__find_map_by_name(object_.get(), ".rodata");
  if (by_cpu == nullptr || shared == nullptr || constants == nullptr ||
      bpf_map__value_size(shared) < sizeof(memstat_site_table)) {
    return refused("the maps of the programs", EINVAL);
  }
  const memstat_site_flags flags{.reclaimable = gfp_flag(types, "___GFP_RECLAIMABLE_BIT", 0x10),
                                 .account = gfp_flag(types, "___GFP_ACCOUNT_BIT", 0x400000),
                                 .dma = gfp_flag(types, "___GFP_DMA_BIT", 0x1),
                                 .cache_account = gfp_flag(types, "_SLAB_ACCOUNT", 0x4000000),
                                 .name_format = "%ps"};
  if (const int error = bpf_map__set_initial_value(constants, &flags, sizeof flags); error != 0) {
    return refused("the constants of the programs", error);
  }
  const auto cpus = load_programs(object_.get());
  if (!cpus) return cpus.error();
  cpu_count_ = *cpus;
  if (auto result = shared_.open(shared, sizeof(memstat_site_table), true); !result) return result;
  return by_cpu_.open(by_cpu, cpu_count_ * sizeof(memstat_site_cpu), true);
}

Result<void> CallSites::attach() {
  if (auto result = governed_.open(object_.get(), true); !result) return result;
  CostMeter meter([] { ::close(::eventfd(0, EFD_CLOEXEC)); }, [this] { return count_site_events(table(), cpus()); });
  return governed_.attach(
      meter, [this] { return attached_.attach_all(object_.get()); }, attached_, governor_);
}

Result<void> CallSites::open() {
  const auto types = kernel_types();
  if (!types) return types.error();
  auto result = check(**types);
  if (result) result = load(**types);
  if (result) result = attach();
  if (!result) {  // half of the events would be false figures
    attached_.detach();
    object_.reset();
  }
  return result;
}

Result<void> CallSites::read(Buffer& out) {
  if (!object_) return refused("linux_call_sites", EPERM);
  if (governor_.is_attached()) {
    book_.look(table(), cpus(), system_clock().monotonic_ns());
    looked_at_ = count_site_events(table(), cpus());
  }
  facts_.missed_events = governed_.look(book_.events(), attached_, governor_).missed_events;
  facts_.governor = governor_.facts();
  book_.write(facts_, out);
  return {};
}

bool CallSites::tend() {
  if (!object_ || !governor_.is_attached()) return false;
  governed_.look(events_now(), attached_, governor_);
  return governor_.is_attached();
}

}  // namespace

std::unique_ptr<LiveTable> make_call_sites(std::string_view settings, const SiteLimits& limits, EventBudget& budget) {
  return std::make_unique<CallSites>(event_settings(settings), limits, budget);
}

}  // namespace memstat::events

#else

#include "core/events/attach/missing_events.h"

namespace memstat::events {

std::unique_ptr<LiveTable> make_call_sites(std::string_view /*settings*/, const SiteLimits& /*limits*/,
                                           EventBudget& /*budget*/) {
  return make_missing_events("linux_call_sites", "libbpf");
}

}  // namespace memstat::events

#endif
