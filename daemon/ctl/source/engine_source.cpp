// SPDX-License-Identifier: BSD-2-Clause
// Reads this machine's kernel, a capture or a crash dump like memstatd: with its poller, tracker and snapshot in this
// process.
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "core/capture/manifest.h"
#include "core/capture/replay_view.h"
#include "core/diagnosis/culprits.h"
#include "core/kernel/open_view.h"
#include "core/model/accounts.h"
#include "daemon/ctl/output/progress.h"
#include "daemon/ctl/source/inspections.h"
#include "daemon/ctl/source/report_source.h"
#include "daemon/poll/answer_finder.h"
#include "daemon/poll/capture_bound.h"
#include "daemon/poll/poller.h"
#include "daemon/selftest/selftest.h"
#include "daemon/snapshot/growth_report.h"
#include "daemon/snapshot/kernel_events.h"
#include "daemon/telemetry/source_status.h"

namespace memstat::ctl {
namespace {

/// A person is waiting, and there may be only one poll: wait longer for a slow kernel than memstatd does.
constexpr std::chrono::seconds kReadTimeout{20};

/// Reports use all polls of a capture.
constexpr std::uint64_t kHistoryBytes = 32ULL << 20U;

Config engine_config(bool is_live) {
  Config config;
  config.poll.timeout = kReadTimeout;
  config.history_bytes = kHistoryBytes;
  if (is_live) config.events_mode = EventsMode::kOff;  // one poll sees no events, and attaching disturbs the kernel
  return config;
}

bool is_refused(const SourceStatus& source) {
  return source.state == SourceState::kNotPermitted || (source.state == SourceState::kDown && !source.needs.empty());
}

/// The missing parts of an answer, for display: one line for all sources without permission, and one for each that fails.
/// `is_replay`: the source is a capture, whose content is fixed.
std::vector<std::string> missing_sources(std::span<const SourceStatus> sources, bool is_replay) {
  std::vector<std::string> lines;
  std::string refused;
  std::string needs;
  for (const SourceStatus& source : sources) {
    if (is_refused(source)) {
      refused += (refused.empty() ? "" : ", ") + source.name;
      if (needs.find(source.needs) == std::string::npos) needs += (needs.empty() ? "" : "; ") + source.needs;
    } else if (source.state == SourceState::kDown) {
      lines.push_back("not in this answer: " + source.error);
    }
  }
  if (!refused.empty() && is_replay) {
    lines.insert(lines.begin(), "not in this capture, because the user who recorded it could not read them: " + refused +
                                    "; record it as root, or with memstatd --record");
  } else if (!refused.empty()) {
    lines.insert(lines.begin(), "not in this answer, because you may not read them: " + refused +
                                    "; run memstatctl as root" +
                                    (needs.empty() || needs == "root" ? "" : " (they need " + needs + ")") +
                                    ", or ask a running memstatd with --from http://127.0.0.1:8947");
  }
  return lines;
}

/// Why there are no types at all; "" if any source is up.
std::string why_nothing(std::span<const SourceStatus> sources) {
  const bool is_any_up = std::any_of(sources.begin(), sources.end(),
                                     [](const SourceStatus& source) { return source.state == SourceState::kUp; });
  if (is_any_up) return {};
  const auto down = std::find_if(sources.begin(), sources.end(),
                                 [](const SourceStatus& source) { return source.state == SourceState::kDown; });
  return down != sources.end() ? down->error : "this kernel has no source of memory types";
}

std::optional<MachineMemory> memory_of(const Snapshot& snapshot) {
  const auto total = snapshot.samples(kTotalBytes);
  const auto unaccounted = snapshot.samples(kUnaccountedBytes);
  if (total.empty() || unaccounted.empty()) return {};
  std::uint64_t parts = 0;
  for (const Snapshot::MachineSample& part : snapshot.samples(kAccountedBytes)) parts += part.bits;
  MachineMemory memory{
      .total = total[0].bits, .free = 0, .unaccounted = static_cast<std::int64_t>(unaccounted[0].bits), .available = {}};
  const auto free = static_cast<std::int64_t>(total[0].bits - parts - unaccounted[0].bits);
  memory.free = free < 0 ? 0 : static_cast<std::uint64_t>(free);
  if (const auto available = snapshot.samples(kAvailableBytes); !available.empty()) memory.available = available[0].bits;
  return memory;
}

/// The first poll of the capture after the last start of the machine before `poll`. The monotonic clock begins anew then.
std::size_t first_since_boot(const ReplayKernelView& capture, std::size_t poll) {
  constexpr std::int64_t kMaxStepNs = 600LL * 1'000'000'000;  // of the realtime clock while the machine runs
  for (; poll > 0; --poll) {
    const PollInfo& before = capture.poll_info(poll - 1);
    const PollInfo& after = capture.poll_info(poll);
    const std::int64_t passed_ns = after.monotonic_ns - before.monotonic_ns;
    if (passed_ns < 0 || after.realtime_ns - before.realtime_ns - passed_ns > kMaxStepNs) break;
  }
  return poll;
}

class EngineSource final : public ReportSource {
 public:
  /// `at`: the state of a capture at that time, in seconds since 1970, with the polls until then. Check problem().
  EngineSource(OpenedView opened, std::string reference, std::optional<double> at)
      : reference_(std::move(reference)),
        capture_(opened.capture),
        notes_(std::move(opened.notes)),
        view_(std::move(opened.view)),
        poller_(view_, system_clock(), metrics_, pool_, engine_config(is_live()), options()) {
    if (capture_ != nullptr) {
      wanted_ = capture_->selected_poll();
      end_ = capture_->poll_count();
      if (at) end_at(static_cast<std::int64_t>(*at * 1e9));
      (void)capture_->select_poll(0);
    }
    poller_.open_sources();
  }

