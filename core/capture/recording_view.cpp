// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/recording_view.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <map>
#include <new>
#include <utility>

#include "core/base/text.h"
#include "core/capture/archive_error.h"
#include "core/capture/packed_sysctls.h"
#include "core/capture/replay_view.h"

namespace memstat {
namespace {

/// Approximate size of a segment in a recording without a limit.
constexpr std::uint64_t kUsualSegment = 64ULL << 20U;
/// A limited recording is divided into this many segments, of which the oldest is removed as a whole.
constexpr std::uint64_t kSegments = 8;
constexpr std::int64_t kSegmentsOfAge = 24;

/// Maximum size of a segment's headers, padding and end mark, in bytes.
constexpr std::uint64_t kSegmentOverhead = 4 * 512;

}  // namespace

RecordingKernelView::RecordingKernelView(KernelView& inner, RecordingOptions options, const Clock& clock,
                                         DirectoryWriter writer)
    : ObservedKernelView(inner), options_(std::move(options)), clock_(clock), writer_(std::move(writer)) {}

RecordingKernelView::~RecordingKernelView() = default;

Result<std::unique_ptr<RecordingKernelView>> RecordingKernelView::create(KernelView& inner, RecordingOptions options,
                                                                         const Clock& clock) {
  auto writer = DirectoryWriter::open(options.directory, options.owner);
  if (!writer) return writer.error();
  std::unique_ptr<RecordingKernelView> view(new RecordingKernelView(inner, std::move(options), clock, std::move(*writer)));
  if (auto found = view->find_polls(); !found) return found.error();
  if (auto written = view->write_manifest(); !written) return written.error();
  return view;
}

Result<void> RecordingKernelView::remove_everything() {
  std::vector<std::string> names;
  if (auto listed = writer_.list(names); !listed) return listed;
  for (const std::string& name : names) {
    if (auto removed = writer_.remove_tree(name); !removed) return removed;
  }
  return {};
}

Result<void> RecordingKernelView::check_presence() const {
  const auto directory = writer_.reopen();
  if (!directory) return directory.error();
  return check_name(writer_.name(), directory->get());
}

Result<std::unique_ptr<CaptureFiles>> RecordingKernelView::open_files() const {
  auto directory = writer_.reopen();
  if (!directory) return directory.error();
  return open_directory_files(writer_.name(), *std::move(directory));
}

Result<void> RecordingKernelView::find_polls() {
  std::vector<std::string> names;
  if (auto listed = writer_.list(names); !listed) return listed;
  auto files = open_files();
  if (!files) return files.error();
  Buffer text;
  static constexpr std::string_view kUnfinished = ".tmp";  // left behind by a killed recorder
  const auto is_unfinished = [](const std::string& name) {
    return name == "manifest.yaml.tmp" ||
           (name.ends_with(kUnfinished) && is_poll_directory(name.substr(0, name.size() - kUnfinished.size())));
  };
  for (const std::string& name : names) {  // check all before removing any
    if (name == "manifest.yaml" || is_poll_directory(name) || is_segment(name) || is_unfinished(name)) continue;
    return make_error(
        ErrorCode::kData, writer_.name(),
        "the directory exists and is neither empty nor a recording (it holds " + name.substr(0, 100) + "); name a new one");
  }
  for (const std::string& name : names) {
    if (!is_unfinished(name) && !options_.fresh) continue;
    if (auto removed = writer_.remove_tree(name); !removed) return removed;
  }
  if (options_.fresh) return {};
  return find_parts(names, **files);
}

/// Finds segments, and single polls, which earlier versions and people make.
Result<void> RecordingKernelView::find_parts(const std::vector<std::string>& names, const CaptureFiles& files) {
  std::map<std::uint64_t, std::int64_t> polls;  // time of each poll
  std::vector<std::string> seen;
  Buffer text;
  if (auto listed = files.list("", seen); !listed) return listed;
  for (const std::string& name : seen) {
    if (!is_poll_directory(name)) continue;
    const std::uint64_t number = parse_u64(name).value_or(0);
    next_number_ = std::max(next_number_, number + 1);
    const std::string info_path = name + "/poll.yaml";
    if (const auto read = files.read(info_path, text); !read) continue;  // another program's directory, not a poll
    const auto info = parse_poll_info(text.view(), files.full_name(info_path));
    if (!info) return info.error();
    polls.emplace(number, info->realtime_ns);
  }
  for (const std::string& name : names) {
    if (!is_poll_directory(name) && !is_segment(name)) continue;
    const std::uint64_t number = parse_u64(name.substr(0, name.find('.'))).value_or(0);
    if (polls.find(number) == polls.end()) {
      if (!is_segment(name)) continue;
      // A recorder was killed while writing the first poll of this segment.
      if (auto removed = writer_.remove_tree(name); !removed) return removed;
      continue;
    }
    const auto bytes = writer_.measure(name);
    if (!bytes) return bytes.error();
    parts_.push_back({.name = name, .number = number, .bytes = *bytes, .realtime_ns = 0});
  }
  std::sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) { return a.number < b.number; });
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    // The last poll before the next part.
    auto next = i + 1 == parts_.size() ? polls.end() : polls.lower_bound(parts_[i + 1].number);
    parts_[i].realtime_ns = std::prev(next)->second;
  }
  return {};
}

