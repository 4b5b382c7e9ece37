// SPDX-License-Identifier: BSD-2-Clause
// The last polls, and some of the hour before, in a bounded amount of memory: what each read returned, stored again only if
// it differs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/capture/change_log.h"
#include "core/capture/poll_plan.h"
#include "core/capture/record_pack.h"

namespace memstat {

/// What was known when the oldest poll began, and what each poll has changed since: the last polls, and before them one of
/// each kOldEveryNs, without files larger than a 32nd of the memory. The oldest poll makes room by being added to what was
/// known. So a file that is not read at each poll is still part of each. Memory: `max_bytes`, of which the logs of changes
/// are allocated at once; the rest bounds names and contents, and files beyond are left out and counted. There may be
/// thousands of control groups, so their files make room for everything else, and a group is left out as a whole. If the
/// same is read in the same order again, nothing is allocated. Copies are independent. Thread safety: none.
class PollRing {
 public:
  static constexpr std::size_t kMaxPolls = 32;
  static constexpr std::size_t kMaxOldPolls = 16;
  static constexpr std::int64_t kOldEveryNs = 480'000'000'000;

  explicit PollRing(std::size_t max_bytes);

  /// Adds the result of a read. `kind`: not an error. `system_errno` 0: it succeeded, with these bytes. ENOENT: there is no
  /// such thing any more.
  void add(PollRecord::Kind kind, std::string_view name, std::string_view bytes, int system_errno);
  /// Call before the first poll. Files read so far, and not again within kSeldomPolls polls, are part of the oldest poll
  /// only, as in a recording.
  void end_opening();
  /// The reads since the last call were a poll.
  void end_poll(const PollInfo& info);
  /// Files of these control groups ("/app/web") and of those above them come before files of others.
  void want(std::span<const std::string> groups);

  /// The groups of want(), and those above them.
  [[nodiscard]] std::span<const std::string> wanted() const { return wanted_; }

  [[nodiscard]] std::size_t poll_count() const { return old_polls_.size() + polls_.size(); }
  /// Files that did not fit, in the last poll.
  [[nodiscard]] std::size_t left_out() const { return left_out_; }

  using Take = std::function<Result<void>(const PollInfo& info, std::span<PollRecord> records)>;
  /// Calls `take` with all that was known at the end of each of the last `most` polls, the oldest first, until it fails. It
  /// may change the records.
  Result<void> for_each_poll(const Take& take, std::size_t most = SIZE_MAX) const;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  /// Sources read everything again in that many polls, except for what they need only when they open.
  static constexpr std::size_t kSeldomPolls = 16;
  /// Where the last content of an entry is.
  struct Place {
    enum class Where : std::uint8_t { kKnown, kOld, kRecent } where = Where::kKnown;
    std::uint64_t offset = 0;  // in that log
    bool operator==(const Place& other) const = default;
  };
  struct Entry {
    std::string name;  // "": free
    std::string known;
    Place latest;
    std::uint64_t kept = 0;  // offset of its last change in old_
    std::size_t size = 0;    // of its last content
    int system_errno = 0;    // of its last content
    int known_errno = 0;
    std::uint32_t follower = 0;  // number of the entry that was read after it the last time
    PollRecord::Kind kind = PollRecord::Kind::kFile;
    bool has_kept = false;
    bool is_large = false;  // its changes are not kept; `known` is what it was before the oldest recent poll
  };
  // On the heap beside its name and content: the entry, a node of numbers_, and what malloc adds to the blocks of both.
  static constexpr std::size_t kEntryBytes = sizeof(Entry) + 64;
  struct Poll {
    PollInfo info;
    std::uint64_t end;     // offset after its changes
    bool is_kept = false;  // becomes an old one
  };

  /// Files of the highest rank are left out first.
  enum class Rank : std::uint8_t { kMachine, kWanted, kOtherGroup };
  [[nodiscard]] Rank rank_of(PollRecord::Kind kind, std::string_view name);
  [[nodiscard]] bool has_place(PollRecord::Kind kind, std::string_view name, std::size_t size);
  bool leave_out_group(Rank rank);
  void bound_others();
  void free_gone();
  void leave_out(std::uint32_t number);
  void forget(std::uint32_t number);
  void forget_opening(PollRecord::Kind kind, std::string_view name, Entry* entry);
  [[nodiscard]] std::uint32_t& expected() { return last_ == kNone ? first_ : entries_[last_].follower; }
  [[nodiscard]] bool is_of(std::uint32_t number, PollRecord::Kind kind, std::string_view name) const;
  [[nodiscard]] std::uint32_t find(PollRecord::Kind kind, std::string_view name);
  [[nodiscard]] std::uint32_t make_entry(PollRecord::Kind kind, std::string_view name);
  [[nodiscard]] bool is_same(const Entry& entry, std::string_view bytes, int system_errno) const;
  void note_removed(std::string_view directory, std::string_view before, std::string_view now);
  void change(std::uint32_t number, std::string_view bytes, int system_errno);
  [[nodiscard]] const ChangeLog& log_of(Place place) const { return place.where == Place::Where::kOld ? old_ : recent_; }
  [[nodiscard]] std::string_view content_of(const Entry& entry) const;
  void know(Place place, const Change& change, std::string_view bytes);
  void keep(std::uint64_t offset, const Change& change, std::string_view bytes);
  void know_old_until(std::uint64_t end);
  void free_old();
  void drop_oldest();
  void make_room(std::size_t size);

  std::size_t max_known_;
  ChangeLog recent_;
  ChangeLog old_;  // also the changes of polls that are gone, since the last that is kept
  std::vector<Poll> polls_;
  std::vector<Poll> old_polls_;
  std::int64_t last_kept_ns_ = INT64_MIN;  // monotonic
  RecordPack opening_;                     // what was read when opening, and not since
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> gone_;                              // left out in this poll, but in the logs
  std::vector<std::string> wanted_;                              // control groups
  std::string ranked_;                                           // directory of the last group whose rank was found
  Rank rank_ = Rank::kOtherGroup;                                // its rank
  std::unordered_multimap<std::size_t, std::uint32_t> numbers_;  // by hash of kind and name
  std::uint32_t changing_ = kNone;                               // not to be freed
  std::uint32_t last_ = kNone;                                   // the last entry that was read in this poll
  std::uint32_t first_ = 0;                                      // that began the poll before
  std::size_t known_bytes_ = 0;
  std::size_t max_with_others_;          // of known_bytes_, so that another group may be begun
  std::size_t changed_others_ = 0;       // bytes of changes of this poll in groups that are not wanted
  std::size_t polls_since_opening_ = 0;  // up to kSeldomPolls
  std::size_t left_out_ = 0;
  std::size_t leaving_out_ = 0;
};

}  // namespace memstat
