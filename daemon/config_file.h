// SPDX-License-Identifier: BSD-2-Clause
// The configuration file over the life of the daemon: loaded once with privileges, loaded again without them.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "config/loader.h"
#include "core/base/clock.h"
#include "core/base/unique_fd.h"

namespace memstat {

/// How long a load waits for the file system.
struct ConfigPatience {
  std::chrono::milliseconds deadline{5000};
  /// Asked while it waits, several times a second: true ends the waiting. May be empty.
  std::function<bool()> must_stop = {};
  /// Called on the reading thread before it reads; for tests, in the place of a file system that does not answer.
  void (*before_read)() = nullptr;
  const Clock& clock = system_clock();
};

/// Reads one configuration file again and again. Thread safety: none; callers serialise.
class ConfigFile {
 public:
  /// `path` "" stands for no file: the defaults.
  explicit ConfigFile(std::string path, ConfigPatience patience = {});
  /// Leaves a read behind that has not come back.
  ~ConfigFile();
  ConfigFile(const ConfigFile&) = delete;
  ConfigFile& operator=(const ConfigFile&) = delete;

  /// Loads the file, and keeps it open. The file is read on a thread of its own, which is gone again when this returns
  /// unless the file system does not answer: then the problem is kTimeout's, and no other read begins before that one is
  /// back. When the file cannot be opened any more because privileges were dropped since, it is opened in its directory,
  /// which is kept open, too; else the kept descriptor is read, as long as it still is the file of that name; else the
  /// problem says what to do.
  ConfigResult load();

  /// Whether a read has not come back. Its thread must not see the process's objects destroyed.
  [[nodiscard]] bool is_stuck() const;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  struct Read;
  Result<std::string> read();
  Result<void> run_read();
  void end_read();

  std::string path_;
  ConfigPatience patience_;
  int descriptor_ = -1;
  UniqueFd directory_;               // the one that the file is in, when it can be listed
  bool is_readable_by_all_ = false;  // the file that was read last
  std::unique_ptr<Read> read_;       // the one that runs
};

}  // namespace memstat
