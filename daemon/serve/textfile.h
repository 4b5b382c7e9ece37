// SPDX-License-Identifier: BSD-2-Clause
// The page as a file, for the textfile collector of node_exporter and its like.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "config/values.h"
#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/base/unique_fd.h"
#include "daemon/exposition/snapshot_pool.h"
#include "daemon/telemetry/self_metrics.h"

namespace memstat {

/// One file that is always whole: each page is written beside it, brought to the disk and renamed over it.
/// Thread safety: none; one thread at a time.
class Textfile {
 public:
  /// Opens the directory of `path`. Errors: system_error with the path; kData when `path` names no file.
  static Result<Textfile> open(const std::string& path);

  /// Tries whether a file can be made there, with the rights of now. Error: system_error.
  Result<void> check();

  /// Replaces the file, mode 0644. Error: system_error; the file before then stays.
  Result<void> write(std::string_view page);

  [[nodiscard]] const std::string& directory() const { return directory_; }

 private:
  Textfile() = default;
  Result<void> write_temporary(std::string_view page);

  std::string path_;
  std::string directory_;
  std::string name_;
  std::string temporary_;  // begins with a dot and does not end in .prom: collectors pass it by
  UniqueFd directory_fd_;
};

/// Writes the text page after each poll, on a thread of its own: a disk that hangs must not keep the kernel from being
/// polled. Pages that come while one is being written are skipped, except for the last.
/// Thread safety: notify() is safe, the rest belongs to one thread.
class TextfileWriter {
 public:
  /// Told of a failure, once, and of recovery.
  using Tell = std::function<void(LogLevel, std::string_view)>;

  /// The pool and the metrics must outlive it.
  TextfileWriter(Textfile file, const SnapshotPool& pool, const SelfMetrics& metrics, Tell tell);
  /// Waits for the page that is being written.
  ~TextfileWriter();
  TextfileWriter(const TextfileWriter&) = delete;
  TextfileWriter& operator=(const TextfileWriter&) = delete;

  /// There is a new page. Does not wait.
  void notify();

 private:
  void run();
  void write_page();

  Textfile file_;
  const SnapshotPool& pool_;
  const SelfMetrics& metrics_;
  Tell tell_;
  bool is_failing_ = false;
  Mutex mutex_;
  CondVar wake_;
  bool has_page_ MEMSTAT_GUARDED_BY(mutex_) = false;
  bool must_stop_ MEMSTAT_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

/// The text page as a file has it: without process_*, which the exporter that passes the file on has of its own.
std::string textfile_page(const RenderedSnapshot& snapshot, const SelfMetrics& metrics);

}  // namespace memstat
