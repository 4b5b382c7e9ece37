// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/poll_ring.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "core/base/text.h"

namespace memstat {
namespace {

using Kind = PollRecord::Kind;

constexpr std::size_t kEntryBytes = 128;  // of memory beside key and content
/// A larger file would push all polls out.
constexpr std::size_t kMaxShareOfChanges = 4;

std::string key_of(Kind kind, std::string_view name) { return std::string(1, static_cast<char>(kind)).append(name); }

}  // namespace

PollRing::PollRing(std::size_t max_bytes)
    : max_known_(max_bytes / 2), bytes_(std::max(max_bytes / 2, 4 * sizeof(Change)), '\0') {
  polls_.reserve(kMaxPolls);
}

/// A change lies in one piece: what would reach beyond the end of the memory begins at its start.
std::uint64_t PollRing::start_of_next(std::uint64_t offset) const {
  const std::uint64_t left = bytes_.size() - offset % bytes_.size();
  return left < sizeof(Change) || header_at(offset).is_padding != 0 ? offset + left : offset;
}

PollRing::Change PollRing::header_at(std::uint64_t offset) const {
  Change header{};
  std::memcpy(&header, bytes_.data() + offset % bytes_.size(), sizeof header);
  return header;
}

std::string_view PollRing::content_of(const Entry& entry) const {
  if (entry.latest == kKnown) return entry.known;
  return {bytes_.data() + entry.latest % bytes_.size() + sizeof(Change), header_at(entry.latest).size};
}

int PollRing::errno_of(const Entry& entry) const {
  return entry.latest == kKnown ? entry.known_errno : header_at(entry.latest).system_errno;
}

bool PollRing::is_same(const Entry& entry, std::string_view bytes, int system_errno) const {
  return errno_of(entry) == system_errno && (system_errno != 0 || content_of(entry) == bytes);
}

/// The number of the entry, or kNone.
std::uint32_t PollRing::find(Kind kind, std::string_view name) {
  if (expected_ < entries_.size() && entries_[expected_].kind == kind && entries_[expected_].name == name)
    return expected_++;
  const auto found = numbers_.find(key_of(kind, name));
  if (found == numbers_.end()) return kNone;
  expected_ = found->second + 1;
  return found->second;
}

std::uint32_t PollRing::make_entry(Kind kind, std::string_view name) {
  auto number = static_cast<std::uint32_t>(entries_.size());
  if (free_.empty()) {
    entries_.emplace_back();
  } else {
    number = free_.back();
    free_.pop_back();
  }
  entries_[number] = {.name = std::string(name), .kind = kind, .known = {}, .known_errno = ENOENT};
  numbers_.emplace(key_of(kind, name), number);
  known_bytes_ += name.size() + kEntryBytes;
  expected_ = number + 1;
  return number;
}

void PollRing::add(Kind kind, std::string_view name, std::string_view bytes, int system_errno) {
  if (name.empty()) return;
  std::uint32_t number = find(kind, name);
  const bool is_too_large = bytes.size() > bytes_.size() / kMaxShareOfChanges;
  if (number == kNone) {
    if (system_errno == ENOENT) return;
    if (is_too_large || known_bytes_ + name.size() + bytes.size() + kEntryBytes > max_known_) {
      ++leaving_out_;
      return;
    }
    number = make_entry(kind, name);
  }
  Entry& entry = entries_[number];
  entry.is_of_opening = false;
  if (is_too_large) {
    ++leaving_out_;
    bytes = {};
    system_errno = EFBIG;
  }
  if (is_same(entry, bytes, system_errno)) return;
  if (kind == Kind::kListing && errno_of(entry) == 0) {
    const std::string before(content_of(entry));
    change(number, bytes, system_errno);
    note_removed(name, before, bytes);
    return;
  }
  change(number, bytes, system_errno);
}

/// A directory that is gone took everything below it along.
void PollRing::note_removed(std::string_view directory, std::string_view before, std::string_view now) {
  std::set<std::string_view> removed;
  std::string_view name;
  while (next_line(before, name)) removed.insert(name);
  while (next_line(now, name)) removed.erase(name);
  if (removed.empty()) return;
  for (std::uint32_t number = 0; number < entries_.size(); ++number) {
    std::string_view below = entries_[number].name;
    const Kind kind = entries_[number].kind;
    if ((kind != Kind::kFile && kind != Kind::kLink && kind != Kind::kListing) || !below.starts_with(directory)) continue;
    below.remove_prefix(directory.size());
    if (!below.starts_with('/')) continue;
    below = below.substr(1, below.find('/', 1) - 1);
    if (removed.count(below) != 0 && errno_of(entries_[number]) != ENOENT) change(number, {}, ENOENT);
  }
}

void PollRing::change(std::uint32_t number, std::string_view bytes, int system_errno) {
  changing_ = number;
  const std::size_t needed = sizeof(Change) + bytes.size();
  const std::size_t left = bytes_.size() - end_ % bytes_.size();
  if (left < needed) {
    make_room(left);
    if (left >= sizeof(Change)) {
      const Change padding{.entry = 0, .size = 0, .system_errno = 0, .is_padding = 1, .next = 0};
      std::memcpy(bytes_.data() + end_ % bytes_.size(), &padding, sizeof padding);
    }
    end_ += left;
  }
  make_room(needed);
  Entry& entry = entries_[number];
  if (entry.latest != kKnown) {
    Change before = header_at(entry.latest);
    before.next = end_;
    std::memcpy(bytes_.data() + entry.latest % bytes_.size(), &before, sizeof before);
  }
  const Change header{.entry = number,
                      .size = static_cast<std::uint32_t>(bytes.size()),
                      .system_errno = system_errno,
                      .is_padding = 0,
                      .next = 0};
  char* const place = bytes_.data() + end_ % bytes_.size();
  std::memcpy(place, &header, sizeof header);
  if (!bytes.empty()) std::memcpy(place + sizeof header, bytes.data(), bytes.size());
  entry.latest = end_;
  known_bytes_ += bytes.size();
  known_bytes_ -= entry.size;
  entry.size = bytes.size();
  end_ += needed;
  changing_ = kNone;
}

void PollRing::drop_oldest() {
  absorb_until(polls_.front().end, polls_.size() > 1 ? polls_[1].end : end_);
  polls_.erase(polls_.begin());
}

void PollRing::make_room(std::size_t bytes) {
  while (end_ + bytes - begin_ > bytes_.size()) {
    if (polls_.empty()) {  // this poll alone changes more than there is room for: its first changes have always been so
      absorb_until(end_, end_);
      return;
    }
    drop_oldest();
  }
}

/// Adds the changes up to `end` to what was known, but those that the oldest poll that is left, up to `end_of_next`, changes
/// again: most are, at every poll.
void PollRing::absorb_until(std::uint64_t end, std::uint64_t end_of_next) {
  for (std::uint64_t at = begin_; at < end;) {
    at = start_of_next(at);
    if (at >= end) break;
    const Change header = header_at(at);
    Entry& entry = entries_[header.entry];
    if (header.next == 0 || header.next >= end_of_next) {
      entry.known.assign(bytes_.data() + at % bytes_.size() + sizeof header, header.size);
      entry.known_errno = header.system_errno;
    }
    if (entry.latest == at) {
      entry.latest = kKnown;
      if (header.system_errno == ENOENT && header.entry != changing_) {
        known_bytes_ -= entry.name.size() + kEntryBytes;
        numbers_.erase(key_of(entry.kind, entry.name));
        entry = {};
        free_.push_back(header.entry);
      }
    }
    at += sizeof header + header.size;
  }
  begin_ = end;
}

void PollRing::end_opening() {
  for (Entry& entry : entries_) entry.is_of_opening = true;
}

void PollRing::end_poll(const PollInfo& info) {
  if (polls_.size() == kMaxPolls) drop_oldest();
  polls_.push_back({.info = info, .end = end_});
  left_out_ = std::exchange(leaving_out_, 0);
  expected_ = 0;
}

Result<void> PollRing::for_each_poll(const Take& take) const {
  struct Now {
    std::string_view bytes;
    int system_errno;
  };
  std::vector<Now> now;
  now.reserve(entries_.size());
  for (const Entry& entry : entries_) now.push_back({entry.known, entry.name.empty() ? ENOENT : entry.known_errno});
  std::uint64_t at = begin_;
  std::vector<PollRecord> records;
  for (const Poll& poll : polls_) {
    while (at < poll.end) {
      at = start_of_next(at);
      if (at >= poll.end) break;
      const Change header = header_at(at);
      now[header.entry] = {{bytes_.data() + at % bytes_.size() + sizeof header, header.size}, header.system_errno};
      at += sizeof header + header.size;
    }
    std::size_t count = 0;
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (now[i].system_errno == ENOENT || (entries_[i].is_of_opening && &poll != &polls_.front())) continue;
      if (count == records.size()) records.emplace_back();
      PollRecord& record = records[count++];
      const Entry& entry = entries_[i];
      record.kind = now[i].system_errno == 0 ? entry.kind : error_kind_of(entry.kind);
      record.name = entry.name;
      record.system_errno = now[i].system_errno;
      record.bytes.assign(now[i].bytes);
    }
    if (auto taken = take(poll.info, {records.data(), count}); !taken) return taken;
  }
  return {};
}

}  // namespace memstat
