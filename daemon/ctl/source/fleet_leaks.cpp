// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/source/fleet_leaks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "core/base/amount_text.h"
#include "core/base/text.h"
#include "core/diagnosis/growth_ranking.h"
#include "core/model/type_rules.h"
#include "daemon/ctl/output/report_table.h"
#include "daemon/ctl/source/type_figures.h"
#include "daemon/snapshot/growth_report.h"

namespace memstat::ctl {
namespace {

constexpr double kDay = 86400;
constexpr double kMinWindow = 3600;
/// Types that are compared; of more, those that grow most anywhere.
constexpr std::size_t kMaxTypes = 24;
/// Series of one answer, which takes some 5 KB of memory for each while it is parsed.
constexpr std::size_t kMaxSeries = 8000;
/// Bytes that a type must gain in each part of the window, per second, on a host, to be compared.
constexpr double kMinBytesPerSecond = 400;
/// Multiples of the usual growth in a time as long as the window, below which growth on a host is chance. Amounts drift:
/// what a host gains in an hour is more than what it gains in ten minutes six times by turns up and down.
constexpr double kMinDeviations = 4;
/// Windows whose usual growth is asked for: a day has several of them.
constexpr double kMaxDriftWindow = kDay / 4;
/// Hosts that a question names; for more it asks about all.
constexpr std::size_t kMaxNamedHosts = 100;
/// Seconds that a server may take for one query.
constexpr int kPatienceSeconds = 60;
/// The share of hosts that may have booted within the window; it is shortened for more.
constexpr double kMaxBooted = 0.1;
/// Values are averages over this time, so that one scrape is not evidence.
constexpr const char* kAverage = "[10m]";

/// A regular expression that matches only `text`.
std::string exactly(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    if (std::string_view(".[]{}()*+?|^$\\").find(c) != std::string_view::npos) quoted += '\\';
    quoted += c;
  }
  return quoted;
}

/// A regular expression, quoted, of several.
std::string any_of(const std::set<std::string>& expressions) { return quoted_string(separated(expressions, "|")); }

std::string seconds_text(double seconds) { return std::to_string(std::llround(seconds)) + "s"; }

bool is_compared(const std::string& allocator, const std::string& type) {
  const int number = allocator_number(allocator);
  if (number == ALLOCATOR_ANY) return false;
  return !is_container(static_cast<Allocator>(number), type) && !is_cache(static_cast<Allocator>(number), type);
}

class Asker {
 public:
  Asker(PrometheusServer& server, double seconds, const std::string& group_by)
      : server_(server), window_(std::max(seconds, kMinWindow)), group_by_(group_by) {
    server_.set_patience(kPatienceSeconds);
  }

  FleetLeaks run() {
    find_hosts();
    if (good()) fit_window();
    if (good()) find_types();
    ask_amounts();
    if (!good()) return std::move(all_);
    all_.seconds = window_;
    for (FleetType& type : all_.types) {
      std::erase_if(type.series, [](const FleetSeries& series) { return !series.amounts.back(); });
    }
    all_.leaks = find_fleet_leaks({.types = all_.types, .groups = groups_, .part_seconds = part()});
    if (window_ <= kMaxDriftWindow) leave_out_drift();
    all_.leaks = joined_fleet_leaks(std::move(all_.leaks));
    return std::move(all_);
  }

 private:
  [[nodiscard]] bool good() const { return all_.problem.empty(); }
  [[nodiscard]] double part() const { return window_ / static_cast<double>(kWindowParts); }
  [[nodiscard]] bool wants_yesterday() const { return window_ < kDay; }

  SeriesAnswer take(SeriesAnswer answer) {
    if (good()) all_.problem = answer.problem;
    for (const std::string& warning : answer.warnings) {
      if (warnings_.insert(warning).second) all_.missing.push_back("the server warns: " + warning);
    }
    return answer;
  }
  SeriesAnswer query(const std::string& expression) {
    server_.begin();
    return take(server_.query(expression));
  }

  void find_hosts() {
    const SeriesAnswer answer = query("memstat_kernel_info" + server_.selector());
    std::map<LabelSet, const Series*> hosts;
    for (const Series& series : answer.series) hosts[host_labels(series.labels)] = &series;
    std::vector<LabelSet> labels;
    for (const auto& [of_host, series] : hosts) {
      places_[of_host] = labels.size();
      labels.push_back(of_host);
      instances_.push_back(series->label("instance"));
      groups_.push_back(series->label(group_by_.c_str()));
    }
    all_.hosts = host_names(labels);
    if (!good() || !all_.hosts.empty()) return;
    all_.problem = server_.url().for_logs + ": no host has the metric memstat_kernel_info" + server_.selector() +
                   "; does the server scrape memstatd, and do --host and --match name one?";
  }

