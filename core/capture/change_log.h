// SPDX-License-Identifier: BSD-2-Clause
// A bounded log of what changed, for core/capture/poll_ring.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace memstat {

/// What a read returned, if that differs from before. In the log before its bytes.
struct Change {
  static constexpr std::uint32_t kPadding = UINT32_MAX;
  static constexpr std::uint32_t kDisowned = UINT32_MAX - 1;  // skipped, since its entry is gone
  std::uint32_t entry;                                        // of the poll ring
  std::uint32_t size;
  std::uint32_t room;  // for its bytes
  std::int32_t system_errno;
  std::uint64_t next;  // offset of the entry's next change in this log; 0: none yet
};

/// A ring of changes, each in one piece. Offsets count all bytes ever written, so that they stay valid while their change is
/// in the log. Allocates when it is made only.
class ChangeLog {
 public:
  explicit ChangeLog(std::size_t max_bytes);

  [[nodiscard]] std::uint64_t begin() const { return begin_; }
  [[nodiscard]] std::uint64_t end() const { return end_; }
  [[nodiscard]] std::size_t max_bytes() const { return bytes_.size(); }
  /// For a change with that many bytes.
  [[nodiscard]] bool has_room(std::size_t size) const;
  /// Returns its offset. It must have room. `spare`: bytes by which it may grow when it is replaced.
  std::uint64_t append(std::uint32_t entry, std::string_view bytes, int system_errno, std::size_t spare = 0);
  /// False if it does not fit where the change there is.
  bool replace(std::uint64_t offset, std::string_view bytes, int system_errno);
  void set_next(std::uint64_t offset, std::uint64_t next);
  /// Frees what is before.
  void remove_until(std::uint64_t offset) { begin_ = offset; }

  [[nodiscard]] Change change_at(std::uint64_t offset) const;
  [[nodiscard]] std::string_view bytes_at(std::uint64_t offset) const;
  /// Calls take(OFFSET, CHANGE, BYTES) for each in that part of the log, the oldest first.
  template <typename Take>
  void for_each(std::uint64_t begin, std::uint64_t end, Take take) const {
    for (std::uint64_t at = begin; at < end;) {
      at = start_of_next(at);
      if (at >= end) return;
      const Change change = change_at(at);
      if (change.entry != Change::kDisowned) take(at, change, bytes_at(at));
      at += sizeof(Change) + change.room;
    }
  }
  /// Takes changes from their entries if is_gone(ENTRY), so that others can have the number.
  template <typename IsGone>
  void disown(IsGone is_gone) {
    for_each(begin_, end_, [&](std::uint64_t offset, Change change, std::string_view) {
      if (!is_gone(change.entry)) return;
      change.entry = Change::kDisowned;
      write(offset, change, {});
    });
  }

 private:
  void write(std::uint64_t offset, const Change& change, std::string_view bytes);
  [[nodiscard]] std::uint64_t start_of_next(std::uint64_t offset) const;
  [[nodiscard]] std::size_t left_in_row(std::uint64_t offset) const { return bytes_.size() - offset % bytes_.size(); }

  std::vector<char> bytes_;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace memstat
