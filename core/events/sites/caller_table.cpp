// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/sites/caller_table.h"

#include <algorithm>
#include <cmath>

#include "core/base/arithmetic.h"
#include "core/events/bpf/slab_layout.h"
#include "core/events/slab/slab_rows.h"

namespace memstat::events {
namespace {

constexpr double kFailureWeight = 1 << 20U;
/// Half-life of a score: an operator looks for recent growth.
constexpr double kHalfLifeNs = 600e9;
constexpr std::string_view kNoCache = "kmalloc-large";
constexpr std::string_view kRootGroup = "/";

std::uint64_t grown(std::uint64_t& before, std::uint64_t now) {
  const std::uint64_t more = now > before ? now - before : 0;  // subtracts an event that was reported twice
  before = now;
  return more;
}

/// Appends a kernel name as a field of a line, without bytes that would end the field. `size`: of the name's array.
void append_field(Buffer& out, const char* name, std::size_t size) {
  const char* const end = std::find(name, name + size, '\0');
  for (const char* at = name; at != end; ++at) {
    const char c = static_cast<unsigned char>(*at) < ' ' ? '?' : *at;
    out.append({&c, 1});
  }
}

/// Appends a task's name. Per-CPU kernel threads have the CPU's number after a slash; it is dropped.
void append_command(Buffer& out, const memstat_site_slot& facts) {
  const std::size_t begin = out.size();
  append_field(out, facts.command, sizeof facts.command);
  const std::string_view name = out.view().substr(begin);
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == name.size()) return;
  if (name[slash + 1] >= '0' && name[slash + 1] <= '9') out.resize(begin + slash);
}

void append_cache(Buffer& out, const memstat_site_slot& facts) {
  if (facts.object_size != 0) return append_field(out, facts.cache, sizeof facts.cache);
  if (facts.size > MEMSTAT_SLAB_LARGEST) return out.append(kNoCache);
  out.append(kmalloc_name(facts.size, facts.kind));
}

/// Appends the path of a control group below the root of its hierarchy.
void append_group(Buffer& out, const memstat_site_table& table, std::uint64_t id) {
  if (id == MEMSTAT_SITE_ANY_GROUP) return out.append(kOtherSites);
  std::size_t at = id * 0x9E3779B97F4A7C15ULL >> 40U;
  const memstat_site_group* group = nullptr;
  for (int i = 0; i < MEMSTAT_SITE_GROUP_PROBES && group == nullptr; ++i, ++at) {
    const memstat_site_group& candidate = table.groups[at % MEMSTAT_SITE_GROUPS];
    if (figure_now(candidate.id) == id) group = &candidate;
  }
  if (group == nullptr || __atomic_load_n(&group->is_known, __ATOMIC_ACQUIRE) == 0) return out.append(kUnknownSite);
  int depth = 0;
  while (depth < MEMSTAT_SITE_GROUP_DEPTH && group->names[depth][0] != '\0') ++depth;
  if (depth == MEMSTAT_SITE_GROUP_DEPTH) out.append("...");
  if (depth == 0) out.append(kRootGroup);
  while (depth-- > 0) {
    out.append("/");
    append_field(out, group->names[depth], MEMSTAT_SITE_GROUP_NAME);
  }
}

void add_call(TableWriter& rows, std::string_view name, const CallTally& tally) {
  rows.add("site", {tally.allocations, tally.requested, tally.allocated, tally.failures}, {name});
  if (tally.size_bytes == 0) return;
  std::array<std::uint64_t, 1 + MEMSTAT_SIZES> numbers{tally.size_bytes};
  std::copy(tally.sizes.begin(), tally.sizes.end(), numbers.begin() + 1);
  rows.add("got", numbers);
}

void add_group(TableWriter& rows, std::string_view name, const GroupTally& tally) {
  rows.add("group", {tally.allocations, tally.allocated, tally.charged, tally.failures}, {name});
}

/// `origin`: group, command and function, separated by tabs.
void add_origin(TableWriter& rows, std::string_view cache, std::string_view origin, const SiteTally& tally) {
  const std::size_t command = origin.find('\t') + 1;
  const std::size_t function = origin.find('\t', command) + 1;
  rows.add("origin", {tally.allocations, tally.allocated, tally.failures},
           {cache, origin.substr(0, command - 1), origin.substr(command, function - 1 - command), origin.substr(function)});
}

bool is_nothing(const SiteTally& tally) { return tally.allocations == 0 && tally.failures == 0; }

}  // namespace

