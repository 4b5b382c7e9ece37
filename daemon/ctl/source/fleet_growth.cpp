// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/source/fleet_growth.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace memstat::ctl {
namespace {

constexpr std::size_t kParts = kPastParts + kWindowParts;
/// Multiples of the usual movement. Hosts are many times as many as groups, and movements have long tails.
constexpr double kMinHostClarity = 6;
constexpr double kMinGroupClarity = 6;
/// Each part of the window has at least this share of the growth; a third would be even growth.
constexpr double kMinPartShare = 0.12;
constexpr double kMinBytesPerHour = 4.0 * 1024 * 1024;
/// Growth of the logarithm within the window, below which nothing is named.
constexpr double kMinGrowth = 0.01;
constexpr std::size_t kMinPeers = 5;
/// Smaller movements are rounding.
constexpr double kMinMovement = 1e-4;
/// Weight of the peers' movement next to that of the host's own past, in parts of the past.
constexpr double kPeersWeight = 3;
/// A group's hosts that grow beyond the others' median; half would be chance.
constexpr double kMinGroupShare = 0.8;

using Growths = std::array<std::optional<double>, kParts>;

struct Judged {
  const FleetSeries* series = nullptr;
  Growths growth = {};                         // of the logarithm, in each part
  Growths beyond = {};                         // the same, beyond the peers' median
  std::optional<double> since_yesterday = {};  // the same, since this time of the day before
};

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Median absolute deviation, as the standard deviation of a normal distribution.
double spread(std::vector<double> values) {
  constexpr double kNormal = 1.4826;
  if (values.size() < 2) return 0;
  const double middle = median(values);
  for (double& value : values) value = std::abs(value - middle);
  return kNormal * median(values);
}

Growths growths_of(const FleetSeries& series) {
  Growths growths;
  for (std::size_t part = 0; part < kParts; ++part) {
    const auto before = series.amounts[part], after = series.amounts[part + 1];
    if (before && after && *before > 0 && *after > 0) growths[part] = std::log(*after / *before);
  }
  return growths;
}

/// Sum over the window; nothing if a part is unknown.
std::optional<double> window_sum(const Growths& growths) {
  double sum = 0;
  for (std::size_t part = kPastParts; part < kParts; ++part) {
    if (!growths[part]) return {};
    sum += *growths[part];
  }
  return sum;
}

/// Whether the growth is spread over the parts of the window. Bytes, because of a leak that is larger than the amount was
/// before, the logarithm grows ever more slowly.
bool is_even(const std::array<double, kWindowParts>& gains) {
  const double sum = std::accumulate(gains.begin(), gains.end(), 0.0);
  return std::all_of(gains.begin(), gains.end(), [&](double gain) { return gain > kMinPartShare * sum && gain > 0; });
}

/// Bytes gained in each part of the window, beyond what `usual`, a growth of the logarithm, explains.
std::array<double, kWindowParts> gains_of(const FleetSeries& series, const Growths& usual) {
  std::array<double, kWindowParts> gains{};
  for (std::size_t i = 0; i < kWindowParts; ++i) {
    const std::size_t part = kPastParts + i;
    gains[i] = series.amounts[part + 1].value_or(0) - series.amounts[part].value_or(0) * std::exp(usual[part].value_or(0));
  }
  return gains;
}

double bytes_per_hour(const FleetSeries& series, double part_seconds) {
  const auto before = series.amounts[kPastParts], after = series.amounts[kParts];
  if (!before || !after) return 0;
  return (*after - *before) * 3600 / (part_seconds * static_cast<double>(kWindowParts));
}

/// The growth of one type on all hosts.
class TypeJudge {
 public:
  TypeJudge(const FleetQuestion& question, std::size_t type) : question_(question), type_(type) {
    for (const FleetSeries& series : question.types[type].series) {
      hosts_.push_back({.series = &series, .growth = growths_of(series), .beyond = {}});
    }
    for (std::size_t part = 0; part < kParts; ++part) compare_part(part);
    std::vector<double> all;
    for (const Judged& host : hosts_) {
      for (const auto& beyond : host.beyond) {
        if (beyond) all.push_back(*beyond);
      }
    }
    spread_ = spread(std::move(all));
    compare_with_yesterday();
  }

