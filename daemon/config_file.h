// SPDX-License-Identifier: BSD-2-Clause
// The configuration file during the life of the daemon: loaded once with privileges, and reloaded without them.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "config/loader.h"
#include "core/base/clock.h"
#include "core/base/unique_fd.h"

namespace memstat {

/// Time for which a load waits for the file system.
struct ConfigPatience {
  std::chrono::milliseconds deadline{5000};
  /// Called several times a second while waiting; true stops the wait. May be empty.
  std::function<bool()> must_stop = {};
  /// For tests: called on the reading thread before it reads, to simulate a file system that hangs.
  void (*before_read)() = nullptr;
  const Clock& clock = system_clock();
};

/// Reads one configuration file repeatedly. Thread safety: none; callers must serialize.
class ConfigFile {
 public:
  /// An empty `path` means no file: the defaults.
  explicit ConfigFile(std::string path, ConfigPatience patience = {});
  /// Abandons a read that has not returned.
  ~ConfigFile();
  ConfigFile(const ConfigFile&) = delete;
  ConfigFile& operator=(const ConfigFile&) = delete;

  /// Loads the file and keeps it open. A separate thread reads it and ends before this returns, unless the file system
  /// hangs: then the error is kTimeout, and no other read starts until that one returns.
  ///
  /// If the file can no longer be opened because privileges were dropped, it is opened through its directory, which is kept
  /// open, too. If that fails, the kept descriptor is read, if it is still the file of that name. Otherwise the error has
  /// advice.
  ConfigResult load();

  /// Whether a read has not returned. Its thread must not outlive the process's objects.
  [[nodiscard]] bool is_stuck() const;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  struct Read;
  Result<std::string> read();
  Result<void> run_read();
  void end_read();

  std::string path_;
  ConfigPatience patience_;
  UniqueFd descriptor_;              // the file as it was last read
  UniqueFd directory_;               // the file's directory, if it can be listed
  bool is_readable_by_all_ = false;  // whether every account may read the last file
  std::unique_ptr<Read> read_;       // the running one
};

/// A value that cannot work on this machine: a path for the text file, or an account; "": none.
std::string problem_on_this_machine(const Config& config);

}  // namespace memstat
