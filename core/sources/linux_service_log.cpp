// SPDX-License-Identifier: BSD-2-Clause
// Kills by programs that free memory before the kernel does, from their lines in systemd's journal. The kernel counts none
// of them. core/model/service_log.h describes the lines, core/model/kernel_log.h the table.
#include <memory>

#include "core/collect/journal_messages.h"
#include "core/model/kernel_log.h"
#include "core/model/service_log.h"
#include "core/source.h"

namespace memstat::sources::linux_service_log {
namespace {

constexpr std::string_view kName = "linux_service_log";

constexpr SystemMetric kProgramKills =
    counter_metric("memstat_program_kills_total", Tier::kDefault,
                   "Kills by programs such as systemd-oomd and earlyoom for lack of memory, since boot as far as the "
                   "journal's current file goes back.");

/// The messages read so far.
class ServiceLogReader final : public TextTableSource {
 public:
  /// The rest is read at the next poll.
  static constexpr int kMaxMessages = 4096;

  Result<void> open() override { return messages_.open(); }
  Result<void> read(Buffer& out) override {
    if (auto followed = messages_.follow(); !followed) return followed;
    for (int i = 0; i < kMaxMessages; ++i) {
      const auto message = messages_.next();
      if (!message) return message.error();
      if (message->unit.empty()) break;
      book_.add(message->unit, message->time_us, message->text);
      size_ = 0;
    }
    // The table stays in the buffer that the caller hands over at each read.
    if (size_ != 0 && out.size() == size_) return {};
    book_.finish();
    book_.write(out);
    size_ = out.size();
    return {};
  }

 private:
  JournalMessages messages_{killer_units(), kUnitOomdKill};
  ServiceLogBook book_;
  std::size_t size_ = 0;  // of the table as last written; 0: a message was added since
};

struct State final : ReaderState {
  std::unique_ptr<TextTableSource> table = std::make_unique<ServiceLogReader>();
};

/// Views name a table after its source; for people, name the journal or its file instead.
Result<void> of_journal(Result<void> result) {
  if (!result && result.error().path == kName) result.error().path = JournalMessages::kPath;
  return result;
}

Result<void> open(KernelView& view, RawBytes&, State& state) { return of_journal(view.open_table(kName, *state.table)); }

Result<void> read(KernelView& view, RawBytes& raw, State& state) {
  return of_journal(view.read_table(kName, *state.table, raw.parts[0]));
}

Result<void> parse(const RawBytes& raw, Staging& staging) {
  staging.reset({}, 0);
  LogTable table;
  const std::string_view text = raw.parts[0].view();
  if (const auto offset = read_log_table(text, table)) {
    return data_error(JournalMessages::kPath, *offset, "the table of kills is truncated or malformed");
  }
  constexpr auto kKill = static_cast<std::size_t>(LogEvent::kProgramKill);
  if (table.has_count[kKill]) staging.statistics().add(kProgramKills, table.counts[kKill]);
  staging.set_kernel_log(text);
  return {};
}

constexpr MetricOrigin kOrigins[] = {
    {kProgramKills, "messages of systemd-oomd, oomd, earlyoom, nohang and kubelet that report a kill"},
};

/// Where journald puts the file that replaces the current one.
constexpr std::string_view kReopened[] = {"/run/log/journal", "/var/log/journal"};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "linux_service_log",
    .origin = JournalMessages::kPath,
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
    .steps = source_steps<State, open, read, parse>(),
};

}  // namespace memstat::sources::linux_service_log