SiteTally& SiteTally::operator+=(const SiteTally& other) {
  allocations = saturating_sum(allocations, other.allocations);
  allocated = saturating_sum(allocated, other.allocated);
  failures = saturating_sum(failures, other.failures);
  return *this;
}

double SiteTally::weight() const { return static_cast<double>(allocated) + kFailureWeight * static_cast<double>(failures); }

GroupTally& GroupTally::operator+=(const GroupTally& other) {
  SiteTally::operator+=(other);
  charged = saturating_sum(charged, other.charged);
  return *this;
}

CallTally& CallTally::operator+=(const CallTally& other) {
  SiteTally::operator+=(other);
  requested = saturating_sum(requested, other.requested);
  size_bytes = saturating_sum(size_bytes, other.size_bytes);
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = saturating_sum(sizes[i], other.sizes[i]);
  return *this;
}

CallerTable::CallerTable(const SiteLimits& limits)
    : limits_(limits), slots_(MEMSTAT_SITE_ALL), calls_(limits.sites), groups_(limits.groups) {}

void CallerTable::bind(const memstat_site_table& table, std::size_t at, Slot& slot) {
  const memstat_site_slot& facts = table.slots[at];
  slot = {};
  slot.key = figure_now(table.keys[at]);
  text_.clear();
  append_field(text_, facts.name, sizeof facts.name);
  if (text_.empty()) text_.append(kUnknownSite);
  const std::string call(text_.view());
  slot.call = &calls_.of(call);
  ++slot.call->users;
  text_.clear();
  append_group(text_, table, facts.group);
  const bool is_known = facts.group != MEMSTAT_SITE_ANY_GROUP;
  std::string origin(text_.view());
  slot.is_charged = facts.is_charged != 0 && origin != kRootGroup;
  if (is_known) {
    slot.group = &groups_.of(origin);
    ++slot.group->users;
  }
  text_.clear();
  append_cache(text_, facts);
  auto cache = caches_.find(text_.view());
  if (cache == caches_.end() && caches_.size() < limits_.caches) {
    cache = caches_.try_emplace(std::string(text_.view()), limits_.origins_of_a_cache).first;
  }
  if (cache == caches_.end()) return;
  text_.clear();
  append_command(text_, facts);
  origin += "\t";
  origin += is_known ? text_.view() : kOtherSites;
  origin += "\t" + call;
  slot.origin = &cache->second.origins.of(origin);
  ++slot.origin->users;
}

void CallerTable::release(Slot& slot) {
  if (slot.call != nullptr) --slot.call->users;
  if (slot.group != nullptr) --slot.group->users;
  if (slot.origin != nullptr) --slot.origin->users;
  slot = {};
}

CallerTable::Counted CallerTable::count_row(std::span<const memstat_site_cpu> cpus, std::size_t at) {
  Counted now;
  for (const memstat_site_cpu& cpu : cpus) {
    now.allocations += figure_now(cpu.rows[at].allocations);
    now.requested += figure_now(cpu.rows[at].requested);
    now.failures += figure_now(cpu.rows[at].failures);
  }
  return now;
}

