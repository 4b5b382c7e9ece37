// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/recent_polls.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "core/capture/poll_segments.h"
#include "core/capture/recording_view.h"

namespace memstat {

RecentPolls::RecentPolls(std::shared_ptr<KernelView> inner, std::size_t max_bytes, const Clock& clock)
    : ForwardingKernelView(*inner),
      owned_(std::move(inner)),
      clock_(clock),
      manifest_(manifest_of(inner_)),
      ring_(max_bytes) {}

void RecentPolls::add(Kind kind, std::string_view name, std::string_view bytes, const Result<void>& result) {
  const int failure = result ? 0 : replayed_errno(result.error());
  const MutexLock lock(mutex_);
  if (!is_in_poll_) {
    is_in_poll_ = true;
    info_.realtime_ns = clock_.realtime_ns();
    info_.monotonic_ns = clock_.monotonic_ns();
  }
  ring_.add(kind, name, result ? bytes : std::string_view(), failure);
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

PollRing RecentPolls::copy() const {
  const MutexLock lock(mutex_);
  return ring_;
}

Result<void> RecentPolls::read_file(std::string_view path, Buffer& out) {
  auto result = inner_.read_file(path, out);
  add(Kind::kFile, path, out.view(), result);
  return result;
}

Result<void> RecentPolls::read_at_base(const BaseDirectory& directory, std::string_view path, Buffer& out) {
  auto result = inner_.read_at_base(directory, path, out);
  add(Kind::kFile, path, out.view(), result);
  return result;
}

Result<std::string> RecentPolls::read_link(std::string_view path) {
  auto target = inner_.read_link(path);
  if (target) {
    add(Kind::kLink, path, *target, {});
  } else if (target.error().system_errno != EINVAL) {  // not a link, which is not a failure
    add(Kind::kLink, path, {}, target.error());
  }
  return target;
}

Result<void> RecentPolls::list_directory(std::string_view path, std::vector<std::string>& names) {
  auto result = inner_.list_directory(path, names);
  const MutexLock lock(text_mutex_);
  text_.clear();
  for (const std::string& name : names) {
    text_.append(name);
    text_.append("\n");
  }
  add(Kind::kListing, path, text_.view(), result);
  return result;
}

Result<void> RecentPolls::list_directories(std::string_view path, Buffer& names) {
  auto result = inner_.list_directories(path, names);
  const MutexLock lock(text_mutex_);
  text_.assign(names.view());
  std::replace(text_.data(), text_.data() + text_.size(), kEndOfName, '\n');
  add(Kind::kListing, path, text_.view(), result);
  return result;
}

Result<void> RecentPolls::read_sysctl(std::string_view name, Buffer& out, std::size_t size_hint) {
  auto result = inner_.read_sysctl(name, out, size_hint);
  add(Kind::kSysctl, name, out.view(), result);
  return result;
}

void RecentPolls::read_numbers(std::span<const std::string> names, Buffer& scratch, const TakeNumber& take) {
  inner_.read_numbers(names, scratch, [&](std::string_view name, const Result<std::string_view>& bytes) {
    if (bytes) {
      add(Kind::kSysctl, name, *bytes, {});
    } else {
      add(Kind::kSysctl, name, {}, bytes.error());
    }
    return take(name, bytes);
  });
}

Result<void> RecentPolls::open_table(std::string_view source, TextTableSource& table) {
  auto result = inner_.open_table(source, table);
  if (!result) add(Kind::kTable, source, {}, result);
  return result;
}

Result<void> RecentPolls::read_table(std::string_view source, TextTableSource& table, Buffer& out) {
  auto result = inner_.read_table(source, table, out);
  // As text: a table may be gone when the polls are written.
  const MutexLock lock(text_mutex_);
  if (result) table.write_text(out.view(), text_);
  add(Kind::kTable, source, text_.view(), result);
  return result;
}

Result<void> RecentPolls::keep_open(std::string_view path) {
  auto result = inner_.keep_open(path);
  if (!result) add(Kind::kFile, path, {}, result);
  return result;
}

Result<void> write_polls(const PollRing& ring, const CaptureManifest& manifest, std::string_view note_name,
                         std::string_view note, ArchiveSink& sink) {
  std::string members;
  append_member(members, std::string(note_name), note, 0);
  append_member(members, "manifest.yaml", format_manifest(manifest), 0);
  if (auto written = sink.write(members); !written) return written;
  std::uint64_t number = 0;
  auto polls = ring.for_each_poll([&](const PollInfo& info, std::span<PollRecord> records) {
    members.clear();
    append_members(members, poll_directory(number++), plan_poll(records, {}, info),
                   static_cast<std::uint64_t>(std::max<std::int64_t>(0, info.realtime_ns) / 1'000'000'000));
    return sink.write(members);
  });
  if (!polls) return polls;
  const std::string end(2 * kTarBlock, '\0');
  if (auto written = sink.write(end); !written) return written;
  return sink.finish();
}

}  // namespace memstat
