// SPDX-License-Identifier: BSD-2-Clause
// All that a daemon does about incidents, from before the privilege drop to the end.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/config.h"
#include "daemon/incidents/black_box.h"
#include "daemon/incidents/kill_watch.h"
#include "daemon/incidents/previous_boot.h"

namespace memstat {

/// Keeps incidents, or knows why it does not. Thread safety: list() and file() by any thread once started, polled() by the
/// polling thread, the rest by one.
class IncidentKeeper {
 public:
  struct Options {
    DirectoryOwner owner = {};  ///< The account that memstatd becomes before the first poll.
    bool is_replay = false;     ///< Of a capture: kept only in another directory than the default.
    BlackBox::Log log = {};
    std::span<const std::string_view> previous_logs = kPreviousLogs;  ///< see previous_boot.h
  };

  /// Opens the directory, reads what pstore has of the boot before, and wraps `view`, through which memstatd then reads.
  /// `clock`: the capture's, if it is a replay; must outlive this object. Without the directory it does nothing: a warning
  /// if it is not the default.
  void open(std::shared_ptr<KernelView>& view, const IncidentsConfig& config, const Clock& clock, Options options);
  /// Call after the sources were opened.
  void end_opening();
  /// The path that must stay writable; "": none.
  [[nodiscard]] std::string directory() const { return store_ ? store_->directory() : std::string(); }

  /// Keeps the boot before, and starts the threads. `on_kill`: called by one of them when the kernel has killed something,
  /// to poll.
  void start(SelfMetrics& metrics, std::function<void()> on_kill);
  /// Call after each poll; see BlackBox::polled.
  std::vector<Incident> polled(std::span<const Finding> findings, std::span<const std::size_t> urgent);
  /// Whether the last poll had more files than there is room for. want() then says which control groups come first.
  [[nodiscard]] bool is_crowded() const { return box_ && polls_->is_crowded(); }
  void want(std::span<const std::string> groups) { polls_->want(groups); }
  /// Waits for what is being written. Call after the last poll.
  void stop();

  [[nodiscard]] IncidentList list() const;
  /// The bytes of an incident's file. Errors: system_error.
  [[nodiscard]] Result<std::string> file(std::string_view name) const;

 private:
  void keep_previous_boot(SelfMetrics& metrics);

  std::shared_ptr<RecentPolls> polls_;
  std::unique_ptr<IncidentStore> store_;  // until box_ has it
  std::optional<KillWatch> watch_;
  std::unique_ptr<BlackBox> box_;
  BlackBox::Log log_;
  const Clock* clock_ = nullptr;
  std::optional<PreviousBoot> previous_boot_;  // until start()
  std::string why_not_ = "memstatd has just started";
};

}  // namespace memstat