  /// Why there is nothing to read; "" if there is.
  [[nodiscard]] const std::string& problem() const { return problem_; }

  Sample read() override {
    poll();
    snapshot_ = pool_.current();
    Sample sample;
    sample.notes = notes_;
    if (capture_ != nullptr) {
      if (const std::size_t first = first_since_boot(*capture_, wanted_); first != 0) {
        sample.notes.push_back("polls before " + format_iso8601_utc(capture_->poll_info(first).realtime_ns) +
                               " are not compared with these: the machine was started anew, or slept");
      }
    }
    if (snapshot_ == nullptr) {
      sample.problem = why(std::bad_alloc());
      return sample;
    }
    const std::vector<SourceStatus> sources = poller_.statuses();
    sample.missing = missing_sources(sources, !is_live());
    sample.problem = why_nothing(sources);
    if (is_live()) {
      for (const std::string& line : {missing_proc(*view_), missing_sysfs(*view_, all_sources())}) {
        if (!line.empty()) sample.missing.push_back(line);
      }
    }
    sample.time_ns = snapshot_->realtime_ns;
    if (capture_ != nullptr) {
      sample.monotonic_ns = capture_->poll_info(wanted_).monotonic_ns;
      sample.label = capture_->poll_info(wanted_).label;
    }
    sample.types = rows_of(*snapshot_);
    sample.memory = memory_of(*snapshot_);
    return sample;
  }

  Machine machine() override {
    Machine machine{
        .host = {}, .os = std::string(to_string(view_->os())), .release = view_->os_release(), .machine = {}, .replay = {}};
    if (!is_live()) {
      machine.replay = reference_;
      if (capture_ != nullptr) machine.machine = capture_->manifest().machine;
      return machine;
    }
    utsname system{};
    if (::uname(&system) != 0) return machine;
    machine.host = system.nodename;
    machine.machine = system.machine;
    return machine;
  }

  Splits splits(const TypeRow& type) override { return snapshot_ == nullptr ? Splits{} : splits_of(*snapshot_, type); }

