// SPDX-License-Identifier: BSD-2-Clause
// Messages of services in systemd's journal, read one at a time by libsystemd, which is loaded when it is installed.
//
// Any user can write any text into the journal, under any SYSLOG_IDENTIFIER and with a process of any name. So messages are
// selected by _SYSTEMD_UNIT, which journald takes from the control group of the sender: only root moves a process into the
// group of a system service. Units of users have _SYSTEMD_UNIT=user@UID.service, and are not read. Messages of systemd
// itself are selected by _PID=1.
//
// Only the current file is read (system.journal), at most one on disk and one in /run. So memstatd keeps two descriptors,
// and a poll costs two system calls and one comparison for each if nothing was written. journald begins a new file every few
// days or weeks. It must be opened after privileges were dropped, so a file that only privileges could open is refused from
// the first poll on, rather than read until its end.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace memstat {

struct JournalMessage {
  std::string_view unit;  ///< the service, or JournalMessages::kSystemd; "": there is no message yet
  std::string_view text;
  std::uint64_t time_us = 0;  ///< since boot
};

/// Thread safety: none; one reader.
class JournalMessages {
 public:
  static constexpr std::string_view kPath = "the journal";
  static constexpr std::string_view kSystemd = "init.scope";
  /// Parents of the directory that is named after /etc/machine-id.
  static constexpr std::array<std::string_view, 2> kDirectories{"/run/log/journal", "/var/log/journal"};
  /// Messages from before the first read, for readers of what happened.
  static constexpr std::uint64_t kMaxEarlier = 1024;
  /// Longer texts are truncated.
  static constexpr std::size_t kMaxText = 4096;

  /// `units`: services whose messages are read. `systemd_message`: the MESSAGE_ID of messages of systemd itself that are
  /// read, 32 hexadecimal digits. Both live as long as this. `max_earlier`: messages from before the first read, at least
  /// 1, since there is no other way to stand at the end.
  JournalMessages(std::span<const std::string_view> units, std::string_view systemd_message,
                  std::uint64_t max_earlier = kMaxEarlier);
  JournalMessages(const JournalMessages&) = delete;
  JournalMessages& operator=(const JournalMessages&) = delete;
  ~JournalMessages();

  /// Instead of the files of this machine and its boot, for tests. `boot`: 32 hexadecimal digits.
  void use(std::span<const std::string> files, std::string_view boot);

  /// Errors: kNotPresent without a journal or libsystemd; kPermission.
  Result<void> open();
  /// Finds out whether journald writes another file now, which next() then opens behind the end of the one before. Once
  /// before a series of next(). Errors: as of open().
  Result<void> follow();
  /// Directories with the files that are read, whether or not there are such files now. After open() or use().
  [[nodiscard]] std::vector<std::string> directories() const;
  /// The next message, whose unit is "" if there is none yet. Valid until the next call. Does not block.
  Result<JournalMessage> next();

 private:
  struct File;
  Result<void> reopen(File& file);
  JournalMessage read(File& file);

  std::array<std::unique_ptr<File>, kDirectories.size()> files_;
  std::span<const std::string_view> units_;
  std::string_view systemd_message_;
  std::uint64_t max_earlier_;
  std::string boot_;
  std::uint64_t time_us_ = 0;  // of the last message
};

}  // namespace memstat
