// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/incidents/incident_keeper.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace memstat {
namespace {

/// With what else incidents need it stays below 2 MiB.
constexpr std::size_t kRecentBytes = std::size_t{3} << 19U;

}  // namespace

void IncidentKeeper::open(std::shared_ptr<KernelView>& view, const IncidentsConfig& config, const Clock& clock,
                          Options options) {
  const bool is_default = config.directory == IncidentsConfig::kDirectory;
  if (config.directory.empty() || (options.is_replay && is_default)) {
    why_not_ = config.directory.empty() ? "the key incidents.directory is empty"
                                        : "a replay keeps them only in another incidents.directory than the default";
    return;
  }
  auto store =
      IncidentStore::open(config.directory, options.owner, {.max_bytes = config.max_bytes, .max_files = config.max_files});
  if (!store) {
    why_not_ = to_string(store.error());
    options.log(is_default ? LogLevel::kDebug : LogLevel::kWarning, "incidents are not kept: " + why_not_);
    return;
  }
  store_ = *std::move(store);
  log_ = std::move(options.log);
  clock_ = &clock;
  polls_ = std::make_shared<RecentPolls>(view, kRecentBytes, clock);
  view = polls_;
  if (options.is_replay) return;
  watch_.emplace();
  previous_boot_ = find_previous_boot(options.previous_logs);
}

void IncidentKeeper::keep_previous_boot(SelfMetrics& metrics) {
  const auto boot = std::exchange(previous_boot_, std::nullopt);
  if (!boot) return;
  Incident incident;
  incident.realtime_ns = boot->realtime_ns;
  incident.cause = kPreviousBoot;
  incident.headline = boot->headline;
  incident.certainty = to_string(Certainty::kConfirmed);
  incident.file = incident_file_name(incident.realtime_ns, incident.cause);
  incident.next = "memstatctl events --from " + store_->directory() + "/" + incident.file;
  const std::vector<Incident> kept = store_->incidents();
  const auto is_it = [&](const Incident& one) { return one.file == incident.file; };
  if (std::any_of(kept.begin(), kept.end(), is_it)) return;
  KeptPolls polls{.ring = PollRing(kRecentBytes + 16 * boot->log.size()),
                  .manifest = manifest_of(*polls_),
                  .texts = {},
                  .most = SIZE_MAX};
  polls.ring.add(PollRecord::Kind::kTable, "linux_kernel_log", boot->log, 0);
  polls.ring.end_poll({.label = "previous boot", .realtime_ns = boot->realtime_ns, .monotonic_ns = boot->uptime_ns});
  const auto written = store_->write(incident, std::move(polls));
  if (!written) log_(LogLevel::kWarning, "the log of the previous boot is not kept: " + to_string(written.error()));
  if (written) metrics.incident(kPreviousBoot);
}

void IncidentKeeper::end_opening() {
  if (polls_) polls_->end_opening();
}

void IncidentKeeper::start(SelfMetrics& metrics, std::function<void()> on_kill) {
  if (!store_) return;
  keep_previous_boot(metrics);  // by the account that reads it later
  box_ = std::make_unique<BlackBox>(polls_, std::move(store_), metrics, log_, *clock_);
  if (watch_) watch_->start(std::move(on_kill));
}

std::vector<Incident> IncidentKeeper::polled(std::span<const Finding> findings, std::span<const std::size_t> urgent) {
  return box_ ? box_->polled(findings, urgent) : std::vector<Incident>();
}

void IncidentKeeper::stop() {
  watch_.reset();
  box_.reset();
}

IncidentList IncidentKeeper::list() const {
  if (!box_) return {.incidents = {}, .directory = {}, .problem = why_not_};
  return {.incidents = box_->incidents(), .directory = box_->directory(), .problem = {}};
}

Result<std::string> IncidentKeeper::file(std::string_view name) const {
  return box_ ? box_->read(name) : system_error(name, ENOENT);
}

}  // namespace memstat
