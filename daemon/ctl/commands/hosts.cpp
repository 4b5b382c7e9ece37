// SPDX-License-Identifier: BSD-2-Clause
// Many hosts, a row each, the worst first.
#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <tuple>

#include "core/base/ascii.h"
#include "core/diagnosis/finding.h"
#include "daemon/ctl/commands/reports.h"
#include "daemon/ctl/commands/shared_options.h"
#include "daemon/ctl/source/host_rows.h"

namespace memstat::ctl {
namespace {

constexpr std::array<ReportColumn, 13> kHostColumns{
    {{.key = "host", .title = "HOST", .least = 12},
     {.key = "severity", .title = "WORST"},
     {.key = "available_ratio", .title = "AVAILABLE", .unit = Unit::kRatio, .rank = 1},
     {.key = "kernel_ratio", .title = "KERNEL", .unit = Unit::kRatio, .rank = 2},
     {.key = "growth_bytes", .title = "GROWTH/h", .unit = Unit::kBytes, .rank = 4, .has_sign = true},
     {.key = "failures", .title = "FAILED", .unit = Unit::kNumber, .rank = 3},
     {.key = "release", .title = "RELEASE", .rank = 5, .least = 10},
     {.key = "finding", .title = "FINDING", .rank = 1, .least = 20},
     {.key = "cause", .title = ""},
     {.key = "available_bytes", .title = "", .unit = Unit::kBytes},
     {.key = "kernel_bytes", .title = "", .unit = Unit::kBytes},
     {.key = "total_bytes", .title = "", .unit = Unit::kBytes},
     {.key = "problem", .title = ""}}};

constexpr std::array<ReportColumn, 9> kGroupColumns{
    {{.key = "group", .title = "GROUP", .least = 12},
     {.key = "hosts", .title = "HOSTS", .unit = Unit::kNumber},
     {.key = "now", .title = "NOW", .unit = Unit::kNumber},
     {.key = "soon", .title = "SOON", .unit = Unit::kNumber},
     {.key = "silent", .title = "SILENT", .unit = Unit::kNumber, .rank = 2},
     {.key = "lowest_available_ratio", .title = "AVAILABLE", .unit = Unit::kRatio, .rank = 1},
     {.key = "median_kernel_ratio", .title = "KERNEL", .unit = Unit::kRatio, .rank = 3},
     {.key = "median_growth_bytes", .title = "GROWTH/h", .unit = Unit::kBytes, .rank = 4, .has_sign = true},
     {.key = "most_common_cause", .title = "FINDING", .least = 20}}};

std::string check_hosts_from(const std::string& text) {
  if (is_prometheus(text)) return check_prometheus(text);
  if (text.starts_with('@')) return {};
  const std::string meant = meant_reference(text);
  if (!is_url(meant)) return "give prometheus:http://HOST:9090, the URL of a memstatd, or @FILE with a URL on each line";
  return check_from_anywhere(meant);
}

constexpr auto kHostsOptions = joined(
    std::array{argument("PATTERN", {0, Option::kAny}, "Hosts whose name has a part that matches this regular expression",
                        add_pattern, check_pattern),
               valued(
                   "--from", "prometheus:URL|URL|@FILE",
                   "A Prometheus-compatible server that scrapes memstatd; or a running\nmemstatd, as http://HOST:PORT, once "
                   "for each "
                   "host; or @FILE, which has\na URL on each line",
                   [](CommandLine& line, const std::string& text) {
                     line.hosts.push_back(is_prometheus(text) || text.starts_with('@') ? text : meant_reference(text));
                   },
                   check_hosts_from, "", Option::kAny),
               kGroupByOption, kVerboseOption},
    joined(kServerOptions, kReportOptions));

std::string severity_word(const HostRow& host) {
  if (!host.problem.empty()) return "silent";
  if (host.severity <= 0) return "-";
  return std::string(to_string(static_cast<Severity>(static_cast<int>(kSeverityCount) - host.severity)));
}

/// The worst first; silent hosts after those that fail now.
std::tuple<int, double, std::string> rank_of(const HostRow& host) {
  const int severity = host.problem.empty() ? 2 * host.severity : 7;
  return {-severity, host.available_share().value_or(1), host.name};
}

ReportTable host_table(std::vector<HostRow> hosts) {
  std::sort(hosts.begin(), hosts.end(), [](const HostRow& a, const HostRow& b) { return rank_of(a) < rank_of(b); });
  ReportTable table("hosts", kHostColumns);
  for (const HostRow& host : hosts) {
    const std::string& words = !host.problem.empty() ? host.problem : host.headline.empty() ? host.cause : host.headline;
    table.add({host.name, severity_word(host), cell_of(host.available_share()), cell_of(host.kernel_share()),
               cell_of(host.growth_bytes), cell_of(host.failures), cell_of_text(host.release), cell_of_text(words),
               cell_of_text(host.cause), cell_of(host.available_bytes), cell_of(host.kernel_bytes),
               cell_of(host.total_bytes), cell_of_text(host.problem)});
  }
  return table;
}

std::optional<double> median_of(std::vector<double> values) {
  if (values.empty()) return {};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string group_of(const HostRow& host, const std::string& label) {
  if (label == "release") return host.release;
  if (label == "os") return host.os;
  const auto found = host.labels.find(label);
  return found == host.labels.end() ? std::string() : found->second;
}

void add_group(ReportTable& table, const std::string& group, const std::vector<const HostRow*>& hosts) {
  std::uint64_t now = 0, soon = 0, silent = 0;
  std::optional<double> lowest;
  std::vector<double> kernel, growth;
  std::map<std::string, int> causes;
  for (const HostRow* const host : hosts) {
    now += host->severity == 4 ? 1 : 0;
    soon += host->severity == 3 ? 1 : 0;
    silent += host->problem.empty() ? 0 : 1;
    if (const auto share = host->available_share()) lowest = std::min(lowest.value_or(1), *share);
    if (const auto share = host->kernel_share()) kernel.push_back(*share);
    if (host->growth_bytes) growth.push_back(*host->growth_bytes);
    if (!host->cause.empty()) ++causes[host->cause];
  }
  const auto most = std::max_element(causes.begin(), causes.end(), [](auto& a, auto& b) { return a.second < b.second; });
  const std::string cause =
      most == causes.end() ? std::string()
                           : most->first + " on " + std::to_string(most->second) + " of " + std::to_string(hosts.size());
  table.add({group.empty() ? Cell(std::string("-")) : Cell(group), std::uint64_t{hosts.size()}, now, soon, silent,
             cell_of(lowest), cell_of(median_of(kernel)), cell_of(median_of(growth)), cell_of_text(cause)});
}

/// The group with most trouble first.
ReportTable group_table(const std::vector<HostRow>& hosts, const std::string& label) {
  std::map<std::string, std::vector<const HostRow*>> groups;
  for (const HostRow& host : hosts) groups[group_of(host, label)].push_back(&host);
  std::vector<std::tuple<double, std::string>> order;
  for (const auto& [group, members] : groups) {
    const auto ill = std::count_if(members.begin(), members.end(), [](const HostRow* host) { return host->severity >= 3; });
    order.emplace_back(-static_cast<double>(ill) / static_cast<double>(members.size()), group);
  }
  std::sort(order.begin(), order.end());
  ReportTable table("groups", kGroupColumns);
  for (const auto& [share, group] : order) add_group(table, group, groups[group]);
  return table;
}

/// The URLs of memstatds, with the lines of files. Sets `problem` for a file that cannot be used.
std::vector<std::string> urls_of(const std::vector<std::string>& references, std::string& problem) {
  std::vector<std::string> urls;
  for (const std::string& reference : references) {
    if (!reference.starts_with('@')) {
      urls.push_back(reference);
      continue;
    }
    std::ifstream file(reference.substr(1));
    if (!file) problem = reference.substr(1) + ": cannot be read";
    std::size_t number = 0;
    for (std::string line; std::getline(file, line);) {
      ++number;
      const std::string text(trim(line));
      if (text.empty() || text[0] == '#') continue;
      const std::string meant = meant_reference(text);
      if (!is_url(meant) || !check_from_anywhere(meant).empty()) {
        problem = reference.substr(1) + ":" + std::to_string(number) + ": give the URL of a memstatd, http://HOST:PORT";
      }
      urls.push_back(meant);
    }
  }
  return urls;
}

}  // namespace

Report hosts_report(const CommandLine& options) {
  const auto is_server = [](const std::string& reference) { return is_prometheus(reference); };
  if (options.hosts.empty()) {
    return {.problem = "hosts: give --from prometheus:http://HOST:9090, or --from URL for each host, or --from @FILE",
            .status = kExitUsage};
  }
  const bool has_server = std::any_of(options.hosts.begin(), options.hosts.end(), is_server);
  if (has_server && options.hosts.size() > 1)
    return {.problem = "--from: one server, or the hosts themselves", .status = kExitUsage};
  HostRows rows;
  if (has_server) {
    PrometheusServer server(options.hosts.front(), options.server);
    rows = rows_of_prometheus(server);
  } else {
    const std::vector<std::string> urls = urls_of(options.hosts, rows.problem);
    if (rows.problem.empty()) rows = rows_of_daemons(urls);
  }
  if (!rows.problem.empty()) return {.problem = rows.problem};
  ReportTable table =
      options.group_by.empty() ? host_table(std::move(rows.hosts)) : group_table(rows.hosts, options.group_by);
  Report report = report_of(std::move(table), options.view);
  report.missing = std::move(rows.missing);
  return report;
}

const Command kHostsCommand{"hosts",
                            Group::kLook,
                            "Many hosts, a row each, the worst first: from a Prometheus, or asked one by one",
                            "memstatctl hosts --from prometheus:http://127.0.0.1:9090\n"
                            "memstatctl hosts --from prometheus:http://127.0.0.1:9090 --group-by release --at 2h\n"
                            "memstatctl hosts --from db1:8947 --from db2:8947\n"
                            "memstatctl hosts --from @hosts.txt --json",
                            kHostsOptions,
                            hosts_report};

}  // namespace memstat::ctl
