// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/process/event_helper.h"

#include <string>

#include "core/source.h"
#include "daemon/options.h"
#include "daemon/poll/source_settings.h"
#include "daemon/privileges/account.h"

namespace memstat {

EventHelper::EventHelper(Log& log, SelfMetrics& metrics)
    : log_(log),
      process_(
          log, metrics, LogLevel::kWarning,
          "the helper process is gone: sources that detach from events from now on stay detached; restart memstatd to count "
          "events again") {}

void EventHelper::start(const Config& config) {
  const HelperOptions options{.user = account_for(config.user, kOwnUser),
                              .sandbox = config.sandbox,
                              .capabilities = helper_capabilities(all_sources(), OperatingSystem::kLinux, config),
                              .serve = [](int socket) { events::serve_attaching(socket); }};
  if (options.capabilities.empty()) return;
  auto process = HelperProcess::start(options);
  if (process) {
    handle_ = std::make_shared<events::AttachHelper>(process->take_socket());
    process_.keep(*std::move(process));
    events::set_process_helper(handle_);
  } else if (process.error().code == ErrorCode::kIo) {  // other errors are reported by the sources
    log_.warning(to_string(process.error()) + "; sources that detach from events then stay detached until a restart");
  }
}

void EventHelper::keep_if_needed() {
  if (!process_.exists()) return;
  if (handle_->seal()) {
    process_.set_ready();
    log_.info("the helper process that attaches to events again has PID " + std::to_string(process_.number()));
    return;
  }
  events::set_process_helper(nullptr);
  process_.end();
}

void EventHelper::watch() { process_.watch(handle_ != nullptr && handle_->is_alive()); }

}  // namespace memstat
