// SPDX-License-Identifier: BSD-2-Clause
// Out-of-memory and table-full events in Linux's log: kills, failed allocations, refused entries. Reads /dev/kmsg record by
// record, from the oldest that the kernel has. core/model/kernel_log.h describes the lines and the table.
#include "core/collect/kernel_messages.h"
#include "core/model/kernel_log.h"
#include "core/model/kernel_log_book.h"
#include "core/source.h"
#include "core/sources/event_log.h"

namespace memstat::sources::linux_kernel_log {
namespace {

constexpr EventLog kLog{.source = "linux_kernel_log", .path = KernelMessages::kPath};

constexpr SystemMetric kKernelLogLost =
    counter_metric("memstat_kernel_log_lost_records_total", Tier::kDefault,
                   "Kernel log records overwritten before memstatd could read them, since it started.");

class LogReader final : public EventLogReader {
 public:
  /// More than a log of 16 MiB contains; the rest is read at the next poll.
  static constexpr int kMaxRecords = 65536;

  Result<void> open() override { return messages_.open(); }

 private:
  Result<void> add_records(bool& has_new) override {
    for (int i = 0; i < kMaxRecords; ++i) {
      const auto record = messages_.next();
      if (!record) return record.error();
      if (record->empty()) break;
      book_.add(*record);
      has_new = true;
    }
    return {};
  }
  void write(Buffer& out) override { book_.write(out); }

  KernelMessages messages_;
  KernelLogBook book_;
};

using State = EventLogState<LogReader>;

Result<void> parse(const RawBytes& raw, Staging& staging) {
  LogTable table;
  if (auto parsed = parse_event_log(kLog, raw.parts[0].view(), table, staging); !parsed) return parsed;
  StagedStatistics& statistics = staging.statistics();
  for (const LogEvent event : kLinuxLogEvents) {
    const auto number = static_cast<std::size_t>(event);
    if (table.has_count[number]) statistics.add(kKernelLogEvents, table.counts[number], {to_string(event)});
  }
  statistics.add(kKernelLogLost, table.lost);
  return {};
}

constexpr MetricOrigin kOrigins[] = {
    {kKernelLogEvents, "lines of the kernel itself by their beginning, and as suppressed lines that report omitted lines"},
    {kKernelLogLost, "gaps in the numbers of the records"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = kLog.source,
    .origin = kLog.path,
    .os = OperatingSystem::kLinux,
    .origins = kOrigins,
    .needs = "CAP_SYSLOG",
    .notes =
        "needs root at start, or CAP_SYSLOG if kernel.dmesg_restrict is 1; the shipped service hides the file "
        "(ProtectKernelLogs, PrivateDevices), and its example kernel-log.conf does not; lines written into the log by "
        "programs do not count; the last 64 events with their lines are in /api/v1/events, in memstatctl events, and in "
        "recordings",
    .steps = source_steps<State, open_event_log<kLog, State>, read_event_log<kLog, State>, parse>(),
};

}  // namespace memstat::sources::linux_kernel_log
