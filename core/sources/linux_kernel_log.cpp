// SPDX-License-Identifier: BSD-2-Clause
// Out-of-memory and table-full events in Linux's log: kills, failed allocations, refused entries. Reads /dev/kmsg record by
// record, from the oldest that the kernel has. core/model/kernel_log.h describes the lines and the table.
#include <memory>

#include "core/collect/kernel_messages.h"
#include "core/model/kernel_log.h"
#include "core/model/kernel_log_book.h"
#include "core/source.h"

namespace memstat::sources::linux_kernel_log {
namespace {

constexpr std::string_view kName = "linux_kernel_log";

constexpr SystemMetric kKernelLogLost =
    counter_metric("memstat_kernel_log_lost_records_total", Tier::kDefault,
                   "Kernel log records overwritten before memstatd could read them, since it started.");

/// The log read so far.
class LogReader final : public TextTableSource {
 public:
  /// More than a log of 16 MiB contains; the rest is read at the next poll.
  static constexpr int kMaxRecords = 65536;

  Result<void> open() override { return messages_.open(); }
  Result<void> read(Buffer& out) override {
    for (int i = 0; i < kMaxRecords; ++i) {
      const auto record = messages_.next();
      if (!record) return record.error();
      if (record->empty()) break;
      book_.add(*record);
      size_ = 0;
    }
    // The table stays in the buffer that the caller hands over at each read.
    if (size_ != 0 && out.size() == size_) return {};
    book_.write(out);
    size_ = out.size();
    return {};
  }

 private:
  KernelMessages messages_;
  KernelLogBook book_;
  std::size_t size_ = 0;  // of the table as last written; 0: a record was added since
};

struct State final : ReaderState {
  std::unique_ptr<TextTableSource> table = std::make_unique<LogReader>();
};

/// Views name a table after its source; for people, name the path instead.
Result<void> under_its_path(Result<void> result) {
  if (!result) result.error().path = KernelMessages::kPath;
  return result;
}

Result<void> open(KernelView& view, RawBytes&, State& state) { return under_its_path(view.open_table(kName, *state.table)); }

Result<void> read(KernelView& view, RawBytes& raw, State& state) {
  return under_its_path(view.read_table(kName, *state.table, raw.parts[0]));
}

Result<void> parse(const RawBytes& raw, Staging& staging) {
  staging.reset({}, 0);
  LogTable table;
  const std::string_view text = raw.parts[0].view();
  if (const auto offset = read_log_table(text, table)) {
    return data_error(KernelMessages::kPath, *offset, "the table of events is truncated or malformed");
  }
  StagedStatistics& statistics = staging.statistics();
  for (const LogEvent event : kLinuxLogEvents) {
    const auto number = static_cast<std::size_t>(event);
    if (table.has_count[number]) statistics.add(kKernelLogEvents, table.counts[number], {to_string(event)});
  }
  statistics.add(kKernelLogLost, table.lost);
  staging.set_kernel_log(text);
  return {};
}

constexpr MetricOrigin kOrigins[] = {
    {kKernelLogEvents, "lines of the kernel itself by their beginning, and as suppressed lines that report omitted lines"},
    {kKernelLogLost, "gaps in the numbers of the records"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "linux_kernel_log",
    .origin = KernelMessages::kPath,
    .os = OperatingSystem::kLinux,
    .origins = kOrigins,
    .needs = "CAP_SYSLOG",
    .notes =
        "needs root at start, or CAP_SYSLOG if kernel.dmesg_restrict is 1; the shipped service hides the file "
        "(ProtectKernelLogs, PrivateDevices), and its example kernel-log.conf does not; lines written into the log by "
        "programs do not count; the last 64 events with their lines are in /api/v1/events, in memstatctl events, and in "
        "recordings",
    .steps = source_steps<State, open, read, parse>(),
};

}  // namespace memstat::sources::linux_kernel_log
