// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/incidents/black_box.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "core/base/text.h"
#include "core/base/thread_name.h"
#include "core/base/utf8.h"
#include "daemon/snapshot/active_findings.h"

namespace memstat {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kSecond = 1'000'000'000;

std::string story_text(std::string_view text) { return std::string(utf8_prefix(make_label_text(text), kMaxStory)); }

}  // namespace

BlackBox::BlackBox(std::shared_ptr<RecentPolls> polls, std::unique_ptr<IncidentStore> store, SelfMetrics& metrics, Log log,
                   const Clock& clock)
    : polls_(std::move(polls)),
      store_(std::move(store)),
      metrics_(metrics),
      log_(std::move(log)),
      clock_(clock),
      thread_([this] { run(); }) {}

BlackBox::~BlackBox() {
  {
    const MutexLock lock(mutex_);
    must_stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

std::vector<Incident> BlackBox::polled(std::span<const Finding> findings, std::span<const std::size_t> urgent) {
  polls_->end_poll("live");
  const std::int64_t now_ns = clock_.monotonic_ns();
  std::vector<Due> due;
  std::vector<Incident> begun;
  for (Open& open : open_) {
    if (now_ns >= open.end_ns) due.push_back({std::move(open.incident), false});
  }
  std::erase_if(open_, [&](const Open& open) { return now_ns >= open.end_ns; });
  for (const std::size_t index : urgent) {
    const Finding& finding = findings[index];
    const std::string killed = make_label_text(finding.killed);
    if (const auto last = last_.find(finding.cause); last != last_.end()) {
      const bool is_told = !killed.empty() && last->second.killed == killed;
      if (now_ns - last->second.ns < (is_told ? kSameVictimNs : kQuietNs)) continue;
    }
    last_[finding.cause] = {now_ns, killed};
    const FindingTexts texts = texts_of(finding);
    const std::int64_t realtime_ns = clock_.realtime_ns() / kMillisecond * kMillisecond;  // as the API has it
    Incident incident{.file = {},
                      .realtime_ns = realtime_ns,
                      .cause = finding.cause,
                      .object = object_of(finding),
                      .headline = texts.headline,
                      .certainty = std::string(to_string(finding.certainty)),
                      .killed = killed,
                      .killer = finding.killer,
                      .culprit = texts.culprit,
                      .next = command_at(texts.next, realtime_ns),
                      .evidence = story_text(separated(finding.facts, "; ", &Fact::text)),
                      .effect = story_text(finding.effect),
                      .polls = 0,
                      .left_out = 0,
                      .bytes = 0,
                      .problem = {}};
    // A clock that was set back does not replace an earlier incident.
    std::int64_t name_ns = incident.realtime_ns;
    do {
      incident.file = incident_file_name(name_ns, incident.cause);
      name_ns += kSecond;
    } while (store_->has(incident.file));
    due.push_back({incident, true});
    begun.push_back(incident);
    open_.push_back({std::move(incident), now_ns + kAfterNs});
    metrics_.incident(finding.cause);
  }
  if (due.empty()) return begun;
  {
    const MutexLock lock(mutex_);
    due_.insert(due_.end(), std::make_move_iterator(due.begin()), std::make_move_iterator(due.end()));
  }
  wake_.notify_all();
  return begun;
}

void BlackBox::write(Due& due) {
  std::string problem;
  try {
    KeptPolls polls = polls_->copy();
    if (due.is_first) polls.most = kFirstPolls;
    if (const auto written = store_->write(due.incident, std::move(polls)); !written) problem = to_string(written.error());
  } catch (const std::exception&) {
    problem = "out of memory";
  }
  const bool was_failing = std::exchange(is_failing_, !problem.empty());
  if (is_failing_ && !was_failing)
    log_(LogLevel::kError, "incidents are not kept; polling and serving continue: " + problem);
  if (!is_failing_ && was_failing) log_(LogLevel::kInfo, "incidents are kept again");
}

void BlackBox::run() {
  name_thread("memstatd-box");
  MutexLock lock(mutex_);
  while (true) {
    wake_.wait(mutex_, [this]() MEMSTAT_REQUIRES(mutex_) { return must_stop_ || !due_.empty(); });
    if (due_.empty()) return;
    auto next = std::find_if(due_.begin(), due_.end(), [](const Due& one) { return one.is_first; });
    if (next == due_.end()) next = due_.begin();
    Due due = std::move(*next);
    due_.erase(next);
    lock.unlock();
    write(due);
    lock.lock();
  }
}

}  // namespace memstat
