// SPDX-License-Identifier: BSD-2-Clause
// Journal files, which systemd-journal-remote makes from text.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/support/fixtures.h"

namespace memstat {

/// Debian's package systemd-journal-remote has it.
inline constexpr const char* kJournalRemote = "/lib/systemd/systemd-journal-remote";
inline bool can_write_journals() { return ::access(kJournalRemote, X_OK) == 0; }

/// Messages in the journal's export format.
class JournalText {
 public:
  static constexpr std::string_view kBoot = "0123456789abcdef0123456789abcdef";

  /// `fields`: lines, such as "_SYSTEMD_UNIT=earlyoom.service".
  JournalText& add(std::string_view fields, std::uint64_t time_us, std::string_view message, std::string_view boot = kBoot) {
    text_ += "__REALTIME_TIMESTAMP=" + std::to_string(1'700'000'000'000'000 + time_us) +
             "\n__MONOTONIC_TIMESTAMP=" + std::to_string(time_us) + "\n_BOOT_ID=" + std::string(boot) + "\n" +
             std::string(fields) + "\nMESSAGE=" + std::string(message) + "\n\n";
    return *this;
  }
  /// Appends them to a file NAME.journal, which is made if there is none.
  [[nodiscard]] bool append_to(const std::string& path) const {
    const TemporaryDirectory directory;
    const std::string input = directory.file("text");
    write_text(input, text_);
    const std::string command =
        std::string(kJournalRemote) + " -o " + path + " " + input + " >" + directory.file("log") + " 2>&1";
    return std::system(command.c_str()) == 0;  // NOLINT(concurrency-mt-unsafe)
  }

 private:
  std::string text_;
};

}  // namespace memstat
