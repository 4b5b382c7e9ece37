// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/incidents/incident_keeper.h"

#include <cerrno>
#include <utility>

namespace memstat {
namespace {

constexpr std::size_t kRecentBytes = std::size_t{2} << 20U;

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
  if (!options.is_replay) watch_.emplace();
}

void IncidentKeeper::end_opening() {
  if (polls_) polls_->end_opening();
}

void IncidentKeeper::start(SelfMetrics& metrics, std::function<void()> on_kill) {
  if (!store_) return;
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