  /// Adds the groups that grow.
  void add_groups(std::vector<FleetLeak>& leaks) {
    std::map<std::string, std::vector<const Judged*>> groups;
    for (const Judged& host : hosts_) {
      if (window_sum(host.growth)) groups[group_of(host)].push_back(&host);
    }
    for (const auto& [group, members] : groups) {
      if (groups.size() < 2 || members.size() < kMinPeers || hosts_.size() - members.size() < kMinPeers) continue;
      add_group(group, members, leaks);
    }
  }

  /// Adds the hosts that grow and are of no growing group.
  void add_hosts(std::vector<FleetLeak>& leaks) {
    if (hosts_.size() <= kMinPeers) return;
    std::map<std::string, std::vector<std::tuple<double, std::size_t, double>>> fastest;
    std::map<std::string, std::size_t> compared;
    for (const Judged& host : hosts_) {
      const std::string& group = group_of(host);
      ++compared[group];
      const double clarity = clarity_of(host);
      if (clarity < kMinHostClarity || grown_.contains(group)) continue;
      fastest[group].emplace_back(-bytes_per_hour(*host.series, question_.part_seconds), host.series->host, clarity);
    }
    for (auto& [group, rows] : fastest) {
      std::sort(rows.begin(), rows.end());
      FleetLeak leak{.type = type_, .group = group, .compared = compared[group]};
      for (const auto& [rate, host, clarity] : rows) {
        leak.hosts.push_back(host);
        leak.clarity = std::max(leak.clarity, clarity);
      }
      leak.bytes_per_hour = -std::get<0>(rows[rows.size() / 2]);
      leaks.push_back(std::move(leak));
    }
  }

 private:
  [[nodiscard]] const std::string& group_of(const Judged& host) const {
    static const std::string all;
    return question_.groups.empty() ? all : question_.groups[host.series->host];
  }

  /// The median of the peers of a host: of its group, or of all hosts if that has too few.
  template <typename Value>
  [[nodiscard]] std::map<std::string, double> medians_of(Value value_of) const {
    std::vector<double> all;
    std::map<std::string, std::vector<double>> values;
    for (const Judged& host : hosts_) {
      const std::optional<double>& value = value_of(host);
      values[group_of(host)];
      if (!value) continue;
      all.push_back(*value);
      values[group_of(host)].push_back(*value);
    }
    std::map<std::string, double> medians;
    if (all.size() < kMinPeers) return medians;
    const double of_all = median(all);
    for (auto& [group, of_group] : values) medians[group] = of_group.size() < kMinPeers ? of_all : median(of_group);
    return medians;
  }

  void compare_part(std::size_t part) {
    const auto medians = medians_of([&](const Judged& host) -> const std::optional<double>& { return host.growth[part]; });
    for (const auto& [group, middle] : medians) usual_[group][part] = middle;
    for (Judged& host : hosts_) {
      if (host.growth[part] && !medians.empty()) host.beyond[part] = *host.growth[part] - medians.at(group_of(host));
    }
  }

  void compare_with_yesterday() {
    for (Judged& host : hosts_) {
      const auto before = host.series->yesterday, now = host.series->amounts.back();
      if (before && now && *before > 0 && *now > 0) host.since_yesterday = std::log(*now / *before);
    }
    days_ = medians_of([](const Judged& host) -> const std::optional<double>& { return host.since_yesterday; });
    std::vector<double> beyond;
    for (const Judged& host : hosts_) {
      if (const auto one = day_beyond_peers(host)) beyond.push_back(*one);
    }
    day_spread_ = spread(std::move(beyond));
  }

  [[nodiscard]] std::optional<double> day_beyond_peers(const Judged& host) const {
    if (!host.since_yesterday || days_.empty()) return {};
    return *host.since_yesterday - days_.at(group_of(host));
  }

