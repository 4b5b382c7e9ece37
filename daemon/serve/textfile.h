// SPDX-License-Identifier: BSD-2-Clause
// Writes the page to a file, for the textfile collector of node_exporter and the like.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "config/values.h"
#include "core/base/mutex.h"
#include "core/base/not_copyable.h"
#include "core/base/result.h"
#include "core/base/unique_fd.h"
#include "daemon/exposition/rendered_snapshot.h"
#include "daemon/telemetry/self_metrics.h"

namespace memstat {

/// A file that is always complete: each page is written to a temporary file, synced and renamed.
class Textfile {
 public:
  /// Opens the directory of `path`. Errors: system_error with the path; kData if `path` does not name a file.
  static Result<Textfile> open(const std::string& path);

  /// Checks that a file can be created there with the current privileges. Errors: system_error.
  Result<void> check();

  /// Replaces the file, with mode 0644. Errors: system_error; the old file then remains.
  Result<void> write(std::string_view page);

  [[nodiscard]] const std::string& directory() const { return directory_; }

 private:
  Textfile() = default;
  Result<void> write_temporary(std::string_view page);

  std::string path_;
  std::string directory_;
  std::string name_;
  std::string temporary_;  // begins with a dot and does not end in .prom, so that collectors ignore it
  UniqueFd directory_fd_;
};

/// Writes the text page after each poll on a separate thread, so that a disk that hangs does not stop the polls. If pages
/// arrive while one is being written, only the last of them is written. Thread safety: notify() is safe; the rest belongs to
/// one thread.
class TextfileWriter : NotCopyable {
 public:
  /// Called once for a failure, and once for the recovery.
  using Log = std::function<void(LogLevel, std::string_view)>;

  /// Pool and metrics must outlive it.
  TextfileWriter(Textfile file, const SnapshotPool& pool, const SelfMetrics& metrics, Log log);
  /// Waits for the current write.
  ~TextfileWriter();

  void notify();

 private:
  void run();
  void write_page();

  Textfile file_;
  const SnapshotPool& pool_;
  const SelfMetrics& metrics_;
  Log log_;
  bool is_failing_ = false;
  Mutex mutex_;
  CondVar wake_;
  bool has_page_ MEMSTAT_GUARDED_BY(mutex_) = false;
  bool must_stop_ MEMSTAT_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

/// The text page without process_*, since the exporter that forwards the file has its own.
std::string textfile_page(const RenderedSnapshot& snapshot, const SelfMetrics& metrics);

}  // namespace memstat