Result<void> RecordingKernelView::write_manifest() {
  CaptureManifest manifest = manifest_of(inner_);
  if (!options_.release.empty()) manifest.release = options_.release;
  if (!options_.machine.empty()) {
    manifest.machine = options_.machine;
    manifest.byte_order.clear();
  }
  if (!options_.how.empty()) manifest.how = options_.how;
  if (parts_.empty()) return replace_manifest(manifest);

  const auto files = open_files();
  if (!files) return files.error();
  const std::string name = (*files)->full_name("manifest.yaml");
  Buffer text;
  if (auto read = (*files)->read("manifest.yaml", text); !read) return read;
  const auto old = parse_manifest(text.view(), name);
  if (!old) return old.error();
  if (old->os != manifest.os || old->page_size != manifest.page_size || old->cpu_count != manifest.cpu_count) {
    return make_error(
        ErrorCode::kData, name,
        "the directory holds polls of another kernel (system, page size or CPUs differ); record into another one");
  }
  if (old->release == manifest.release) {
    manifest_ = text.view();
    return {};
  }
  manifest.how = old->how + " Polls before " + poll_directory(next_number_) + " are of release " + old->release + ".";
  return replace_manifest(manifest);
}

Result<void> RecordingKernelView::replace_manifest(const CaptureManifest& manifest) {
  constexpr std::string_view kUnfinished = "manifest.yaml.tmp";
  manifest_ = format_manifest(manifest);
  if (auto written = writer_.write_file(kUnfinished, manifest_, true, options_.owner); !written) {
    (void)writer_.remove_tree(kUnfinished);  // report the first failure
    return written;
  }
  if (auto renamed = writer_.rename(kUnfinished, "manifest.yaml"); !renamed) return renamed;
  return writer_.sync_directory("");
}

/// The poll that the read belongs to; 0: none.
std::uint64_t RecordingKernelView::begin_read() {
  const MutexLock lock(mutex_);
  return is_open_ ? generation_ : 0;
}

void RecordingKernelView::observe(std::uint64_t begun, Kind kind, std::string_view name, std::string_view bytes,
                                  int system_errno) {
  const MutexLock lock(mutex_);
  if (!is_open_ || begun != generation_ || records_.overflowed) return;
  // Sysctls are mostly zeros, which are not written. What is written is compared with the limit later.
  const bool is_sysctl = kind == Kind::kSysctl;
  (is_sysctl ? records_.sysctl_bytes : records_.bytes) += bytes.size();
  if (records_.sysctl_bytes > kMaxPackedSysctls || (options_.max_bytes != 0 && records_.bytes > options_.max_bytes)) {
    records_.overflowed = true;
    return;
  }
  try {
    if (records_.count == records_.all.size()) records_.all.emplace_back();
    PollRecord& record = records_.all[records_.count];
    record.kind = system_errno == 0 ? kind : error_kind_of(kind);
    record.name = name;
    record.bytes.assign(bytes);
    record.system_errno = system_errno;
    ++records_.count;
  } catch (const std::bad_alloc&) {
    records_.overflowed = true;
  }
}

void RecordingKernelView::observe_standing(Kind kind, std::string_view name, int system_errno) {
  if (system_errno == ENOENT) return;
  const MutexLock lock(mutex_);
  standing_errors_.push_back({.place = kind == Kind::kTable ? PollPlace::kSource : PollPlace::kFile,
                              .name = std::string(name),
                              .system_errno = system_errno});
}

std::int64_t RecordingKernelView::begin_poll(std::string_view label) {
  info_ = PollInfo{.label = std::string(label), .realtime_ns = clock_.realtime_ns(), .monotonic_ns = clock_.monotonic_ns()};
  const MutexLock lock(mutex_);
  const bool is_first = generation_ == 1 && !has_begun_;
  has_begun_ = true;
  is_open_ = true;
  if (is_first) return info_.monotonic_ns;  // reads from opening the sources belong to the first poll
  ++generation_;
  records_.count = 0;
  records_.bytes = 0;
  records_.sysctl_bytes = 0;
  records_.overflowed = false;
  return info_.monotonic_ns;
}