  /// How much the host's amount usually moves in a part, beyond its peers.
  [[nodiscard]] double usual_movement(const Judged& host) const {
    double squares = kPeersWeight * spread_ * spread_;
    double parts = kPeersWeight;
    for (std::size_t part = 0; part < kPastParts; ++part) {
      if (!host.beyond[part]) continue;
      // A leak has risen before, too. Chance falls as often as it rises.
      const double fall = std::min(0.0, *host.beyond[part]);
      squares += 2 * fall * fall;
      ++parts;
    }
    return std::max(kMinMovement, std::sqrt(squares / parts));
  }

  /// 0: it does not grow.
  [[nodiscard]] double clarity_of(const Judged& host) const {
    const auto sum = window_sum(host.beyond);
    if (!sum || *sum < kMinGrowth || !is_even(gains_of(*host.series, usual_.at(group_of(host))))) return 0;
    if (bytes_per_hour(*host.series, question_.part_seconds) < kMinBytesPerHour) return 0;
    if (is_daily(day_beyond_peers(host), *sum, 1)) return 0;
    return *sum / (usual_movement(host) * std::sqrt(static_cast<double>(kWindowParts)));
  }

  [[nodiscard]] Growths medians_of_others(const std::string& group) const {
    Growths medians;
    for (std::size_t part = 0; part < kParts; ++part) {
      std::vector<double> growths;
      for (const Judged& host : hosts_) {
        if (host.growth[part] && group_of(host) != group) growths.push_back(*host.growth[part]);
      }
      if (growths.size() >= kMinPeers) medians[part] = median(growths);
    }
    return medians;
  }

  /// Growth of members beyond the median of all other hosts.
  [[nodiscard]] Growths median_beyond_others(const std::string& group, const std::vector<const Judged*>& members) const {
    Growths beyond = medians_of_others(group);
    for (std::size_t part = 0; part < kParts; ++part) {
      std::vector<double> growths;
      for (const Judged* const host : members) {
        if (host->growth[part]) growths.push_back(*host->growth[part]);
      }
      beyond[part] =
          beyond[part] && growths.size() >= kMinPeers ? std::optional(median(growths) - *beyond[part]) : std::nullopt;
    }
    return beyond;
  }

  [[nodiscard]] std::array<double, kWindowParts> median_gains(const std::string& group,
                                                              const std::vector<const Judged*>& members) const {
    std::array<double, kWindowParts> medians{};
    const Growths others = medians_of_others(group);
    for (std::size_t i = 0; i < kWindowParts; ++i) {
      std::vector<double> gains;
      for (const Judged* const host : members) gains.push_back(gains_of(*host->series, others)[i]);
      medians[i] = median(gains);
    }
    return medians;
  }

  void add_group(const std::string& group, const std::vector<const Judged*>& members, std::vector<FleetLeak>& leaks) {
    const Growths beyond = median_beyond_others(group, members);
    const auto sum = window_sum(beyond);
    if (!sum || *sum < kMinGrowth || !is_even(median_gains(group, members))) return;
    // A group has enough hosts to show that it is larger than a day before.
    if (is_daily(median_since_yesterday(group), *sum, -smaller_error(members.size()))) return;
    // Groups may differ in what they do. A leak does not make them fall behind the others before.
    double falls = 0;
    for (std::size_t part = 0; part < kPastParts; ++part) {
      if (beyond[part]) falls = std::max(falls, -*beyond[part]);
    }
    const double by_chance = smaller_error(members.size()) * std::max(spread_outside(group), kMinMovement);
    const double usual = std::sqrt(static_cast<double>(kWindowParts)) * std::max(by_chance, falls);
    FleetLeak leak{.type = type_, .group = group, .is_of_group = true, .compared = members.size(), .clarity = *sum / usual};
    std::vector<std::pair<double, std::size_t>> rates;
    for (const Judged* const host : members) {
      const double rate = bytes_per_hour(*host->series, question_.part_seconds);
      if (rate > 0) rates.emplace_back(-rate, host->series->host);
    }
    std::sort(rates.begin(), rates.end());
    if (static_cast<double>(rates.size()) < kMinGroupShare * static_cast<double>(members.size())) return;
    leak.bytes_per_hour = -rates[rates.size() / 2].first;
    if (leak.clarity < kMinGroupClarity || leak.bytes_per_hour < kMinBytesPerHour) return;
    for (const auto& [rate, host] : rates) leak.hosts.push_back(host);
    grown_.insert(group);
    leaks.push_back(std::move(leak));
  }

