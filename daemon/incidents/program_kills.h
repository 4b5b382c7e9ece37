// SPDX-License-Identifier: BSD-2-Clause
// Notices kills by programs, such as systemd-oomd and earlyoom, when they are written to the journal.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/unique_fd.h"
#include "core/collect/journal_messages.h"
#include "core/model/service_log.h"

namespace memstat {

/// journald truncates a file of the journal to its own size when it has written to it, so that inotify(7) reports it.
/// Thread safety: none; may be used by another thread than the one that opened it.
class ProgramKills {
 public:
  /// Instead of the journal of this machine and its boot, for tests.
  void use(std::span<const std::string> files, std::string_view boot) { messages_.use(files, boot); }
  /// Stands at the journal's end, since the source linux_service_log reads what was written before. Call while privileges
  /// last. False: there is no journal, or it may not be read.
  bool open();
  /// Readable after the journal was written to; -1: not open.
  [[nodiscard]] int descriptor() const { return changes_.get(); }
  /// Reads what was written since the last call. Whether it reports a kill. Does not block.
  bool has_new();

 private:
  UniqueFd changes_;
  JournalMessages messages_{killer_units(), kUnitOomdKill, 1};
  ServiceLogBook book_;
};

}  // namespace memstat
