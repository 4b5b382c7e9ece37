// SPDX-License-Identifier: BSD-2-Clause
// Kills by programs that free memory before the kernel does, from their lines in systemd's journal. The kernel counts none
// of them. core/model/service_log.h describes the lines, core/model/kernel_log.h the table.
#include "core/collect/journal_messages.h"
#include "core/model/kernel_log.h"
#include "core/model/service_log.h"
#include "core/source.h"
#include "core/sources/event_log.h"

namespace memstat::sources::linux_service_log {
namespace {

constexpr EventLog kLog{.source = "linux_service_log", .path = JournalMessages::kPath};

constexpr SystemMetric kProgramKills =
    counter_metric("memstat_program_kills_total", Tier::kDefault,
                   "Kills by programs such as systemd-oomd and earlyoom for lack of memory, since boot as far as the "
                   "journal's current file goes back.");

class ServiceLogReader final : public EventLogReader {
 public:
  /// The rest is read at the next poll.
  static constexpr int kMaxMessages = 4096;

  Result<void> open() override { return messages_.open(); }

 private:
  Result<void> add_records(bool& has_new) override {
    if (auto followed = messages_.follow(); !followed) return followed;
    for (int i = 0; i < kMaxMessages; ++i) {
      const auto message = messages_.next();
      if (!message) return message.error();
      if (message->unit.empty()) break;
      book_.add(message->unit, message->time_us, message->text);
      has_new = true;
    }
    return {};
  }
  void write(Buffer& out) override {
    book_.finish();
    book_.write(out);
  }

  JournalMessages messages_{killer_units(), kUnitOomdKill};
  ServiceLogBook book_;
};

using State = EventLogState<ServiceLogReader>;

Result<void> parse(const RawBytes& raw, Staging& staging) {
  LogTable table;
  if (auto parsed = parse_event_log(kLog, raw.parts[0].view(), table, staging); !parsed) return parsed;
  constexpr auto kKill = static_cast<std::size_t>(LogEvent::kProgramKill);
  if (table.has_count[kKill]) staging.statistics().add(kProgramKills, table.counts[kKill]);
  return {};
}

constexpr MetricOrigin kOrigins[] = {
    {kProgramKills, "messages of systemd-oomd, oomd, earlyoom, nohang and kubelet that report a kill"},
};

/// Where journald puts the file that replaces the current one.
constexpr std::string_view kReopened[] = {"/run/log/journal", "/var/log/journal"};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = kLog.source,
    .origin = kLog.path,
    .os = OperatingSystem::kLinux,
    .origins = kOrigins,
    .max_files = JournalMessages::kDirectories.size(),
    .reopened_directories = kReopened,
    .needs = "group:systemd-journal",
    .notes =
        "needs libsystemd and, even if started as root, an account in the group systemd-journal, because journald's next "
        "file "
        "is opened after privileges are dropped: the example journal.conf of the shipped service adds the group; only "
        "messages of the programs' own system services and of systemd count, whatever others write into the journal; the "
        "last "
        "64 kills with their lines are in /api/v1/events, in memstatctl events, and in recordings",
    .steps = source_steps<State, open_event_log<kLog, State>, read_event_log<kLog, State>, parse>(),
};

}  // namespace memstat::sources::linux_service_log
