// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/event_helper.h"

#include <string>

#include "core/source.h"
#include "daemon/options.h"
#include "daemon/poll/source_settings.h"
#include "daemon/privileges/account.h"

namespace memstat {

void EventHelper::start(const Config& config) {
  const HelperOptions options{.user = account_for(config.user, kOwnUser),
                              .sandbox = config.sandbox,
                              .capabilities = helper_capabilities(all_sources(), OperatingSystem::kLinux, config),
                              .serve = [](int socket) { events::serve_attaching(socket); }};
  if (options.capabilities.empty()) return;
  auto process = HelperProcess::start(options);
  if (process) {
    door_ = std::make_shared<events::AttachHelper>(process->take_socket());
    process_ = *std::move(process);
    events::set_process_helper(door_);
  } else if (process.error().code == ErrorCode::kIo) {  // else the sources say what they lack themselves
    log_.warning(to_string(process.error()) + "; what is detached from events then needs a restart to come back");
  }
}

void EventHelper::keep_if_needed() {
  if (!process_) return;
  if (door_->seal()) {
    metrics_.helper_up(true);
    log_.info("the helper process that attaches to events again is process " + std::to_string(process_->number()));
    return;
  }
  events::set_process_helper(nullptr);
  process_->wait();
  process_.reset();
}

void EventHelper::watch() {
  if (!process_ || door_->is_alive()) return;
  (void)process_->has_ended();
  if (is_lost_.exchange(true)) return;
  metrics_.helper_up(false);
  log_.warning(
      "the helper process is gone: sources that detach from events from now on stay so; restart memstatd to count events "
      "again");
}

}  // namespace memstat