  std::vector<AmountHistory> history(unsigned seconds, unsigned points) override {
    std::vector<AmountHistory> histories;
    if (snapshot_ == nullptr) return histories;
    if (polls_ < 2) return histories;  // there are no earlier polls
    const History::Overview overview = poller_.history().overview(seconds, std::min<std::size_t>(points, polls_));
    const std::size_t count = overview.times_ns.size();
    for (const Snapshot::Row& row : snapshot_->rows()) {
      AmountHistory& amounts = histories.emplace_back();
      for (std::size_t i = 0; i < count && row.number < overview.failures.size(); ++i) {
        const std::uint64_t value = overview.amounts[row.number * count + i];
        amounts.push_back(value == 0 ? std::nullopt : std::optional(value - 1));
      }
    }
    return histories;
  }

  GrowthAnswer growth(std::int64_t seconds) override {
    return snapshot_ == nullptr ? GrowthAnswer{} : growth_answer(growth_report(*snapshot_, poller_.history(), seconds));
  }

  EventsAnswer events() override { return snapshot_ == nullptr ? EventsAnswer{} : kernel_events(*snapshot_); }

  FindingsAnswer findings() override {
    if (snapshot_ == nullptr) return {.diagnosis = {}, .problem = "nothing was read"};
    Diagnosis diagnosis = poller_.fresh_diagnosis(*snapshot_, {});
    std::vector<InspectionAnswer> answers = ask_for(diagnosis.findings);
    if (!answers.empty()) diagnosis = poller_.fresh_diagnosis(*snapshot_, std::move(answers));
    return {.diagnosis = std::move(diagnosis), .problem = {}};
  }

  std::optional<Finding> first_finding() override {
    const Findings& findings = poller_.findings();
    return findings.empty() ? std::nullopt : std::optional(findings.front());
  }