bool CallerTable::take(const memstat_site_slot& facts, std::span<const memstat_site_cpu> cpus, std::size_t at, Slot& slot) {
  const Counted now = count_row(cpus, at);
  const std::uint64_t allocations = grown(slot.counted.allocations, now.allocations);
  const std::uint64_t requested = grown(slot.counted.requested, now.requested);
  const std::uint64_t failures = grown(slot.counted.failures, now.failures);
  if (allocations == 0 && failures == 0) return false;
  const bool is_kmalloc = facts.object_size == 0;
  const SiteTally tally{
      .allocations = allocations, .allocated = saturating_product(allocations, facts.size), .failures = failures};
  CallTally call{tally};
  call.requested = is_kmalloc ? requested : saturating_product(allocations, facts.object_size);
  if (is_kmalloc) {
    call.sizes[memstat_size_bucket(facts.size)] = allocations;
    call.size_bytes = tally.allocated;
  }
  slot.call->pending += call;
  GroupTally group{tally};
  group.charged = slot.is_charged ? tally.allocated : 0;
  if (slot.group != nullptr) {
    slot.group->pending += group;
  } else {
    groups_.add_to_others(group);
  }
  if (slot.origin != nullptr) {
    slot.origin->pending += tally;
  } else {
    other_caches_ += tally;
  }
  events_ = saturating_sum(events_, allocations);
  return true;
}

void CallerTable::take_unplaced(std::span<const memstat_site_cpu> cpus) {
  for (std::size_t i = 0; i < unplaced_counted_.size(); ++i) {
    const Counted now = count_row(cpus, MEMSTAT_SITE_ALL + i);
    const SiteTally tally{.allocations = grown(unplaced_counted_[i].allocations, now.allocations),
                          .allocated = grown(unplaced_counted_[i].requested, now.requested),
                          .failures = grown(unplaced_counted_[i].failures, now.failures)};
    CallTally call{tally};
    call.requested = tally.allocated;
    calls_.add_to_others(call);
    groups_.add_to_others(GroupTally{tally});
    other_caches_ += tally;
    unplaced_ = saturating_sum(unplaced_, saturating_sum(tally.allocations, tally.failures));
    events_ = saturating_sum(events_, tally.allocations);
  }
}

void CallerTable::look_at_slot(memstat_site_table& table, std::span<memstat_site_cpu> cpus, std::size_t at,
                               std::int64_t now_ns) {
  const std::uint64_t key = figure_now(table.keys[at]);
  Slot& slot = slots_[at];
  memstat_site_slot& facts = table.slots[at];
  if (key == MEMSTAT_SITE_RETIRED) {
    if (now_ns - slot.retired_ns < kRetiredNs) return;
    take(facts, cpus, at, slot);
    release(slot);
    for (memstat_site_cpu& cpu : cpus) cpu.rows[at] = {};
    __atomic_store_n(&facts.is_known, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&table.keys[at], 0, __ATOMIC_RELEASE);
    return;
  }
  if (key == 0) return;
  if (slot.key != key) {
    if (__atomic_load_n(&facts.is_known, __ATOMIC_ACQUIRE) != key) return;
    bind(table, at, slot);
  }
  slot.idle_looks = take(facts, cpus, at, slot) ? 0 : slot.idle_looks + 1;
}

void CallerTable::retire_idle(memstat_site_table& table, std::size_t first, std::size_t count, std::int64_t now_ns) {
  const std::size_t used = static_cast<std::size_t>(
      std::count_if(slots_.begin() + static_cast<std::ptrdiff_t>(first),
                    slots_.begin() + static_cast<std::ptrdiff_t>(first + count), [](const Slot& s) { return s.key != 0; }));
  if (used * 4 < count * 3) return;
  for (std::size_t at = first; at < first + count; ++at) {
    Slot& slot = slots_[at];
    if (slot.key == 0 || slot.retired_ns != 0 || slot.idle_looks < kIdleLooks) continue;
    slot.retired_ns = now_ns;
    __atomic_store_n(&table.keys[at], MEMSTAT_SITE_RETIRED, __ATOMIC_RELAXED);
  }
}

