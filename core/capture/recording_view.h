// SPDX-License-Identifier: BSD-2-Clause
// A kernel view that forwards every read to another view and writes the results as a capture, poll by poll.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/capture/directory_writer.h"
#include "core/capture/files.h"
#include "core/capture/manifest.h"
#include "core/capture/observed_view.h"
#include "core/capture/poll_plan.h"
#include "core/capture/poll_segments.h"

namespace memstat {

struct RecordingOptions {
  std::string directory;                 ///< See DirectoryWriter::open. One recorder at a time.
  std::uint64_t max_bytes = 1ULL << 30;  ///< On disk; beyond this the oldest eighth is removed. 0: no limit.
  std::int64_t max_age_ns = 24LL * 3600 * 1'000'000'000LL;  ///< By the realtime clock; older polls are removed. 0: no limit.
  bool fresh = false;                                       ///< Remove existing polls instead of continuing after them.
  bool durable = false;       ///< Wait for the disk, so that a poll is complete or absent even after a power failure.
  DirectoryOwner owner = {};  ///< The account that the process changes to before the first end_poll.
  std::string release = {};   ///< Release of the kernel; "": of this machine.
  std::string machine = {};   ///< Like `release`.
  std::string how = {};       ///< For the manifest; "": a default sentence.
};

class RecordingKernelView;

/// A poll taken from a recording view and not yet written. Storage is reused.
class TakenPoll {
 public:
  [[nodiscard]] std::uint64_t bytes() const { return records_.bytes + records_.sysctl_bytes; }

 private:
  friend class RecordingKernelView;
  /// The records of a poll. Storage is reused between polls.
  struct Records {
    std::vector<PollRecord> all;
    std::size_t count = 0;
    std::uint64_t bytes = 0;         // of all but sysctls
    std::uint64_t sysctl_bytes = 0;  // with their zeros
    bool overflowed = false;         // exceeded max_bytes, or out of memory: the poll cannot be written
  };
  Records records_;
  std::vector<RecordedError> standing_errors_;
  PollInfo info_;
};

/// Records the results of reads between begin_poll and end_poll. Reads before the first begin_poll, when sources open, go
/// into the first poll. A read copies its result in memory; end_poll writes to disk. A read that returns between polls, or
/// in a later poll than it started in, is forwarded but not recorded. If a path is read twice in a poll, the last read
/// counts.
///
/// Failed reads are recorded, except ENOENT, which a replay returns anyway. Failed keep_open and open_table calls are
/// recorded in every poll. A capture cannot store a link that leaves its file system, or names of sysctls that were listed
/// but not read. Names of files that were listed but not read replay as empty directories. Kernel addresses in text are
/// replaced with zeros, see zero_kernel_addresses. Files have mode 0600, directories 0700.
///
/// Thread safety: reads as in KernelView. begin_poll and take_poll must be called by one thread, also during reads.
/// write_poll must be called by one thread, which may be another.
class RecordingKernelView final : public ObservedKernelView {
 public:
  /// `inner` and `clock` must outlive the view. Writes or checks manifest.yaml, removes the remains of an interrupted
  /// recording and continues after existing polls. Errors: those of DirectoryWriter::open; kData if the directory contains
  /// anything but a recording, or polls of a kernel with another system, page size or number of CPUs.
  static Result<std::unique_ptr<RecordingKernelView>> create(KernelView& inner, RecordingOptions options,
                                                             const Clock& clock);
  ~RecordingKernelView() override;

  /// Starts a poll and discards an unfinished one. Returns the monotonic time recorded for it.
  std::int64_t begin_poll(std::string_view label);
  /// Writes the poll. On an error nothing is recorded, and the next poll can be tried. Errors: system_error (ENOSPC,
  /// EACCES...); kIo with EFBIG if this poll alone exceeds max_bytes; kIo with EINVAL without begin_poll.
  Result<void> end_poll();

  /// The first half of end_poll(), so that another thread can wait for the disk: ends the poll and returns its records in
  /// `taken`. Does not access the disk. False without begin_poll.
  bool take_poll(TakenPoll& taken);
  /// Writes the taken poll, with kernel addresses zeroed. Errors: as end_poll.
  Result<void> write_poll(TakenPoll& taken);

  /// Increases while write_poll writes, which distinguishes a slow disk from one that hangs. Thread safety: safe.
  [[nodiscard]] std::uint64_t progress() const { return progress_.load(std::memory_order_relaxed); }

  [[nodiscard]] const std::string& directory() const { return writer_.name(); }
  /// Whether the recording has a whole poll, of this run or of one before.
  [[nodiscard]] bool has_polls() const { return next_number_ != 0; }
  /// Removes all polls and the manifest but not the directory. Must be the last call.
  Result<void> remove_everything();
  /// Errors: kNotPresent if somebody removed the directory, and the polls with it.
  [[nodiscard]] Result<void> check_presence() const;
  /// The recording on disk. Works even if its path can no longer be traversed.
  [[nodiscard]] Result<std::unique_ptr<CaptureFiles>> open_files() const;

  [[nodiscard]] bool wants_whole_polls() const override { return true; }

 private:
  using Records = TakenPoll::Records;
  /// The unit of removal: a segment, or a single poll's directory.
  struct Part {
    std::string name;
    std::uint64_t number;      // its first poll
    std::uint64_t bytes;       // on the disk
    std::int64_t realtime_ns;  // time of its last poll
  };

  RecordingKernelView(KernelView& inner, RecordingOptions options, const Clock& clock, DirectoryWriter writer);
  Result<void> write_manifest();
  Result<void> replace_manifest(const CaptureManifest& manifest);
  Result<void> find_polls();
  Result<void> find_parts(const std::vector<std::string>& names, const CaptureFiles& files);
  std::uint64_t begin_read() override;
  void observe(std::uint64_t begun, Kind kind, std::string_view name, std::string_view bytes, int system_errno) override;
  void observe_standing(Kind kind, std::string_view name, int system_errno) override;
  Result<void> make_room(std::uint64_t bytes, std::int64_t now_realtime_ns);
  Result<void> begin_segment(std::int64_t now_realtime_ns);

  const RecordingOptions options_;
  const Clock& clock_;
  DirectoryWriter writer_;
  std::atomic<std::uint64_t> progress_{0};  // pieces written to disk

  Mutex mutex_;
  std::uint64_t generation_ MEMSTAT_GUARDED_BY(mutex_) = 1;  // number of ended polls, plus 1
  bool is_open_ MEMSTAT_GUARDED_BY(mutex_) = true;           // reads are recorded
  Records records_ MEMSTAT_GUARDED_BY(mutex_);
  std::vector<RecordedError> standing_errors_ MEMSTAT_GUARDED_BY(mutex_);  // failed keep_open and open_table calls

  // Used only by the thread that calls begin_poll and take_poll.
  bool has_begun_ = false;
  PollInfo info_;
  TakenPoll spare_;  // for end_poll

  // Used only by the thread that calls write_poll.
  std::deque<Part> parts_;  // oldest first; the last is segment_ if that is open
  SegmentWriter segment_;
  std::int64_t segment_began_ns_ = 0;
  std::string manifest_;  // as written to the directory
  std::string members_;   // archive members of the poll being written; reused
  std::uint64_t next_number_ = 0;
};

}  // namespace memstat