  [[nodiscard]] std::size_t poll_count() override { return end_; }
  [[nodiscard]] std::size_t first_poll_since(std::optional<std::int64_t> seconds) override {
    if (end_ == 0) return 0;
    std::size_t first = first_since_boot(*capture_, end_ - 1);
    const std::int64_t last_ns = capture_->poll_info(end_ - 1).monotonic_ns;
    while (seconds && first + 1 < end_ && last_ns - capture_->poll_info(first).monotonic_ns > *seconds * 1'000'000'000)
      ++first;
    return first;
  }
  std::string select_poll(std::size_t poll) override {
    if (capture_ == nullptr) return ReportSource::select_poll(poll);
    if (poll >= end_) return "there is no poll " + std::to_string(poll) + " in " + reference_;
    wanted_ = poll;
    return {};
  }

 private:
  /// Leaves out the polls after that time.
  void end_at(std::int64_t realtime_ns) {
    const std::int64_t begin_ns = capture_->poll_info(0).realtime_ns;
    if (realtime_ns < begin_ns) {
      problem_ =
          reference_ + " begins at " + format_iso8601_utc(begin_ns) + ", later than --at " + format_iso8601_utc(realtime_ns);
      return;
    }
    while (capture_->poll_info(end_ - 1).realtime_ns > realtime_ns) --end_;
    wanted_ = end_ - 1;
  }
  [[nodiscard]] bool is_live() const { return reference_ == kLiveReference; }
  [[nodiscard]] Poller::Options options() const {
    Poller::Options options{.is_replay = !is_live(), .everything = true};
    options.renders = false;
    if (capture_ != nullptr) {
      options.realtime_ns = [capture = capture_] { return capture->poll_info(capture->selected_poll()).realtime_ns; };
    }
    return options;
  }

  /// Runs the inspections that the causes of the findings name, the most urgent first, as long as a person waits. Failures
  /// are ignored: each finding has the command as its next step.
  std::vector<InspectionAnswer> ask_for(const Findings& findings) {
    std::vector<InspectionAnswer> answers;
    const bool is_linux = view_->os() == OperatingSystem::kLinux;
    constexpr std::int64_t kPatienceForAllNs = 3 * kPatienceNs;
    const std::int64_t end_ns = system_clock().monotonic_ns() + kPatienceForAllNs;
    Progress progress;
    for (const std::string_view question :
         questions_of(findings, is_linux ? EvidenceSystem::kLinux : EvidenceSystem::kFreeBsd)) {
      const Inspection* const inspection = find_inspection(question, view_->os());
      const std::int64_t left_ns = end_ns - system_clock().monotonic_ns();
      if (inspection == nullptr || (is_live() && left_ns <= 0)) continue;
      const InspectionBounds bounds = bounds_with(progress, *inspection, std::min(kPatienceNs, left_ns));
      if (auto answer = answers_.find(*view_, capture_, *inspection, bounds)) answers.push_back(*std::move(answer));
    }
    return answers;
  }

  /// Polls a kernel once; a capture from its last poll up to the wanted one, because a poll contains only the sources
  /// that were due, but none from before the machine was started.
  void poll() {
    if (capture_ == nullptr) {
      ++polls_;
      (void)poller_.poll(view_->clock().monotonic_ns());
      return;
    }
    const std::size_t first = first_since_boot(*capture_, wanted_);
    if (wanted_ + 1 < next_ || next_ < first) next_ = first;
    polls_ = wanted_ + 1 - first;
    Progress progress;
    for (; next_ <= wanted_; ++next_) {
      if (next_ == first) poller_.forget_everything();
      (void)capture_->select_poll(next_);  // within poll_count()
      (void)poller_.poll(capture_->poll_info(next_).monotonic_ns);
      if (next_ < wanted_)
        progress.show("read " + std::to_string(next_ + 1) + " of " + std::to_string(wanted_ + 1) + " polls");
    }
  }

  AnswerFinder answers_;
  const std::string reference_;
  ReplayKernelView* const capture_;  // owned by view_; nullptr: not a capture
  const std::vector<std::string> notes_;
  const std::shared_ptr<KernelView> view_;
  SelfMetrics metrics_{MEMSTAT_VERSION};
  SnapshotPool pool_;
  Poller poller_;
  std::shared_ptr<const RenderedSnapshot> snapshot_;
  std::string problem_;
  std::size_t end_ = 0;     // of the polls of the capture that count
  std::size_t wanted_ = 0;  // one of them
  std::size_t next_ = 0;
  std::size_t polls_ = 0;  // in the history
};

/// The capture from the environment. Ignored in setuid programs, because it names files to read.
std::string reference_of_environment() {
  if (::geteuid() != ::getuid() || ::getegid() != ::getgid()) return std::string(kLiveReference);
  const char* const reference = std::getenv("MEMSTAT_CAPTURE");  // NOLINT(concurrency-mt-unsafe)
  return reference == nullptr || *reference == '\0' ? std::string(kLiveReference) : reference;
}

}  // namespace

std::string reference_or_default(const std::optional<std::string>& reference) {
  return reference ? *reference : reference_of_environment();
}

OpenedSource open_source(const std::optional<std::string>& from, const ServerOptions& server) {
  const std::string reference = reference_or_default(from);
  if (is_prometheus(reference)) return {.source = open_prometheus(reference, server), .problem = {}};
  if (is_url(reference)) return open_daemon(reference);
  const Result<std::uint64_t> max_bytes = capture_bound(std::nullopt);
  if (!max_bytes) return {.source = nullptr, .problem = to_string(max_bytes.error())};
  auto opened = open_view(reference, {.max_bytes = *max_bytes});
  if (!opened) return {.source = nullptr, .problem = to_string(opened.error())};
  auto source = std::make_unique<EngineSource>(*std::move(opened), reference, server.at);
  std::string problem = source->problem();
  if (!problem.empty()) return {.source = nullptr, .problem = std::move(problem)};
  return {.source = std::move(source), .problem = {}};
}

}  // namespace memstat::ctl
