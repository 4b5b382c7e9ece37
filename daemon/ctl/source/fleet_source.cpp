// SPDX-License-Identifier: BSD-2-Clause
// Several running memstatds as one source.
#include <algorithm>
#include <future>
#include <utility>

#include "daemon/ctl/source/http_client.h"
#include "daemon/ctl/source/report_source.h"

namespace memstat::ctl {
namespace {

struct Host {
  std::unique_ptr<ReportSource> source;
  std::string name;
  std::size_t types = 0;  // in the last sample
};

class FleetSource final : public ReportSource {
 public:
  explicit FleetSource(std::vector<Host> hosts) : hosts_(std::move(hosts)) {}

  Sample read() override {
    std::vector<std::future<Sample>> answers;
    for (Host& host : hosts_) {
      answers.push_back(std::async(std::launch::async, [source = host.source.get()] { return source->read(); }));
    }
    Sample all;
    for (std::size_t i = 0; i < hosts_.size(); ++i) add(hosts_[i], answers[i].get(), all);
    return all;
  }

  [[nodiscard]] Machine machine() override {
    Machine machine;
    machine.host = std::to_string(hosts_.size()) + " hosts";
    return machine;
  }

  Splits splits(const TypeRow& type) override {
    for (Host& host : hosts_) {
      if (host.name == type.host) return host.source->splits(type);
    }
    return {};
  }

  [[nodiscard]] bool remembers() const override { return true; }
  std::vector<AmountHistory> history(unsigned seconds, unsigned points) override {
    std::vector<AmountHistory> all;
    for (Host& host : hosts_) {
      std::vector<AmountHistory> of_host =
          host.types == 0 ? std::vector<AmountHistory>() : host.source->history(seconds, points);
      of_host.resize(host.types);
      std::move(of_host.begin(), of_host.end(), std::back_inserter(all));
    }
    return all;
  }

 private:
  static void add(Host& host, Sample sample, Sample& all) {
    host.types = sample.types.size();
    const std::string os = host.source->machine().os;
    all.time_ns = std::max(all.time_ns, sample.time_ns);
    if (!sample.problem.empty()) all.problem += (all.problem.empty() ? "" : "; ") + sample.problem;
    for (TypeRow& type : sample.types) {
      type.host = host.name;
      type.os = os;
      all.types.push_back(std::move(type));
    }
  }

  std::vector<Host> hosts_;
};

}  // namespace

OpenedSource open_fleet(const std::vector<std::string>& urls) {
  std::vector<Host> hosts;
  for (const std::string& url : urls) {
    OpenedSource opened = open_daemon(url);
    if (opened.source == nullptr) return opened;
    hosts.push_back({.source = std::move(opened.source), .name = short_name(parse_url(url).url)});
  }
  return {.source = std::make_unique<FleetSource>(std::move(hosts)), .problem = {}};
}

}  // namespace memstat::ctl
