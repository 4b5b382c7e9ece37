// SPDX-License-Identifier: BSD-2-Clause
// Kills for lack of memory, full tables and full swap in FreeBSD's log. Reads kern.msgbuf, a ring of 96 KiB, as text;
// core/model/freebsd_log.h describes its lines, core/model/kernel_log.h the table. The kernel returns all of it or its
// oldest part, so each read copies all and finds the new lines.
//
// /dev/klog returns only new lines, but only one program can open it, and that is syslogd.
#include <cerrno>
#include <utility>

#include "core/base/clock.h"
#include "core/model/freebsd_log.h"
#include "core/model/kernel_log.h"
#include "core/model/kernel_log_book.h"
#include "core/model/page_metrics.h"
#include "core/source.h"
#include "core/sources/event_log.h"

namespace memstat::sources::freebsd_kernel_log {
namespace {

constexpr std::string_view kMessages = "kern.msgbuf";
constexpr EventLog kLog{.source = "freebsd_kernel_log", .path = kMessages};

/// The log read so far.
class MessageReader final : public TextTableSource {
 public:
  Result<void> open() override { return system_error(kMessages, ENOENT); }
  Result<void> read(Buffer& /*out*/) override { return open(); }
  Result<void> open_on(KernelView& machine) override { return read_messages(machine); }
  Result<void> read_on(KernelView& machine, Buffer& out) override {
    if (auto result = read_messages(machine); !result) return result;
    const std::string_view text = now_.view();
    const std::string_view whole_lines = text.substr(0, text.rfind('\n') + 1);
    const auto now_us = static_cast<std::uint64_t>(machine.clock().monotonic_ns()) / 1000;  // since boot on FreeBSD
    take(lines_after(known_.view(), whole_lines), has_read_ ? std::optional(now_us) : std::nullopt);
    has_read_ = true;
    now_.resize(whole_lines.size());
    std::swap(known_, now_);
    book_.write(out);
    return {};
  }

 private:
  static constexpr std::size_t kMargin = 4096;  // B, for what the kernel prints between two reads

  Result<void> read_messages(KernelView& machine) {
    const std::size_t expected = known_.empty() ? 0 : known_.size() + kMargin;
    return machine.read_sysctl(kMessages, now_, expected);
  }
  /// `seen_us`: the time of lines without one.
  void take(std::string_view lines, std::optional<std::uint64_t> seen_us) {
    FreeBsdLogLine before;
    while (!lines.empty()) {
      const std::size_t end = lines.find('\n');
      const FreeBsdLogLine line = read_freebsd_log_line(lines.substr(0, end));
      lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
      if (is_start_of_boot(before, line)) book_ = KernelLogBook(kFreeBsdLogEvents);
      if (const auto event = event_of_line(line)) book_.add(*event, line.time_us ? line.time_us : seen_us, line.text);
      before = line;
    }
  }

  Buffer known_;  // whole lines
  Buffer now_;
  bool has_read_ = false;
  KernelLogBook book_{kFreeBsdLogEvents};
};

using State = EventLogState<MessageReader>;

Result<void> parse(const RawBytes& raw, Staging& staging) {
  LogTable table;
  if (auto parsed = parse_event_log(kLog, raw.parts[0].view(), table, staging); !parsed) return parsed;
  for (const LogEvent event : kFreeBsdLogEvents) {
    staging.statistics().add(kKernelLogEvents, table.counts[static_cast<std::size_t>(event)], {to_string(event)});
  }
  staging.statistics().add(kOomKills, table.counts[static_cast<std::size_t>(LogEvent::kOomKill)]);
  return {};
}

constexpr MetricOrigin kOrigins[] = {
    {kKernelLogEvents, "kernel lines in kern.msgbuf, by their level and how they begin or end"},
    {kOomKills,
     "kernel lines in kern.msgbuf about a kill for lack of memory, one for each process, as far as the log goes back"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = kLog.source,
    .origin = "sysctl kern.msgbuf",
    .os = OperatingSystem::kFreeBsd,
    .origins = kOrigins,
    .needs = "root",
    .notes =
        "needs no privilege unless security.bsd.unprivileged_read_msgbuf is 0; lines that programs write to the console do "
        "not count; the time of a line is when it was read, unless kern.msgbuf_show_timestamp is set, and is not known for "
        "lines that were there before the first read; the last 64 events with their lines are in /api/v1/events, in "
        "memstatctl events, and in recordings",
    .steps = source_steps<State, open_event_log<kLog, State>, read_event_log<kLog, State>, parse>(),
};

}  // namespace memstat::sources::freebsd_kernel_log
