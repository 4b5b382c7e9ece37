// SPDX-License-Identifier: BSD-2-Clause
// A kernel view that passes every read on to another view and writes what came back as a capture, poll by poll.
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
#include "core/capture/poll_plan.h"
#include "core/capture/poll_segments.h"
#include "core/kernel/forwarding_view.h"

namespace memstat {

struct RecordingOptions {
  std::string directory;                                    ///< See DirectoryWriter::open. One recorder at a time.
  std::uint64_t max_bytes = 1ULL << 30;                     ///< On the disk; the oldest eighth goes. 0: no bound.
  std::int64_t max_age_ns = 24LL * 3600 * 1'000'000'000LL;  ///< By the realtime clock; the oldest go. 0: no bound.
  bool fresh = false;                                       ///< Polls that are there are removed instead of continued.
  bool durable = false;       ///< Waits for the disk, so that a poll is whole or absent after a power failure as well.
  DirectoryOwner owner = {};  ///< The account that we become before the first end_poll.
  std::string release = {};   ///< Of the kernel shown; "": that of this machine.
  std::string machine = {};   ///< As `release`.
  std::string how = {};       ///< For the manifest; "": a sentence of our own.
};

class RecordingKernelView;

/// A poll that was taken from a recording view and is not written yet. Its room is kept when it is used again.
/// Thread safety: none; one thread at a time.
class TakenPoll {
 public:
  /// Bytes of what was read.
  [[nodiscard]] std::uint64_t bytes() const { return records_.bytes; }

 private:
  friend class RecordingKernelView;
  /// Records of a poll; their room is kept from poll to poll.
  struct Records {
    std::vector<PollRecord> all;
    std::size_t count = 0;
    std::uint64_t bytes = 0;
    bool overflowed = false;  // more than max_bytes, or no memory for it: the poll cannot be written
  };
  Records records_;
  std::vector<RecordedError> standing_errors_;
  PollInfo info_;
};

/// Records what reads return between begin_poll and end_poll; what was read before the first begin_poll (sources that open)
/// goes into the first poll. Reading pays for a copy into memory; end_poll writes. A read that returns in a later poll
/// than it began in, or between polls, is passed on but not recorded. When a path is read twice in a poll, the last counts.
/// Failed reads are recorded, but ENOENT, which a replay gives anyway. Failed keep_open and open_table calls are recorded in
/// every poll.
/// What a capture cannot say: a link that leaves the file system it is in, names of sysctls that were listed but not read.
/// Names that were listed but not read replay as empty directories.
/// Kernel addresses in text are zeroed at equal width, see zero_kernel_addresses. Files are mode 0600, directories 0700.
/// Thread safety: reads as KernelView says; begin_poll and take_poll in one thread, also while reads are under way;
/// write_poll in one thread, which may be another.
class RecordingKernelView final : public ForwardingKernelView {
 public:
  /// `inner` and `clock` must outlive the view. Writes or checks manifest.yaml, removes what an interrupted recording left,
  /// continues after the polls that are there. Errors: those of DirectoryWriter::open; kData when the directory holds what
  /// is no recording, or polls of a kernel with another system, page size or number of CPUs.
  static Result<std::unique_ptr<RecordingKernelView>> create(KernelView& inner, RecordingOptions options,
                                                             const Clock& clock);
  ~RecordingKernelView() override;

  /// Starts a poll; one that was begun and not ended is thrown away. Returns the monotonic time that is recorded for it.
  std::int64_t begin_poll(std::string_view label);
  /// Writes the poll; after an error there is none, and the next one can be tried. Errors: system_error (ENOSPC, EACCES...);
  /// kIo with EFBIG when this poll alone is larger than max_bytes; kIo with EINVAL without begin_poll.
  Result<void> end_poll();

