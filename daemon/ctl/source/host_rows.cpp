// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/source/host_rows.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "daemon/ctl/source/api_answers.h"
#include "daemon/ctl/source/document.h"
#include "daemon/ctl/source/report_source.h"

namespace memstat::ctl {

const char* const kNotKernelParts =
    "anonymous|page_cache|shared|buffers|swap_cache|detached|active|inactive|laundry|cache|unswappable|user_wired|set_aside|"
    "hugetlb|cma|balloon|hardware_corrupted";

namespace {

constexpr std::size_t kMaxAskedAtOnce = 64;

std::optional<double> share_of(std::optional<double> part, std::optional<double> whole) {
  if (!part || !whole || !(*whole > 0)) return {};
  return *part / *whole;
}

/// Gathers the answers of one server by host.
class Gatherer {
 public:
  explicit Gatherer(PrometheusServer& server) : server_(server) {}

  HostRows run() {
    const auto set_system = [](HostRow& host, const Series& series) {
      host.os = series.label("os");
      host.release = series.label("release");
    };
    add("memstat_kernel_info" + selector(), set_system);
    // A host that has stopped has no series now: it is a row without figures, with the release that it had.
    add("last_over_time(memstat_kernel_info" + selector() + "[1h])", [&](HostRow& host, const Series& series) {
      if (!host.release.empty()) return;
      set_system(host, series);
      host.problem = "no figures now, but within the last hour";
    });
    if (all_.problem.empty() && hosts_.empty()) {
      all_.problem = server_.url().for_logs + ": no host has the metric memstat_kernel_info" + selector() +
                     "; does the server scrape memstatd, and do --host and --match name one?";
    }
    add_figures();
    add_findings();
    std::vector<LabelSet> labels;
    for (const auto& [of_host, host] : hosts_) labels.push_back(of_host);
    for (const std::string& name : host_names(labels)) {
      auto host = hosts_.extract(hosts_.begin());
      host.mapped().name = name;
      host.mapped().labels = std::move(host.key());
      all_.hosts.push_back(std::move(host.mapped()));
    }
    return std::move(all_);
  }

 private:
  [[nodiscard]] std::string selector(const std::string& more = {}) const { return server_.selector(more); }

  template <typename Use>
  void add(const std::string& expression, Use use) {
    if (!all_.problem.empty()) return;
    SeriesAnswer answer = server_.query(expression);
    all_.problem = std::move(answer.problem);
    for (std::string& warning : answer.warnings) {
      if (warnings_.insert(warning).second) all_.missing.push_back("the server warns: " + std::move(warning));
    }
    for (const Series& series : answer.series) use(hosts_[host_labels(series.labels)], series);
  }

  void add_figures() {
    add("memstat_memory_total_bytes" + selector(),
        [](HostRow& host, const Series& series) { host.total_bytes = series.value; });
    add("memstat_memory_available_bytes" + selector(),
        [](HostRow& host, const Series& series) { host.available_bytes = series.value; });
    const std::string kernel = "memstat_accounted_bytes" + selector("part!~\"" + std::string(kNotKernelParts) + "\"");
    const auto sum = [&](const char* offset) { return "sum without (part) (" + kernel + offset + ")"; };
    add(sum(""), [](HostRow& host, const Series& series) { host.kernel_bytes = series.value; });
    add(sum("") + " - " + sum(" offset 1h"), [](HostRow& host, const Series& series) { host.growth_bytes = series.value; });
    add("sum without (allocator, type) (increase(memstat_type_failures_total" +
            selector("type!~\"[0-9]+ Bucket|vm pgcache|vmem btag\"") + "[1h]))",
        [](HostRow& host, const Series& series) { host.failures = series.value; });
  }

  void add_findings() {
    std::map<std::pair<LabelSet, std::string>, std::string> headlines;
    add("memstat_finding_info" + selector(), [&](const HostRow&, const Series& series) {
      headlines[{host_labels(series.labels), series.label("cause") + " " + series.label("object")}] =
          series.label("headline");
    });
    std::map<LabelSet, std::string> keys;
    add("memstat_finding" + selector() + " > 0", [&](HostRow& host, const Series& series) {
      // Of several with one severity a server does not know the daemon's order: the first by name, so that it stays the
      // same.
      const std::string cause = series.label("cause");
      const std::string key = cause + " " + series.label("object");
      std::string& chosen = keys[host_labels(series.labels)];
      const int severity = static_cast<int>(std::min(series.value, 4.0));
      if (severity < host.severity || (severity == host.severity && key >= chosen)) return;
      chosen = key;
      host.severity = severity;
      host.cause = cause;
      const auto words = headlines.find({host_labels(series.labels), key});
      host.headline = words == headlines.end() ? std::string() : words->second;
    });
  }

  PrometheusServer& server_;
  std::map<LabelSet, HostRow> hosts_;
  std::set<std::string> warnings_;
  HostRows all_;
};

/// The sum of the parts in the document of /api/v1/memory that are the kernel's own.
double kernel_bytes_of(std::string_view json) {
  const std::string others = "|" + std::string(kNotKernelParts) + "|";
  double sum = 0;
  each_of(parsed_document(json), "parts", Document::value_t::object, [&](const Document& part) {
    if (others.find("|" + text_of(part, "part") + "|") != std::string::npos) return;
    sum += static_cast<double>(amount_of(part, "bytes").value_or(0));
  });
  return sum;
}

HostRow row_of_daemon(const std::string& url) {
  HostRow host{.name = short_name(parse_url(url).url)};
  DaemonAnswer memory = ask_daemon(url, "/api/v1/memory");
  host.problem = std::move(memory.problem);
  if (!host.problem.empty()) return host;
  Machine machine;
  std::optional<MachineMemory> figures;
  if (!parse_memory_answer(memory.text, machine, figures)) {
    host.problem = "the response is not from memstatd; does another program listen there?";
    return host;
  }
  host.os = machine.os;
  host.release = machine.release;
  if (figures) {
    host.total_bytes = static_cast<double>(figures->total);
    if (figures->available) host.available_bytes = static_cast<double>(*figures->available);
    host.kernel_bytes = kernel_bytes_of(memory.text);
  }
  DaemonAnswer findings = ask_daemon(url, "/api/v1/findings");
  Diagnosis diagnosis;
  host.problem = std::move(findings.problem);
  if (!host.problem.empty() || !parse_findings_answer(findings.text, diagnosis) || diagnosis.findings.empty()) return host;
  const Finding& worst = diagnosis.findings.front();
  host.severity = static_cast<int>(kSeverityCount) - static_cast<int>(worst.severity);
  host.cause = worst.cause;
  host.headline = worst.headline;
  return host;
}

}  // namespace

std::optional<double> HostRow::available_share() const { return share_of(available_bytes, total_bytes); }
std::optional<double> HostRow::kernel_share() const { return share_of(kernel_bytes, total_bytes); }

HostRows rows_of_prometheus(PrometheusServer& server) { return Gatherer(server).run(); }

HostRows rows_of_daemons(const std::vector<std::string>& urls) {
  HostRows all;
  all.hosts.resize(urls.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < urls.size(); i = next++) all.hosts[i] = row_of_daemon(urls[i]);
  };
  std::vector<std::future<void>> workers;
  for (std::size_t i = 0; i < std::min(urls.size(), kMaxAskedAtOnce); ++i) {
    workers.push_back(std::async(std::launch::async, work));
  }
  for (std::future<void>& worker : workers) worker.get();
  return all;
}

}  // namespace memstat::ctl
