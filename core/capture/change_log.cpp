// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/change_log.h"

#include <algorithm>
#include <cstring>

namespace memstat {

ChangeLog::ChangeLog(std::size_t max_bytes) : bytes_(std::max(max_bytes, 4 * sizeof(Change)), '\0') {}

bool ChangeLog::has_room(std::size_t size) const {
  const std::size_t needed = sizeof(Change) + size;
  const std::size_t left = left_in_row(end_);
  return end_ + needed + (left < needed ? left : 0) - begin_ <= bytes_.size();
}

void ChangeLog::write(std::uint64_t offset, const Change& change, std::string_view bytes) {
  char* const place = bytes_.data() + offset % bytes_.size();
  std::memcpy(place, &change, sizeof change);
  if (!bytes.empty()) std::memcpy(place + sizeof change, bytes.data(), bytes.size());
}

std::uint64_t ChangeLog::append(std::uint32_t entry, std::string_view bytes, int system_errno, std::size_t spare) {
  const std::size_t room = bytes.size() + spare;
  const std::size_t left = left_in_row(end_);
  if (left < sizeof(Change) + room) {  // what would reach beyond the end of the memory begins at its start
    if (left >= sizeof(Change))
      write(end_, {.entry = Change::kPadding, .size = 0, .room = 0, .system_errno = 0, .next = 0}, {});
    end_ += left;
  }
  const std::uint64_t offset = end_;
  write(offset,
        {.entry = entry,
         .size = static_cast<std::uint32_t>(bytes.size()),
         .room = static_cast<std::uint32_t>(room),
         .system_errno = system_errno,
         .next = 0},
        bytes);
  end_ += sizeof(Change) + room;
  return offset;
}

bool ChangeLog::replace(std::uint64_t offset, std::string_view bytes, int system_errno) {
  Change change = change_at(offset);
  if (bytes.size() > change.room) return false;
  change.size = static_cast<std::uint32_t>(bytes.size());
  change.system_errno = system_errno;
  write(offset, change, bytes);
  return true;
}

void ChangeLog::set_next(std::uint64_t offset, std::uint64_t next) {
  Change change = change_at(offset);
  change.next = next;
  write(offset, change, {});
}

Change ChangeLog::change_at(std::uint64_t offset) const {
  Change change{};
  std::memcpy(&change, bytes_.data() + offset % bytes_.size(), sizeof change);
  return change;
}

std::string_view ChangeLog::bytes_at(std::uint64_t offset) const {
  return {bytes_.data() + offset % bytes_.size() + sizeof(Change), change_at(offset).size};
}

std::uint64_t ChangeLog::start_of_next(std::uint64_t offset) const {
  const std::size_t left = left_in_row(offset);
  return left < sizeof(Change) || change_at(offset).entry == Change::kPadding ? offset + left : offset;
}

}  // namespace memstat