  /// Shortens the window to a time in which most hosts did not boot, because everything grows afterwards.
  void fit_window() {
    boots_.resize(all_.hosts.size());
    std::vector<double> ages;
    const SeriesAnswer answer = query("memstat_boot_timestamp_seconds" + server_.selector());
    for (const Series& series : answer.series) {
      const auto place = places_.find(host_labels(series.labels));
      if (place == places_.end()) continue;
      boots_[place->second] = series.value;
      ages.push_back(server_.time() - series.value);
    }
    std::sort(ages.begin(), ages.end());
    const auto booted =
        static_cast<std::size_t>(std::count_if(ages.begin(), ages.end(), [&](double age) { return age < window_; }));
    if (booted == 0) return;
    const double asked = window_;
    if (static_cast<double>(booted) > kMaxBooted * static_cast<double>(ages.size())) {
      constexpr double kSettled = 0.9;  // the first of what grows after a boot is not judged
      const double age = ages[static_cast<std::size_t>(kMaxBooted * static_cast<double>(ages.size()))];
      window_ = std::clamp(age * kSettled, kMinWindow, window_);
    }
    std::string note = count_text(static_cast<double>(booted)) + " of " + count_text(static_cast<double>(ages.size())) +
                       " hosts have booted within " + duration_words(asked);
    note += window_ < asked ? ", so only the last " + duration_words(window_) + " are compared" : " and are not compared";
    all_.notes.push_back(std::move(note));
  }

  /// Series of types that grew by more than noise in the `parts` parts of the window until `ago` parts ago.
  [[nodiscard]] std::string growth(const std::string& bytes, std::size_t parts, std::size_t ago) const {
    const auto at = [&](std::size_t offset) {
      return offset == 0 ? bytes : bytes + " offset " + seconds_text(part() * static_cast<double>(offset));
    };
    return at(ago) + " - " + at(ago + parts) + " > " +
           number_text(std::floor(kMinBytesPerSecond * part() * static_cast<double>(parts)));
  }

  /// Types that grow in each part of the window on any host. Of all types only what grew over the whole window is asked for,
  /// which needs the amounts at two moments, not at six.
  void find_types() {
    const std::string counted = "allocator!~\"memcg|page|process\"";
    const auto types_of = [](const std::string& expression) { return "max by (allocator, type) (" + expression + ")"; };
    std::set<std::string> names;
    for (const Series& series :
         query(types_of(growth("memstat_type_bytes" + server_.selector(counted), kWindowParts, 0))).series) {
      if (is_compared(series.label("allocator"), series.label("type"))) names.insert(exactly(series.label("type")));
    }
    if (!good() || names.empty()) return;
    const std::string bytes = "memstat_type_bytes" + server_.selector(counted + ",type=~" + any_of(names));
    std::string expression;
    for (std::size_t i = 0; i < kWindowParts; ++i) expression += (i == 0 ? "" : " and ") + growth(bytes, 1, i);
    SeriesAnswer answer = query(types_of(expression));
    std::erase_if(answer.series,
                  [](const Series& series) { return !is_compared(series.label("allocator"), series.label("type")); });
    std::sort(answer.series.begin(), answer.series.end(), [](const Series& a, const Series& b) {
      return std::pair(-a.value, a.labels) < std::pair(-b.value, b.labels);
    });
    if (answer.series.size() > kMaxTypes) {
      all_.notes.push_back("compared are the " + std::to_string(kMaxTypes) + " types that grew most, of " +
                           std::to_string(answer.series.size()) + " that grew");
      answer.series.resize(kMaxTypes);
    }
    for (const Series& series : answer.series) {
      all_.types.push_back({.allocator = series.label("allocator"), .name = series.label("type")});
    }
  }

  void ask_amounts() {
    const std::size_t each = std::max<std::size_t>(1, kMaxSeries / std::max<std::size_t>(1, all_.hosts.size()));
    for (std::size_t first = 0; good() && first < all_.types.size(); first += each) {
      std::set<std::string> allocators, names;
      for (std::size_t i = first; i < std::min(first + each, all_.types.size()); ++i) {
        allocators.insert(exactly(all_.types[i].allocator));
        names.insert(exactly(all_.types[i].name));
      }
      ask("memstat_type_bytes" + server_.selector("allocator=~" + any_of(allocators) + ",type=~" + any_of(names)));
    }
    if (!good()) return;
    all_.types.push_back({.allocator = std::string(kAccountAllocator), .name = std::string(kUnaccountedSeries)});
    ask("memstat_unaccounted_bytes" + server_.selector());
  }

