// SPDX-License-Identifier: BSD-2-Clause
// FreeBSD's jails (sys/kern/kern_jail.c): what each uses by racct(4) (kern_racct.c), and the rules of rctl(8) for it
// (kern_rctl.c). Where the kernel does not count (kern.racct.enable is 0, the default), or only root may ask, the memory,
// processes and threads of a jail are sums over its processes (kern.proc.proc), and the rest is not known.
//
// The kernel charges a page to each process that has it, so shared pages count more than once, in either way. A jail within
// a jail is counted for its outer one, too.
#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/text.h"
#include "core/collect/jail_table.h"
#include "core/source.h"

namespace memstat::sources::freebsd_jail {
namespace {

constexpr std::string_view kName = "freebsd_jail";

constexpr SystemMetric kJailBytes = gauge_metric(
    "memstat_jail_bytes", Tier::kDefault,
    "Bytes that the processes of a jail have now, by the resource's name in rctl(8): vmemoryuse (address space), swapuse "
    "(reserved, not written), memorylocked, shmsize.",
    {"jail", "resource"});

constexpr SystemMetric kJailObjects =
    gauge_metric("memstat_jail_objects", Tier::kDefault,
                 "Objects that the processes of a jail have now, by the resource's name in rctl(8): openfiles, nthr, "
                 "pseudoterminals.",
                 {"jail", "resource"});

constexpr SystemMetric kJailLimit =
    gauge_metric("memstat_jail_limit", Tier::kDefault,
                 "Amount of a resource, in the unit of rctl(8), at which the kernel acts on a jail; the lowest of the rules "
                 "with that action: deny, log, throttle, or a signal.",
                 {"jail", "resource", "action"});

constexpr SystemMetric kJails = gauge_metric("memstat_jails", Tier::kDefault, "Jails now.");

constexpr SystemMetric kJailsCounted = gauge_metric(
    "memstat_jails_counted", Tier::kDefault,
    "Jails whose figures the kernel counts (racct(4)); absent if it does not, so that they are sums over processes.");

/// A figure of the type: its name in rctl(8).
struct Figure {
  std::string_view resource;
  Field field;
  std::optional<Field> limit = {};
};
constexpr Figure kFigures[] = {{"memoryuse", Field::kBytes, Field::kBytesLimit},
                               {"maxproc", Field::kCount, Field::kCountLimit},
                               {"vmemoryuse", Field::kAddressSpace}};

struct Resource {
  std::string_view resource;
  const SystemMetric& metric;
};
constexpr Resource kResources[] = {
    {"vmemoryuse", kJailBytes},  {"swapuse", kJailBytes}, {"memorylocked", kJailBytes},     {"shmsize", kJailBytes},
    {"openfiles", kJailObjects}, {"nthr", kJailObjects},  {"pseudoterminals", kJailObjects}};

constexpr std::string_view kDeny = "deny";

struct State final : ReaderState {
  std::unique_ptr<TextTableSource> table = std::make_unique<JailTable>();
};

/// Views name a table after its source; for people, name the sysctl instead.
Result<void> under_list(Result<void> result) {
  if (!result && result.error().path == kName) result.error().path = JailTable::kList;
  return result;
}

Result<void> open(KernelView& view, RawBytes&, State& state) { return under_list(view.open_table(kName, *state.table)); }
Result<void> read(KernelView& view, RawBytes& raw, State& state) {
  return under_list(view.read_table(kName, *state.table, raw.parts[0]));
}

/// Calls take(resource, amount) for each of "cputime=0,memoryuse=4096". The kernel may count below 0 for a moment.
template <typename Take>
void for_each_amount(std::string_view counts, Take take) {
  while (!counts.empty()) {
    const std::string_view one = counts.substr(0, counts.find(','));
    counts.remove_prefix(std::min(counts.size(), one.size() + 1));
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos) continue;
    if (const auto amount = parse_u64(one.substr(equals + 1))) take(one.substr(0, equals), *amount);
  }
}

class Jails {
 public:
  explicit Jails(Staging& staging) : staging_(staging) {}

  bool take_line(std::string_view line) {
    std::string_view word;
    if (!next_word(line, word)) return false;
    if (word == "jail") return take_jail(line);
    return word == "rule" && type_ != nullptr && take_rule(trim(line));
  }

  void finish() {
    add_rules();
    staging_.statistics().add(kJails, counted_ + summed_);
    if (summed_ == 0) staging_.statistics().add(kJailsCounted, counted_);
  }

