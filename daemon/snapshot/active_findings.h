// SPDX-License-Identifier: BSD-2-Clause
// The findings of many polls as one list that does not flicker: the series memstat_finding.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnosis/finding.h"

namespace memstat {

/// What a finding says, short enough for labels.
struct FindingTexts {
  std::string headline;
  std::string culprit;  ///< "group /x, process java (pid 1528)", or why it is unknown; "": its cause names none
  std::string next;     ///< the first command to type, and "; " with the one for the setting of a limit; "": none
};
FindingTexts texts_of(const Finding& finding);

/// Damps findings, so that an alert neither misses a cause nor repeats it.
///
/// A finding is active from the second poll in a row that has it, or at once if it is confirmed by a counter or a line of
/// the log, or is from the first poll, before which nothing is known. It stays active until no poll has had it for kHoldNs,
/// at the highest level within that time, and is then listed with level 0 for kKeepEndedNs. At most kMaxFindings are listed;
/// the one that ended first makes room.
///
/// Thread safety: one thread at a time. Without findings, a poll allocates nothing.
class ActiveFindings {
 public:
  static constexpr std::size_t kMaxFindings = 32;  ///< two series each and one for the cause: below 100
  static constexpr std::int64_t kHoldNs = 300'000'000'000;
  static constexpr std::int64_t kKeepEndedNs = 3'600'000'000'000;
  /// Texts of an active finding contain figures that change with each poll. Each change is a new series in Prometheus, so
  /// they are replaced when the level changes, and otherwise at most this often.
  static constexpr std::int64_t kRewordNs = 600'000'000'000;
  /// Maximum length of each text, in bytes.
  static constexpr std::size_t kMaxText = 120;
  /// The highest level: Severity::kNow.
  static constexpr unsigned kMaxLevel = kSeverityCount;

  struct Entry {
    std::string cause;
    std::string object;    ///< "slab/dentry", a control group, a mount; "" if the finding is about the machine
    unsigned level = 0;    ///< 4 now, 3 soon, 2 wasteful, 1 notable, 0 ended or not yet confirmed
    std::string headline;  ///< with "(comes and goes)" if polls without the finding came between
    Certainty certainty = Certainty::kPossible;
    std::string culprit;      ///< "group /x, process java (pid 1528)", or why it is unknown; "": its cause names none
    std::string next;         ///< the first command to type, and "; " with the one for the setting of a limit; "": none
    std::string since;        ///< when it became active: "2026-11-29 03:10:12 UTC"
    std::string incident;     ///< the name of the incident that was kept since; "": none
    std::uint64_t begun = 0;  ///< how often it became active
    bool is_listed = false;   ///< active now, or before

    // For ActiveFindings itself.
    std::array<std::int64_t, kMaxLevel> level_ns{};  // when it was last confirmed at level i + 1; INT64_MIN: never
    unsigned level_now = 0;                          // in this poll; 0: absent
    unsigned level_before = 0;                       // in the poll before
    unsigned returns = 0;                            // since it became active
    std::int64_t worded_ns = 0;
    std::int64_t ended_ns = 0;
  };

  /// Takes the findings of one poll. `now_ns` is monotonic; `realtime_ns` is since 1970, for display. Returns whether a
  /// listed entry or dropped() changed.
  bool update(std::span<const Finding> findings, std::int64_t now_ns, std::int64_t realtime_ns = 0);
  /// Indexes of the findings of the last update() that became active in it.
  [[nodiscard]] std::span<const std::size_t> begun() const { return begun_; }
  /// Indexes of those that reached the highest level in it; none in the first update().
  [[nodiscard]] std::span<const std::size_t> turned_now() const { return turned_now_; }
  /// The next update() replaces the texts, because it is now known who holds something.
  void reword() {
    for (Entry& entry : entries_) entry.worded_ns = INT64_MIN / 2;
  }
  /// An incident of the finding is kept under that name. Returns whether it is listed.
  bool name_incident(std::string_view cause, std::string_view object, std::string_view incident);
  void clear() { *this = ActiveFindings(); }

  /// In the order in which they were first found, including those not listed.
  [[nodiscard]] std::span<const Entry> entries() const { return entries_; }
  /// Findings of the last poll for which there was no room.
  [[nodiscard]] std::size_t dropped() const { return dropped_; }

 private:
  Entry* entry_of(const Finding& finding, std::int64_t now_ns);
  /// Returns whether the entry's level changed.
  static bool settle(Entry& entry, std::int64_t now_ns);

  std::vector<Entry> entries_;
  std::vector<std::size_t> begun_;
  std::vector<std::size_t> turned_now_;
  std::size_t dropped_ = 0;
  bool is_first_ = true;  // there was no poll yet
};

/// The label `object` of a finding: the type, group, zone or mount that it is about.
std::string object_of(const Finding& finding);

}  // namespace memstat