  /// end_poll() in two parts, so that the disk can be waited for in another thread: ends the poll and gives what was read.
  /// Does not touch the disk. False without begin_poll.
  bool take_poll(TakenPoll& taken);
  /// Writes what was taken, with its kernel addresses zeroed; errors as those of end_poll.
  Result<void> write_poll(TakenPoll& taken);

  /// Grows while write_poll writes: how a slow disk is told from one that does not answer. Thread safety: safe.
  [[nodiscard]] std::uint64_t progress() const { return progress_.load(std::memory_order_relaxed); }

  [[nodiscard]] const std::string& directory() const { return writer_.name(); }
  /// Removes all polls and the manifest; the directory stays. The last call: nothing can be recorded after it.
  Result<void> remove_everything();
  /// The recording as it is on the disk, whether or not its path may still be walked.
  [[nodiscard]] Result<std::unique_ptr<CaptureFiles>> open_files() const;

  Result<void> read_file(std::string_view path, Buffer& out) override;
  Result<std::string> read_link(std::string_view path) override;
  Result<void> list_directory(std::string_view path, std::vector<std::string>& names) override;
  Result<void> list_directories(std::string_view path, Buffer& names) override;
  Result<void> read_sysctl(std::string_view name, Buffer& out, std::size_t size_hint) override;
  Result<void> list_sysctls(std::string_view prefix, std::vector<std::string>& names) override;
  Result<void> open_table(std::string_view source, LiveTable& table) override;
  Result<void> read_table(std::string_view source, LiveTable& table, Buffer& out) override;
  [[nodiscard]] bool wants_whole_polls() const override { return true; }
  Result<void> keep_open(std::string_view path) override;

 private:
  using Kind = PollRecord::Kind;
  using Records = TakenPoll::Records;
  /// What goes as a whole: a file of polls, or a poll's directory.
  struct Part {
    std::string name;
    std::uint64_t number;      // of its first poll
    std::uint64_t bytes;       // on the disk
    std::int64_t realtime_ns;  // of its last poll
  };

  RecordingKernelView(KernelView& inner, RecordingOptions options, const Clock& clock, DirectoryWriter writer);
  Result<void> start();
  Result<void> write_manifest();
  Result<void> replace_manifest(const CaptureManifest& manifest);
  Result<void> find_polls();
  Result<void> find_parts(const std::vector<std::string>& names, const CaptureFiles& files);
  std::uint64_t current_generation();
  void record(std::uint64_t generation, Kind kind, std::string_view name, std::string_view bytes, int system_errno);
  void record_error(std::uint64_t generation, Kind kind, std::string_view name, const Error& error);
  void record_standing_error(PollPlace place, std::string_view name, const Error& error);
  Result<void> make_room(std::uint64_t bytes, std::int64_t now_realtime_ns);
  Result<void> begin_segment(std::int64_t now_realtime_ns);
  void close_segment();

  const RecordingOptions options_;
  const Clock& clock_;
  DirectoryWriter writer_;
  std::atomic<std::uint64_t> progress_{0};  // pieces that the disk took

  Mutex mutex_;
  std::uint64_t generation_ MEMSTAT_GUARDED_BY(mutex_) = 1;  // counts polls that ended
  bool is_open_ MEMSTAT_GUARDED_BY(mutex_) = true;           // reads are recorded
  Records records_ MEMSTAT_GUARDED_BY(mutex_);
  std::vector<RecordedError> standing_errors_ MEMSTAT_GUARDED_BY(mutex_);  // failed keep_open and open_table calls

  // Of the thread that calls begin_poll and take_poll.
  bool has_begun_ = false;
  PollInfo info_;
  TakenPoll spare_;  // of end_poll

  // Of the thread that calls write_poll.
  std::deque<Part> parts_;  // oldest first; the last is segment_, while that is open
  SegmentWriter segment_;
  std::int64_t segment_began_ns_ = 0;
  std::string manifest_;  // as it is in the directory
  std::string members_;   // of the poll that is written; its room is kept
  std::uint64_t next_number_ = 0;
};

}  // namespace memstat
