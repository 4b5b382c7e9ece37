// SPDX-License-Identifier: BSD-2-Clause
// The configuration file over the life of the daemon: loaded once with privileges, loaded again without them.
#pragma once

#include <string>

#include "config/loader.h"

namespace memstat {

/// Reads one configuration file again and again. Thread safety: none; callers serialise.
class ConfigFile {
 public:
  /// `path` "" stands for no file: the defaults.
  explicit ConfigFile(std::string path) : path_(std::move(path)) {}
  ~ConfigFile();
  ConfigFile(const ConfigFile&) = delete;
  ConfigFile& operator=(const ConfigFile&) = delete;

  /// Loads the file, and keeps it open. When the file cannot be opened any more because privileges were dropped since, the
  /// kept descriptor is read, as long as it still is the file of that name; else the problem says what to do.
  ConfigResult load();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  Result<std::string> read();

  std::string path_;
  int descriptor_ = -1;
};

}  // namespace memstat