 private:
  bool take_jail(std::string_view line) {
    std::string_view by;
    std::string_view counts;
    if (!next_word(line, by) || !next_word(line, counts) || trim(line).empty()) return false;
    if (by != "racct" && by != "processes") return false;
    add_rules();
    ++(by == "racct" ? counted_ : summed_);
    type_ = &staging_.add(trim(line));
    for_each_amount(counts, [&](std::string_view resource, std::uint64_t amount) {
      for (const Figure& figure : kFigures) {
        if (figure.resource == resource) type_->set(figure.field, amount);
      }
      for (const Resource& one : kResources) {
        if (one.resource == resource)
          static_cast<void>(staging_.statistics().add_new(one.metric, amount, {type_->name, resource}));
      }
    });
    return true;
  }

  /// "maxproc:deny=20". A rule for each process of the jail, "maxproc:deny=20/process", is not a limit of the jail.
  bool take_rule(std::string_view rule) {
    const std::size_t colon = rule.find(':');
    const std::size_t equals = rule.find('=', colon);
    if (equals == std::string_view::npos) return false;
    const std::string_view resource = rule.substr(0, colon);
    const std::string_view action = rule.substr(colon + 1, equals - colon - 1);
    if (rule.ends_with("/jail")) rule.remove_suffix(std::string_view("/jail").size());
    const auto amount = parse_u64(rule.substr(equals + 1));
    if (!amount) return rule.find('/', equals) != std::string_view::npos;
    const auto same = std::find_if(rules_.begin(), rules_.end(),
                                   [&](const Rule& other) { return other.resource == resource && other.action == action; });
    if (same == rules_.end()) {
      rules_.push_back({.resource = resource, .action = action, .amount = *amount});
    } else {
      same->amount = std::min(same->amount, *amount);
    }
    return true;
  }

  /// Those of the jail before.
  void add_rules() {
    for (const Rule& rule : rules_) {
      static_cast<void>(staging_.statistics().add_new(kJailLimit, rule.amount, {type_->name, rule.resource, rule.action}));
      for (const Figure& figure : kFigures) {
        if (figure.resource != rule.resource || !figure.limit || rule.action != kDeny || rule.amount == 0) continue;
        type_->set(*figure.limit, rule.amount);
      }
    }
    rules_.clear();
  }

  struct Rule {
    std::string_view resource;
    std::string_view action;
    std::uint64_t amount = 0;
  };

  Staging& staging_;
  StagedType* type_ = nullptr;
  std::vector<Rule> rules_;  // of that jail
  std::uint64_t counted_ = 0;
  std::uint64_t summed_ = 0;
};

Result<void> parse(const RawBytes& raw, Staging& staging) {
  staging.reset({}, 0);
  Jails jails(staging);
  if (const auto offset = for_each_table_line(raw.parts[0].view(), JailTable::kHead,
                                              [&](std::string_view line) { return jails.take_line(line); })) {
    return data_error(JailTable::kList, *offset, "the table of jails is truncated or malformed");
  }
  jails.finish();
  return {};
}

constexpr MetricOrigin kOrigins[] = {
    {Field::kBytes, "memoryuse of rctl_get_racct(2), or ki_rssize x page size of its processes in kern.proc.proc"},
    {Field::kCount, "maxproc of rctl_get_racct(2), or its processes in kern.proc.proc"},
    {Field::kAddressSpace, "vmemoryuse of rctl_get_racct(2), or ki_size of its processes in kern.proc.proc"},
    {Field::kBytesLimit, "lowest memoryuse:deny of rctl_get_rules(2)"},
    {Field::kCountLimit, "lowest maxproc:deny of rctl_get_rules(2)"},
    {kJailBytes, "vmemoryuse, swapuse, memorylocked, shmsize of rctl_get_racct(2), or vmemoryuse as above"},
    {kJailObjects, "openfiles, nthr, pseudoterminals of rctl_get_racct(2), or ki_numthreads of its processes"},
    {kJailLimit, "rctl_get_rules(2)"},
    {kJails, "jails of security.jail.list that are alive"},
    {kJailsCounted, "those for which rctl_get_racct(2) answers"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = kName,
    .origin = "security.jail.list, rctl_get_racct(2), kern.proc.proc",
    .os = OperatingSystem::kFreeBsd,
    .allocator = Allocator::kJail,
    .is_roster = true,
    .origins = kOrigins,
    .notes =
        "racct(4) counts if kern.racct.enable is 1, and tells only root; else the figures are sums over a jail's processes, "
        "and the metrics that these do not have are missing; a page that processes share counts for each of them, "
        "and a jail within a jail for its outer one, too",
    .steps = source_steps<State, open, read, parse>(),
};

}  // namespace memstat::sources::freebsd_jail
