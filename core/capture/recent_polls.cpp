// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/recent_polls.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/capture/group_directory.h"
#include "core/capture/poll_segments.h"
#include "core/capture/recording_view.h"

namespace memstat {

RecentPolls::RecentPolls(std::shared_ptr<KernelView> inner, std::size_t max_bytes, const Clock& clock)
    : ObservedKernelView(*inner),
      owned_(std::move(inner)),
      clock_(clock),
      manifest_(manifest_of(inner_)),
      ring_(max_bytes) {}

void RecentPolls::observe(std::uint64_t /*begun*/, Kind kind, std::string_view name, std::string_view bytes,
                          int system_errno) {
  const MutexLock lock(mutex_);
  if (!is_in_poll_) {
    is_in_poll_ = true;
    info_.realtime_ns = clock_.realtime_ns();
    info_.monotonic_ns = clock_.monotonic_ns();
  }
  ring_.add(kind, name, bytes, system_errno);
}

void RecentPolls::end_opening() {
  const MutexLock lock(mutex_);
  ring_.end_opening();
}

void RecentPolls::end_poll(std::string_view label) {
  const MutexLock lock(mutex_);
  if (!is_in_poll_) return;
  is_in_poll_ = false;
  info_.label = label;
  ring_.end_poll(info_);
}

bool RecentPolls::is_crowded() const {
  const MutexLock lock(mutex_);
  return ring_.left_out() != 0;
}

void RecentPolls::want(std::span<const std::string> groups) {
  const MutexLock lock(mutex_);
  ring_.want(groups);
}

KeptPolls RecentPolls::copy() const {
  const MutexLock lock(mutex_);
  return {.ring = ring_, .manifest = manifest_, .texts = table_texts()};
}

Result<void> write_polls(const KeptPolls& polls, std::string_view note_name, std::string_view note, ArchiveSink& sink) {
  std::string members;
  append_member(members, std::string(note_name), note, 0);
  append_member(members, "manifest.yaml", format_manifest(polls.manifest), 0);
  if (auto begun = sink.write(members); !begun) return begun;
  std::uint64_t number = 0;
  const PollRing::Take write_one = [&](const PollInfo& info, std::span<PollRecord> records) {
    const auto end = std::partition(records.begin(), records.end(), [&](const PollRecord& record) {
      return polls.without.find(group_directory(record.kind, record.name)) == polls.without.end();
    });
    records = records.first(static_cast<std::size_t>(end - records.begin()));
    write_tables(polls.texts, records);
    members.clear();
    append_members(members, poll_directory(number++), plan_poll(records, {}, info),
                   static_cast<std::uint64_t>(std::max<std::int64_t>(0, info.realtime_ns) / 1'000'000'000));
    return sink.write(members);
  };
  auto written = polls.ring.for_each_poll(write_one, polls.most);
  if (!written) return written;
  const std::string end(2 * kTarBlock, '\0');
  if (auto ended = sink.write(end); !ended) return ended;
  return sink.finish();
}

}  // namespace memstat
