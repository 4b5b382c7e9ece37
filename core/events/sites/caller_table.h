// SPDX-License-Identifier: BSD-2-Clause
// Sums the programs' counts by caller, by control group and by command (bpf/site_layout.h), within limits, as the text
// that the source linux_call_sites parses and captures contain.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/not_copyable.h"
#include "core/events/attach/governor.h"
#include "core/events/bpf/site_layout.h"
#include "core/events/bpf/sizes.h"
#include "core/events/sites/top_list.h"

namespace memstat::events {

/// Maximum numbers of rows. The rest is summed in further rows.
struct SiteLimits {
  std::size_t sites = 50;
  std::size_t groups = 50;
  std::size_t caches = 192;  ///< with origins of their own
  std::size_t origins_of_a_cache = 5;
};

/// At most 1000 functions with sizes, 1000 groups, and 192 caches of 50 origins are written.
inline constexpr RowFormat kSiteRows[] = {{"unplaced", "n"},
                                          {"missed", "n"},
                                          kGovernorRow,
                                          {"site", "nnnnT", 2'000},
                                          {"got", "n*", 2'000},
                                          {"group", "nnnnT", 2'000},
                                          {"origin", "nnnTTTT", 14'000}};
/// The grammar is in sources/linux_call_sites.cpp.
inline constexpr TableFormat kSiteTable{"linux_call_sites", "call_sites 1", kSiteRows,
                                        "is not a function, control group or origin with its numbers and names"};

/// The parts of the text that are not rows.
struct SiteFacts {
  std::uint64_t missed_events = 0;             ///< Events missed because the programs were already running on that CPU.
  std::optional<GovernorFacts> governor = {};  ///< Detached: the text has no figures. Empty: no governor.
};

/// Allocations under one name.
struct SiteTally {
  std::uint64_t allocations = 0;
  std::uint64_t allocated = 0;  ///< B allocated
  std::uint64_t failures = 0;

  SiteTally& operator+=(const SiteTally& other);
  /// A failure weighs as much as 1 MiB, so that failures are listed.
  [[nodiscard]] double weight() const;
};
struct GroupTally : SiteTally {
  std::uint64_t charged = 0;  ///< B of `allocated` charged to the control group

  GroupTally& operator+=(const GroupTally& other);
};
struct CallTally : SiteTally {
  std::uint64_t requested = 0;                          ///< B
  std::array<std::uint64_t, MEMSTAT_SIZES> sizes = {};  ///< kmalloc() allocations by allocated size.
  std::uint64_t size_bytes = 0;                         ///< B of these

  CallTally& operator+=(const CallTally& other);
};

/// Callers by recent weight.
class CallerTable : NotCopyable {
 public:
  explicit CallerTable(const SiteLimits& limits);

  /// Takes the events since the last look, at the monotonic time `now_ns`. When slots get scarce, it reclaims those
  /// without events for kIdleLooks looks. The kernel may write at the same time.
  void look(memstat_site_table& table, std::span<memstat_site_cpu> cpus, std::int64_t now_ns);
  /// Replaces the content of `out` with the table. Does not allocate once `out` is large enough.
  void write(const SiteFacts& facts, Buffer& out) const;
  /// Allocations counted so far, for the governor.
  [[nodiscard]] std::uint64_t events() const { return events_; }

  static constexpr std::uint32_t kIdleLooks = 6;
  /// Time for which a reclaimed slot keeps its rows, since a program may still be writing to them.
  static constexpr std::int64_t kRetiredNs = 1'000'000'000;

 private:
  struct CacheOrigins {
    explicit CacheOrigins(std::size_t most) : origins(most) {}
    TopList<SiteTally> origins;
  };
  using Call = TopList<CallTally>::Entry;
  using Group = TopList<GroupTally>::Entry;
  using Origin = TopList<SiteTally>::Entry;
  /// The values of a row at the last look.
  struct Counted {
    std::uint64_t allocations = 0;
    std::uint64_t requested = 0;
    std::uint64_t failures = 0;
  };
  struct Slot {
    std::uint64_t key = 0;  // key of its origin; 0: none
    Counted counted;
    std::int64_t retired_ns = 0;
    std::uint32_t idle_looks = 0;
    bool is_charged = false;  // to a group other than the root, which the kernel does not account
    Call* call = nullptr;
    Group* group = nullptr;  // nullptr: unknown; so is the origin
    Origin* origin = nullptr;
  };

  void look_at_slot(memstat_site_table& table, std::span<memstat_site_cpu> cpus, std::size_t at, std::int64_t now_ns);
  void bind(const memstat_site_table& table, std::size_t at, Slot& slot);
  void release(Slot& slot);
  /// The sums of a row over the CPUs.
  static Counted count_row(std::span<const memstat_site_cpu> cpus, std::size_t at);
  /// Takes the events since the last look. Returns false if there were none.
  bool take(const memstat_site_slot& facts, std::span<const memstat_site_cpu> cpus, std::size_t at, Slot& slot);
  void take_unplaced(std::span<const memstat_site_cpu> cpus);
  void retire_idle(memstat_site_table& table, std::size_t first, std::size_t count, std::int64_t now_ns);
  void free_groups(memstat_site_table& table);
  void settle(std::int64_t now_ns);

  SiteLimits limits_;
  std::vector<Slot> slots_;
  std::array<Counted, MEMSTAT_SITE_ROWS - MEMSTAT_SITE_ALL> unplaced_counted_{};
  TopList<CallTally> calls_;
  TopList<GroupTally> groups_;
  std::map<std::string, CacheOrigins, std::less<>> caches_;
  SiteTally other_caches_;
  std::uint64_t events_ = 0;
  std::uint64_t unplaced_ = 0;
  std::int64_t last_ns_ = 0;
  bool has_looked_ = false;
  Buffer text_;                             // names of the current slot
  std::vector<std::uint64_t> used_groups_;  // groups used in the current look
};

/// Sum of all allocations in the rows. Works before the first look.
std::uint64_t count_site_events(const memstat_site_table& table, std::span<const memstat_site_cpu> cpus);

/// The name of everything that is not listed.
inline constexpr std::string_view kOtherSites = "other";
inline constexpr std::string_view kUnknownSite = "unknown";

}  // namespace memstat::events
