// SPDX-License-Identifier: BSD-2-Clause
// Log lines to standard error, as text or as one JSON object a line.
#pragma once

#include <memory>
#include <string_view>

#include "config/config.h"

namespace memstat {

/// The daemon's log. Control characters in a message (kernel names may hold any) are written as \xNN, so that a message is
/// always one line. Thread safety: safe.
class Log {
 public:
  explicit Log(const LogConfig& config);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// Changes level and format.
  void configure(const LogConfig& config);

  void write(LogLevel level, std::string_view message) noexcept;
  void info(std::string_view message) noexcept { write(LogLevel::kInfo, message); }
  void warning(std::string_view message) noexcept { write(LogLevel::kWarning, message); }
  void error(std::string_view message) noexcept { write(LogLevel::kError, message); }

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace memstat
