// SPDX-License-Identifier: BSD-2-Clause
// Loads and attaches bpf/call_sites.bpf.c, and sums its counts.
#include "core/events/attach/live_tables.h"

#if defined(MEMSTAT_HAVE_LIBBPF)

#include <algorithm>
#include <cerrno>
#include <span>

#include "core/base/clock.h"
#include "core/events/attach/attached_table.h"
#include "core/events/attach/embedded_programs.h"
#include "core/events/sites/caller_table.h"

namespace memstat::events {
namespace {

class CallSites final : public GovernedTable {
 public:
  CallSites(const EventSettings& settings, const SiteLimits& limits, EventBudget& budget)
      : GovernedTable(kSiteTable, settings, budget), callers_(limits) {}
  Result<void> read(Buffer& out) override;

 private:
  Result<void> check(const btf& types) override { return check_slab_events(types); }
  Result<void> load(const btf& types) override;
  /// The table's events, plus those in the rows since its last look.
  std::uint64_t events_now() override {
    const std::uint64_t in_rows = events_counted();
    return callers_.events() + in_rows - std::min(in_rows, looked_at_);
  }
  std::uint64_t events_counted() override { return count_site_events(table(), cpus()); }
  memstat_site_table& table() { return *static_cast<memstat_site_table*>(shared_.writable()); }
  std::span<memstat_site_cpu> cpus() { return {static_cast<memstat_site_cpu*>(by_cpu_.writable()), cpu_count_}; }

  CallerTable callers_;
  std::uint64_t looked_at_ = 0;  // allocations in the rows at the table's last look
  SiteFacts facts_;
};

Result<void> CallSites::load(const btf& types) {
  const memstat_site_flags flags{.reclaimable = gfp_flag(types, "___GFP_RECLAIMABLE_BIT", 0x10),
                                 .account = gfp_flag(types, "___GFP_ACCOUNT_BIT", 0x400000),
                                 .dma = gfp_flag(types, "___GFP_DMA_BIT", 0x1),
                                 .cache_account = gfp_flag(types, "_SLAB_ACCOUNT", 0x4000000),
                                 .name_format = "%ps"};
  return load_programs_of(call_sites(), std::as_bytes(std::span(&flags, 1)),
                          {.shared = sizeof(memstat_site_table), .by_cpu = sizeof(memstat_site_cpu), .is_written = true});
}

Result<void> CallSites::read(Buffer& out) {
  if (!is_open()) return refused(kSiteTable.source, EPERM);
  if (governor_.is_attached()) {
    callers_.look(table(), cpus(), system_clock().monotonic_ns());
    looked_at_ = events_counted();
  }
  facts_.missed_events = look(callers_.events()).missed_events;
  facts_.governor = governor_.facts();
  callers_.write(facts_, out);
  return {};
}

}  // namespace

std::unique_ptr<TextTableSource> make_call_sites(std::string_view settings, const SiteLimits& limits, EventBudget& budget) {
  return std::make_unique<CallSites>(event_settings(settings), limits, budget);
}

}  // namespace memstat::events

#endif
