// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/process/helpers.h"

#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

#include "core/source.h"
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

HolderHelper::HolderHelper(Log& log, SelfMetrics& metrics)
    : process_(log, metrics, LogLevel::kWarning,
               "the process that asks who holds memory is gone: findings name no holders until memstatd is restarted") {}

void HolderHelper::start(const Config& config) {
  why_not_ = "not in this answer: holders are asked by memstatctl who";
  if (!config.finding_holders || !kAsksForHolders) return;
  HelperOptions options{.user = account_for(config.user, kOwnUser),
                        .sandbox = config.sandbox,
                        .capabilities = {"CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH"},
                        .keeps_only_permitted = true,
                        .system_calls = SystemCalls::kInspecting,
                        .name = "memstatd-who"};
  options.serve = [](int socket) {
    auto machine = make_live_kernel_view();
    if (machine) serve_inspections(socket, **machine);
  };
  auto process = HelperProcess::start(options);
  if (!process) {
    why_not_ = "not in this answer: " + to_string(process.error());
    return;
  }
  channel_ = std::make_shared<InspectionChannel>(process->take_socket());
  process_.keep(*std::move(process));
}

void HolderHelper::watch() { process_.watch(channel_ != nullptr && channel_->is_alive()); }

namespace {

/// Reads this process's statistics itself, and gets those that the sandbox hides from the reader.
class StatsByReader final : public ProcessStatsReader {
 public:
  explicit StatsByReader(std::shared_ptr<ReaderView> view) : view_(std::move(view)) {}
  ProcessStats read() override {
    ProcessStats stats = own_->read();
    const ProcessStats seen = view_->process_stats();
    stats.resident_bytes = seen.resident_bytes;
    stats.virtual_bytes = seen.virtual_bytes;
    stats.start_time_seconds = seen.start_time_seconds;
    return stats;
  }

 private:
  const std::unique_ptr<ProcessStatsReader> own_ = make_process_stats_reader();
  const std::shared_ptr<ReaderView> view_;
};

/// Drops the reader's privileges once the names to read are known. It has no files, and no sockets except those to the
/// daemon.
Result<void> give_up_root(const std::string& user) {
  const auto report = drop_privileges({.user = user, .sandbox = false, .lock_memory = false});
  return report ? Result<void>() : report.error();
}

}  // namespace

KernelReader::KernelReader(Log& log, SelfMetrics& metrics)
    : log_(log),
      metrics_(metrics),
      process_(log, metrics, LogLevel::kError,
               "the process that reads the kernel is gone: memstatd exits with status 1 and must be restarted"),
      counter_(log, metrics, LogLevel::kWarning,
               "the process that asks for the counts of jails is gone: their figures are sums over processes until memstatd "
               "is restarted") {}

void KernelReader::start(const Config& config) {
  launch_counter();
  if (const Result<void> made = launch(config); !made)
    log_.warning(to_string(made.error()) + "; memstatd reads the kernel itself, without a sandbox");
}

void KernelReader::launch_counter() {
  auto machine = make_live_kernel_view();
  Buffer is_counted;
  if (!machine || ::geteuid() != 0 || !(*machine)->read_sysctl("kern.racct.enable", is_counted, 1)) return;
  if (is_counted.view().find_first_not_of('\0') == std::string_view::npos) return;
  HelperOptions options{.user = {}, .sandbox = false, .name = "memstatd-jails", .gives_up_first = false};
  options.serve = [](int socket) {
    auto live = make_live_kernel_view();
    if (live) serve_jail_counts(socket, **live);
  };
  auto process = HelperProcess::start(options);
  if (!process) {
    log_.warning(to_string(process.error()) + "; the figures of jails are sums over their processes");
    return;
  }
  jail_counts_ = std::make_shared<JailCounts>(process->take_socket());
  counter_.keep(*std::move(process));
}

Result<void> KernelReader::launch(const Config& config) {
  auto made = ReadChannels::make();
  if (!made) return made.error();
  const auto channels = std::make_shared<ReadChannels>(*std::move(made));
  const std::string user = account_for(config.user, kOwnUser);
  HelperOptions options{.user = user, .sandbox = config.sandbox, .name = "memstatd-reader", .gives_up_first = false};
  for (const ChannelEnd& each : channels->theirs) {
    const auto descriptors = each.descriptors();
    options.descriptors.insert(options.descriptors.end(), descriptors.begin(), descriptors.end());
  }
  options.serve = [channels, user](int) {
    auto live = make_live_kernel_view();
    if (live) serve_reads(std::move(channels->theirs), **live, [user] { return give_up_root(user); });
  };
  auto process = HelperProcess::start(options);
  channels->theirs.clear();
  if (!process) return process.error();
  (void)process->take_socket();  // closed: the channels remain
  process_.keep(*std::move(process));
  auto view = ReaderView::connect(std::move(channels->ours));
  if (!view) {
    process_.end();
    return view.error();
  }
  view_ = *std::move(view);
  view_->get_jail_counts_from(jail_counts_);
  metrics_.process_stats_by(std::make_unique<StatsByReader>(view_));
  return {};
}

Result<void> KernelReader::seal() {
  if (!view_) return {};
  if (const Result<void> sealed = view_->seal(); !sealed) {
    Error error = sealed.error();
    const bool is_of_account = error.code == ErrorCode::kData || error.code == ErrorCode::kPermission;
    if (!is_of_account) error.detail += "; --no-sandbox avoids this process";
    return error;
  }
  process_.set_ready();
  return {};
}

bool KernelReader::watch() {
  counter_.watch(jail_counts_ != nullptr && jail_counts_->is_alive());
  process_.watch(view_ != nullptr && view_->is_alive());
  return !is_lost();
}

}  // namespace memstat
