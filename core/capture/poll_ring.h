// SPDX-License-Identifier: BSD-2-Clause
// The last polls in a bounded amount of memory: what each read returned, stored again only if it differs.
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
#include "core/capture/poll_plan.h"

namespace memstat {

/// What was known when the oldest poll began, and what each poll has changed since. The oldest poll makes room by being
/// added to what was known. So a file that is not read at each poll is still part of each. Memory: `max_bytes` is allocated
/// at once, half of it for changes; the other half bounds names and contents, and files beyond are left out and counted.
/// If the same is read in the same order again, nothing is allocated. Copies are independent. Thread safety: none.
class PollRing {
 public:
  static constexpr std::size_t kMaxPolls = 32;

  explicit PollRing(std::size_t max_bytes);

  /// Adds the result of a read. `kind`: not an error. `system_errno` 0: it succeeded, with these bytes. ENOENT: there is no
  /// such thing any more.
  void add(PollRecord::Kind kind, std::string_view name, std::string_view bytes, int system_errno);
  /// What was read until now and is not read again is part of the oldest poll only, as in a recording.
  void end_opening();
  /// The reads since the last call were a poll.
  void end_poll(const PollInfo& info);

  [[nodiscard]] std::size_t poll_count() const { return polls_.size(); }
  /// Files that did not fit, in the last poll.
  [[nodiscard]] std::size_t left_out() const { return left_out_; }

  using Take = std::function<Result<void>(const PollInfo& info, std::span<PollRecord> records)>;
  /// Calls `take` with all that was known at the end of each poll, the oldest first, until it fails. It may change the
  /// records.
  Result<void> for_each_poll(const Take& take) const;

 private:
  static constexpr std::uint64_t kKnown = UINT64_MAX;
  static constexpr std::uint32_t kNone = UINT32_MAX;
  /// A change in bytes_, before its bytes.
  struct Change {
    std::uint32_t entry;
    std::uint32_t size;
    std::int32_t system_errno;
    std::uint32_t is_padding;
    std::uint64_t next;  // offset of the entry's next change; 0: none yet
  };
  struct Entry {
    std::string name;  // "": free
    PollRecord::Kind kind = PollRecord::Kind::kFile;
    std::string known;
    int known_errno = 0;
    std::uint64_t latest = kKnown;  // offset of its last change
    std::size_t size = 0;           // of its last content
    bool is_of_opening = false;     // not read since
  };
  struct Poll {
    PollInfo info;
    std::uint64_t end;  // offset after its changes
  };

  [[nodiscard]] std::uint32_t find(PollRecord::Kind kind, std::string_view name);
  [[nodiscard]] std::uint32_t make_entry(PollRecord::Kind kind, std::string_view name);
  [[nodiscard]] bool is_same(const Entry& entry, std::string_view bytes, int system_errno) const;
  void note_removed(std::string_view directory, std::string_view before, std::string_view now);
  void change(std::uint32_t number, std::string_view bytes, int system_errno);
  [[nodiscard]] std::string_view content_of(const Entry& entry) const;
  [[nodiscard]] int errno_of(const Entry& entry) const;
  [[nodiscard]] Change header_at(std::uint64_t offset) const;
  [[nodiscard]] std::uint64_t start_of_next(std::uint64_t offset) const;
  void absorb_until(std::uint64_t end, std::uint64_t end_of_next);
  void make_room(std::size_t bytes);
  void drop_oldest();

  std::size_t max_known_;
  std::vector<char> bytes_;
  std::uint64_t begin_ = 0;  // offsets count all bytes ever written
  std::uint64_t end_ = 0;
  std::vector<Poll> polls_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
  std::unordered_map<std::string, std::uint32_t> numbers_;  // by kind and name
  std::uint32_t changing_ = kNone;                          // not to be freed
  std::uint32_t expected_ = 0;                              // reads come in the same order at each poll
  std::size_t known_bytes_ = 0;
  std::size_t left_out_ = 0;
  std::size_t leaving_out_ = 0;
};

}  // namespace memstat