/// Starts a new segment. If no descriptor is left, keeps the old one open: that shortage may be what is being recorded.
Result<void> RecordingKernelView::begin_segment(std::int64_t now_realtime_ns) {
  const std::string name = segment_of(next_number_);
  auto file = writer_.create_file(name);
  if (!file && segment_.is_open() && lacks_descriptors(file.error())) return {};
  if (!file) return file.error();
  SegmentWriter fresh(*std::move(file));
  std::string manifest;
  append_member(manifest, "manifest.yaml", manifest_, static_cast<std::uint64_t>(now_realtime_ns / 1'000'000'000));
  if (const int failure = fresh.append(manifest, false, progress_); failure != 0) {
    (void)writer_.remove_tree(name);  // report the first failure
    return system_error(writer_.name() + "/" + name, failure, "cannot write the file");
  }
  segment_ = std::move(fresh);
  segment_began_ns_ = now_realtime_ns;
  parts_.push_back({.name = name, .number = next_number_, .bytes = segment_.size(), .realtime_ns = now_realtime_ns});
  return {};
}

Result<void> RecordingKernelView::make_room(std::uint64_t bytes, std::int64_t now_realtime_ns) {
  std::uint64_t total = bytes + manifest_.size() + kSegmentOverhead;  // a new segment may start
  for (const Part& part : parts_) total += part.bytes;
  while (!parts_.empty()) {
    const Part oldest = parts_.front();
    const bool too_old = options_.max_age_ns > 0 && now_realtime_ns - oldest.realtime_ns > options_.max_age_ns;
    if (!too_old && (options_.max_bytes == 0 || total <= options_.max_bytes)) break;
    if (parts_.size() == 1) segment_ = SegmentWriter();  // it becomes one of the old ones
    if (is_segment(oldest.name)) {
      if (auto removed = writer_.remove_tree(oldest.name); !removed) return removed;
    } else {
      // Rename first, so that a partly removed poll does not look like a poll.
      if (auto renamed = writer_.rename(oldest.name, oldest.name + ".tmp");
          !renamed && renamed.error().system_errno != ENOENT)
        return renamed;
      if (auto removed = writer_.remove_tree(oldest.name + ".tmp"); !removed) return removed;
    }
    total -= oldest.bytes;
    parts_.pop_front();
  }
  const std::uint64_t most = options_.max_bytes == 0 ? kUsualSegment : options_.max_bytes / kSegments;
  const bool is_full = segment_.is_open() && segment_.size() + bytes > most;
  const bool is_old = options_.max_age_ns > 0 && now_realtime_ns - segment_began_ns_ > options_.max_age_ns / kSegmentsOfAge;
  return segment_.is_open() && !is_full && !is_old ? Result<void>() : begin_segment(now_realtime_ns);
}

bool RecordingKernelView::take_poll(TakenPoll& taken) {
  const MutexLock lock(mutex_);
  if (!has_begun_ || !is_open_) return false;
  std::swap(records_, taken.records_);
  records_.count = 0;
  records_.bytes = 0;
  records_.sysctl_bytes = 0;
  records_.overflowed = false;
  is_open_ = false;
  ++generation_;
  taken.info_ = info_;
  try {
    taken.standing_errors_ = standing_errors_;
  } catch (const std::bad_alloc&) {
    taken.records_.overflowed = true;
  }
  return true;
}

Result<void> RecordingKernelView::end_poll() {
  if (!take_poll(spare_)) return system_error(writer_.name(), EINVAL, "end_poll without begin_poll");
  return write_poll(spare_);
}

Result<void> RecordingKernelView::write_poll(TakenPoll& taken) {
  const auto too_large = [this] {
    return system_error(writer_.name(), EFBIG,
                        "this poll alone is larger than the limit of a recording; raise capture.max_bytes");
  };
  if (taken.records_.overflowed) return too_large();
  try {
    write_tables(table_texts(), {taken.records_.all.data(), taken.records_.count});
    const PollPlan plan = plan_poll({taken.records_.all.data(), taken.records_.count}, taken.standing_errors_, taken.info_);
    const std::int64_t now_ns = taken.info_.realtime_ns;
    members_.clear();
    append_members(members_, poll_directory(next_number_), plan,
                   static_cast<std::uint64_t>(std::max<std::int64_t>(0, now_ns) / 1'000'000'000));
    if (options_.max_bytes != 0 && members_.size() + manifest_.size() + kSegmentOverhead > options_.max_bytes)
      return too_large();
    if (auto room = make_room(members_.size(), now_ns); !room) return room;
    if (const int failure = segment_.append(members_, options_.durable, progress_); failure != 0) {
      return system_error(writer_.name() + "/" + parts_.back().name, failure, "cannot write the poll");
    }
    ++next_number_;
    parts_.back().bytes = segment_.size();
    parts_.back().realtime_ns = now_ns;
    return options_.durable ? writer_.sync_directory("") : Result<void>();
  } catch (const std::bad_alloc&) {
    return system_error(writer_.name(), ENOMEM, "no memory to write the poll");
  }
}

}  // namespace memstat