void CallerTable::free_groups(memstat_site_table& table) {
  std::size_t used = 0;
  for (const memstat_site_group& group : table.groups) used += figure_now(group.id) != 0 ? 1 : 0;
  if (used * 4 < std::size_t{MEMSTAT_SITE_GROUPS} * 3) return;
  used_groups_.clear();
  for (std::size_t at = 0; at < MEMSTAT_SITE_ALL; ++at) {
    if (figure_now(table.keys[at]) != 0) used_groups_.push_back(figure_now(table.slots[at].group));
  }
  std::sort(used_groups_.begin(), used_groups_.end());
  for (memstat_site_group& group : table.groups) {
    const std::uint64_t id = figure_now(group.id);
    if (id == 0 || group.is_known == 0 || std::binary_search(used_groups_.begin(), used_groups_.end(), id)) continue;
    for (auto& name : group.names) std::fill(std::begin(name), std::end(name), '\0');
    __atomic_store_n(&group.is_known, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&group.id, 0, __ATOMIC_RELEASE);
  }
}

void CallerTable::settle(std::int64_t now_ns) {
  const double kept =
      has_looked_ ? std::exp2(-static_cast<double>(std::max<std::int64_t>(0, now_ns - last_ns_)) / kHalfLifeNs) : 1;
  has_looked_ = true;
  last_ns_ = now_ns;
  calls_.settle(kept);
  groups_.settle(kept);
  for (auto& [name, cache] : caches_) cache.origins.settle(kept);
}

void CallerTable::look(memstat_site_table& table, std::span<memstat_site_cpu> cpus, std::int64_t now_ns) {
  for (std::size_t at = 0; at < MEMSTAT_SITE_ALL; ++at) look_at_slot(table, cpus, at, now_ns);
  take_unplaced(cpus);
  settle(now_ns);
  retire_idle(table, 0, MEMSTAT_SITE_SLOTS, now_ns);
  retire_idle(table, MEMSTAT_SITE_SLOTS, MEMSTAT_SITE_COARSE_SLOTS, now_ns);
  free_groups(table);
}

void CallerTable::write(const SiteFacts& facts, Buffer& out) const {
  TableWriter rows(kSiteTable, out);
  rows.add("unplaced", {unplaced_});
  rows.add("missed", {facts.missed_events});
  if (facts.governor) add_governor(rows, *facts.governor);
  if (facts.governor && !facts.governor->is_attached) return;
  calls_.for_each([&rows](std::string_view name, const CallTally& tally) { add_call(rows, name, tally); });
  add_call(rows, kOtherSites, calls_.others());
  groups_.for_each([&rows](std::string_view name, const GroupTally& tally) { add_group(rows, name, tally); });
  add_group(rows, kOtherSites, groups_.others());
  constexpr std::string_view kOthers = "other\tother\tother";
  for (const auto& [name, cache] : caches_) {
    cache.origins.for_each([&, of = std::string_view(name)](std::string_view origin, const SiteTally& tally) {
      add_origin(rows, of, origin, tally);
    });
    if (!is_nothing(cache.origins.others())) add_origin(rows, name, kOthers, cache.origins.others());
  }
  if (!is_nothing(other_caches_)) add_origin(rows, kOtherSites, kOthers, other_caches_);
}

std::uint64_t count_site_events(const memstat_site_table& table, std::span<const memstat_site_cpu> cpus) {
  std::uint64_t count = 0;
  for (std::size_t at = 0; at < MEMSTAT_SITE_ROWS; ++at) {
    if (at < MEMSTAT_SITE_ALL && figure_now(table.keys[at]) == 0) continue;
    for (const memstat_site_cpu& cpu : cpus) count += figure_now(cpu.rows[at].allocations);
  }
  return count;
}

}  // namespace memstat::events