  void ask(const std::string& amounts) {
    const std::string average = "avg_over_time(" + amounts + kAverage;
    server_.begin();
    const SeriesAnswer answer = take(server_.query_range(average + ")", part(), kFleetTimes));
    const double end = last_time(answer);
    for (const Series& series : answer.series) {
      FleetSeries* const found = series_of(series);
      if (found == nullptr) continue;
      for (const Series::Point& point : series.points) {
        const double before = std::round((end - point.seconds) / part());
        if (before >= static_cast<double>(kFleetTimes) || point.seconds < boots_[found->host]) continue;
        found->amounts[kFleetTimes - 1 - static_cast<std::size_t>(before)] = point.value;
      }
    }
    if (!good() || !wants_yesterday()) return;
    for (const Series& series : query(average + " offset 1d)").series) {
      FleetSeries* const found = series_of(series);
      if (found != nullptr && end - kDay >= boots_[found->host]) found->yesterday = series.value;
    }
  }

  /// Removes hosts whose growth is within their usual growth in windows of this length.
  void leave_out_drift() {
    std::set<std::string> allocators, names, instances;
    bool has_account = false;
    for (const FleetLeak& leak : all_.leaks) {
      if (leak.is_of_group) continue;
      const FleetType& type = all_.types[leak.type];
      if (type.allocator == kAccountAllocator) {
        has_account = true;
      } else {
        allocators.insert(exactly(type.allocator));
        names.insert(exactly(type.name));
      }
      for (const std::size_t host : leak.hosts) instances.insert(exactly(instances_[host]));
    }
    std::string more = instances.size() > kMaxNamedHosts ? "" : "instance=~" + any_of(instances);
    if (!names.empty()) {
      ask_drift("memstat_type_bytes" + server_.selector("allocator=~" + any_of(allocators) + ",type=~" + any_of(names) +
                                                        (more.empty() ? "" : "," + more)));
    }
    if (has_account) ask_drift("memstat_unaccounted_bytes" + server_.selector(more));
    for (FleetLeak& leak : all_.leaks) {
      if (leak.is_of_group) continue;
      std::erase_if(leak.hosts, [&](std::size_t host) {
        const FleetSeries& series = all_.types[leak.type].series[host];
        const auto before = series.amounts[kPastParts], after = series.amounts.back();
        return before && after && series.drift && *after - *before < kMinDeviations * *series.drift;
      });
    }
    std::erase_if(all_.leaks, [](const FleetLeak& leak) { return leak.hosts.empty(); });
  }

  /// Asks for the standard deviation of growth in the windows of the day before this one. In bytes, of which a leak that
  /// began earlier gains as much in each.
  void ask_drift(const std::string& amounts) {
    const std::string window = seconds_text(window_);
    const std::string average = "avg_over_time(" + amounts + kAverage;
    const SeriesAnswer answer = query("stddev_over_time((" + average + ") - " + average + " offset " + window +
                                      "))[1d:" + window + "] offset " + window + ")");
    for (const Series& series : answer.series) {
      if (FleetSeries* const found = series_of(series); found != nullptr) found->drift = series.value;
    }
  }

  static double last_time(const SeriesAnswer& answer) {
    double last = 0;
    for (const Series& series : answer.series) last = std::max(last, series.points.back().seconds);
    return last;
  }

  /// nullptr: of an unknown host, or a type that is not compared.
  FleetSeries* series_of(const Series& series) {
    const auto place = places_.find(host_labels(series.labels));
    if (place == places_.end()) return nullptr;
    const bool is_type = series.labels.contains("type");
    for (FleetType& type : all_.types) {
      const bool is_it = is_type ? type.allocator == series.label("allocator") && type.name == series.label("type")
                                 : type.allocator == kAccountAllocator;
      if (!is_it) continue;
      while (type.series.size() < all_.hosts.size()) type.series.push_back({.host = type.series.size()});
      return &type.series[place->second];
    }
    return nullptr;
  }

  PrometheusServer& server_;
  double window_;
  const std::string& group_by_;
  std::map<LabelSet, std::size_t> places_;  // of hosts, by their labels
  std::vector<std::string> instances_;      // of hosts
  std::vector<std::string> groups_;         // of hosts
  std::vector<double> boots_;               // seconds since 1970; 0: unknown
  std::set<std::string> warnings_;
  FleetLeaks all_;
};

}  // namespace

FleetLeaks fleet_leaks(PrometheusServer& server, double seconds, const std::string& group_by) {
  return Asker(server, seconds, group_by).run();
}

}  // namespace memstat::ctl