  /// The standard error of the difference of two medians, in deviations of one host.
  [[nodiscard]] double smaller_error(std::size_t members) const {
    constexpr double kOfMedian = 1.2533;
    return kOfMedian * std::sqrt(2 / static_cast<double>(std::min(members, hosts_.size() - members)));
  }

  [[nodiscard]] std::optional<double> median_since_yesterday(const std::string& group) const {
    std::vector<double> own, others;
    for (const Judged& host : hosts_) {
      if (host.since_yesterday) (group_of(host) == group ? own : others).push_back(*host.since_yesterday);
    }
    return own.size() < kMinPeers || others.size() < kMinPeers ? std::nullopt : std::optional(median(own) - median(others));
  }

  /// Whether the amount was as large at this time of the day before. `error`: of `since_yesterday`, in its deviations.
  [[nodiscard]] bool is_daily(std::optional<double> since_yesterday, double growth, double error) const {
    constexpr double kDeviations = 2;
    return since_yesterday && *since_yesterday + kDeviations * error * day_spread_ < growth / 2;
  }

  /// The spread of growth in a part among the hosts outside of a group.
  [[nodiscard]] double spread_outside(const std::string& group) const {
    std::vector<double> all;
    for (const Judged& host : hosts_) {
      if (group_of(host) == group) continue;
      for (std::size_t part = kPastParts; part < kParts; ++part) {
        if (host.beyond[part]) all.push_back(*host.beyond[part]);
      }
    }
    return spread(std::move(all));
  }

  const FleetQuestion& question_;
  const std::size_t type_;
  std::vector<Judged> hosts_;
  std::map<std::string, Growths> usual_;  // by group
  std::map<std::string, double> days_;    // growth since yesterday, by group
  double spread_ = 0;
  double day_spread_ = 0;
  std::set<std::string> grown_;  // groups
};

bool is_subset(const FleetLeak& small, const FleetLeak& large) {
  return std::all_of(small.hosts.begin(), small.hosts.end(), [&](std::size_t host) {
    return std::find(large.hosts.begin(), large.hosts.end(), host) != large.hosts.end();
  });
}

}  // namespace

std::vector<FleetLeak> joined_fleet_leaks(std::vector<FleetLeak> leaks) {
  std::stable_sort(leaks.begin(), leaks.end(), [](const FleetLeak& a, const FleetLeak& b) {
    return std::tuple(!a.is_of_group, -a.bytes_per_hour) < std::tuple(!b.is_of_group, -b.bytes_per_hour);
  });
  std::vector<FleetLeak> kept;
  for (FleetLeak& leak : leaks) {
    const auto larger = std::find_if(kept.begin(), kept.end(), [&](const FleetLeak& one) {
      return one.group == leak.group && one.type != leak.type && is_subset(leak, one);
    });
    if (larger != kept.end()) {
      larger->with.push_back(leak.type);
    } else {
      kept.push_back(std::move(leak));
    }
  }
  return kept;
}

std::vector<FleetLeak> find_fleet_leaks(const FleetQuestion& question) {
  std::vector<FleetLeak> leaks;
  for (std::size_t type = 0; type < question.types.size(); ++type) {
    TypeJudge judge(question, type);
    if (!question.groups.empty()) judge.add_groups(leaks);
    judge.add_hosts(leaks);
  }
  return leaks;
}

}  // namespace memstat::ctl
