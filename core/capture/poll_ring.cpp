// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/poll_ring.h"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <set>
#include <utility>

#include "core/base/text.h"
#include "core/capture/group_directory.h"

namespace memstat {
namespace {

using Kind = PollRecord::Kind;

/// A larger file would push all polls out.
constexpr std::size_t kMaxShareOfChanges = 3;
/// A larger file, such as /proc/vmallocinfo, would push the hour out, and is in the last polls only.
constexpr std::size_t kMaxShareOfOld = 8;
/// The numbers of a file get longer.
constexpr std::size_t kShareOfSpare = 32;
constexpr std::size_t kMinSpare = 8;

/// Changes in other groups than those that are wanted have that share of the log of changes at each poll, or else there
/// would be no minute before a kill.
constexpr std::size_t kShareOfOthers = 16;
/// A group that is not wanted is begun only while that share is free, so that all its files fit, and so that it does not
/// come and go.
constexpr std::size_t kShareOfGroup = 16;

std::size_t hash_of(Kind kind, std::string_view name) {
  return std::hash<std::string_view>()(name) + static_cast<std::size_t>(kind);
}

/// Makes room for that many bytes. std::string would double its own.
void reserve_exactly(std::string& text, std::size_t size) {
  if (size <= text.capacity()) return;
  std::string larger;
  larger.reserve(size + kMinSpare + size / kShareOfSpare);
  larger.assign(text);
  text.swap(larger);
}

}  // namespace

PollRing::PollRing(std::size_t max_bytes)
    : max_known_(max_bytes / 8 * 3), recent_(max_bytes / 8 * 3), old_(max_bytes / 4), max_with_others_(max_known_) {
  polls_.reserve(kMaxPolls);
  old_polls_.reserve(kMaxOldPolls);
}

std::string_view PollRing::content_of(const Entry& entry) const {
  if (entry.latest.where == Place::Where::kKnown) return entry.known;
  return log_of(entry.latest).bytes_at(entry.latest.offset);
}

bool PollRing::is_same(const Entry& entry, std::string_view bytes, int system_errno) const {
  if (entry.system_errno != system_errno) return false;
  return system_errno != 0 || (entry.size == bytes.size() && content_of(entry) == bytes);
}

PollRing::Rank PollRing::rank_of(Kind kind, std::string_view name) {
  const std::string_view directory = group_directory(kind, name);
  if (directory.empty()) return Rank::kMachine;
  if (directory == ranked_) return rank_;
  const auto is_of = [&](const std::string& group) { return directory.ends_with(group); };
  ranked_ = directory;
  rank_ = std::any_of(wanted_.begin(), wanted_.end(), is_of) ? Rank::kWanted : Rank::kOtherGroup;
  return rank_;
}

/// Whether there is room for a new entry, once groups that come after it are left out.
bool PollRing::has_place(Kind kind, std::string_view name, std::size_t size) {
  const std::size_t needed = name.size() + size + kEntryBytes;
  const Rank rank = rank_of(kind, name);
  if (rank == Rank::kOtherGroup) {
    const Entry* const last = last_ == kNone ? nullptr : &entries_[last_];
    const bool is_begun =
        last != nullptr && last->kind == kind && group_directory(kind, last->name) == group_directory(kind, name);
    return is_begun ? known_bytes_ + needed <= max_known_
                    : known_bytes_ + needed + max_known_ / kShareOfGroup <= max_with_others_;
  }
  while (known_bytes_ + needed > max_known_) {
    if (!leave_out_group(Rank::kOtherGroup) && (rank == Rank::kWanted || !leave_out_group(Rank::kWanted))) return false;
  }
  return true;
}

/// Leaves out the last group of that rank. False: there is none.
bool PollRing::leave_out_group(Rank rank) {
  const auto last = std::find_if(entries_.rbegin(), entries_.rend(), [&](const Entry& entry) {
    return !entry.name.empty() && rank_of(entry.kind, entry.name) == rank;
  });
  if (last == entries_.rend()) return false;
  const std::string directory(group_directory(last->kind, last->name));
  for (std::uint32_t number = 0; number < entries_.size(); ++number) {
    const Entry& entry = entries_[number];
    if (!entry.name.empty() && group_directory(entry.kind, entry.name) == directory) leave_out(number);
  }
  return true;
}

/// Leaves out groups that are not wanted until the rest of them changes little enough. As many come back when they change
/// less.
void PollRing::bound_others() {
  const std::size_t most = recent_.max_bytes() / kShareOfOthers;
  const std::size_t changed = std::exchange(changed_others_, 0);
  if (changed <= most) {
    if (changed < most / 2) max_with_others_ = std::min(max_known_, max_with_others_ + max_known_ / 64);
    return;
  }
  std::size_t groups = 0;
  std::string_view before;
  for (const Entry& entry : entries_) {
    if (entry.name.empty() || rank_of(entry.kind, entry.name) != Rank::kOtherGroup) continue;
    const std::string_view directory = group_directory(entry.kind, entry.name);
    if (directory != before) ++groups;
    before = directory;
  }
  for (std::size_t left = groups * (changed - most) / changed + 1; left > 0 && leave_out_group(Rank::kOtherGroup);) --left;
  max_with_others_ = known_bytes_;
}

void PollRing::leave_out(std::uint32_t number) {
  Entry& entry = entries_[number];
  known_bytes_ -= entry.size;
  forget(number);
  gone_.push_back(number);
  ++leaving_out_;
}

/// Others may have the numbers of those that were left out.
void PollRing::free_gone() {
  if (gone_.empty()) return;
  for (ChangeLog* const log : {&recent_, &old_})
    log->disown([&](std::uint32_t number) { return entries_[number].name.empty(); });
  free_.insert(free_.end(), gone_.begin(), gone_.end());
  gone_.clear();
}

void PollRing::want(std::span<const std::string> groups) {
  wanted_.assign(groups.begin(), groups.end());
  for (std::string_view above : groups) {
    while (above.find_last_of('/') != std::string_view::npos) {
      above = above.substr(0, above.rfind('/'));
      if (!above.empty()) wanted_.emplace_back(above);
    }
  }
  std::sort(wanted_.begin(), wanted_.end());
  wanted_.erase(std::unique(wanted_.begin(), wanted_.end()), wanted_.end());
  ranked_.clear();
}

/// Takes the name from the entry, whose number another may then get.
void PollRing::forget(std::uint32_t number) {
  Entry& entry = entries_[number];
  known_bytes_ -= entry.name.size() + kEntryBytes;
  const auto [begin, end] = numbers_.equal_range(hash_of(entry.kind, entry.name));
  const auto found = std::find_if(begin, end, [&](const auto& one) { return one.second == number; });
  if (found != end) numbers_.erase(found);
  const std::uint32_t follower = entry.follower;
  entry = {};
  entry.follower = follower;
}

bool PollRing::is_of(std::uint32_t number, Kind kind, std::string_view name) const {
  return number < entries_.size() && entries_[number].kind == kind && entries_[number].name == name;
}

/// The number of the entry, or kNone.
std::uint32_t PollRing::find(Kind kind, std::string_view name) {
  std::uint32_t& next = expected();
  if (!is_of(next, kind, name)) {
    const auto [begin, end] = numbers_.equal_range(hash_of(kind, name));
    const auto found = std::find_if(begin, end, [&](const auto& one) { return is_of(one.second, kind, name); });
    if (found == end) return kNone;
    next = found->second;
  }
  return last_ = next;
}

std::uint32_t PollRing::make_entry(Kind kind, std::string_view name) {
  auto number = static_cast<std::uint32_t>(entries_.size());
  if (free_.empty()) {
    entries_.emplace_back();
  } else {
    number = free_.back();
    free_.pop_back();
  }
  Entry& entry = entries_[number];
  entry = {};
  entry.name = name;
  entry.kind = kind;
  entry.system_errno = ENOENT;
  entry.known_errno = ENOENT;
  entry.follower = number + 1;
  numbers_.emplace(hash_of(kind, name), number);
  known_bytes_ += name.size() + kEntryBytes;
  forget_opening(kind, name, &entry);
  expected() = number;
  return last_ = number;
}

/// `entry`: knows it instead; nullptr: there is no such thing any more.
void PollRing::forget_opening(Kind kind, std::string_view name, Entry* entry) {
  const auto record = opening_.find(kind, name);
  if (!record) return;
  known_bytes_ -= RecordPack::size_of(record->name.size(), record->bytes.size());
  if (entry != nullptr) {
    reserve_exactly(entry->known, record->bytes.size());
    entry->known.assign(record->bytes);
    entry->known_errno = entry->system_errno = record->system_errno;
    known_bytes_ += entry->size = record->bytes.size();
  }
  opening_.remove(*record);
}

void PollRing::add(Kind kind, std::string_view name, std::string_view bytes, int system_errno) {
  if (name.empty()) return;
  std::uint32_t number = find(kind, name);
  const bool is_too_large = bytes.size() > recent_.max_bytes() / kMaxShareOfChanges;
  const bool is_new = number == kNone;
  if (is_new) {
    if (system_errno == ENOENT) {
      if (polls_since_opening_ < kSeldomPolls) forget_opening(kind, name, nullptr);
      return;
    }
    if (is_too_large || !has_place(kind, name, bytes.size())) {
      ++leaving_out_;
      return;
    }
    number = make_entry(kind, name);
  }
  Entry& entry = entries_[number];
  if (is_too_large) {
    ++leaving_out_;
    bytes = {};
    system_errno = EFBIG;
  }
  if (is_same(entry, bytes, system_errno)) return;
  if (!is_new && rank_of(kind, name) == Rank::kOtherGroup) changed_others_ += sizeof(Change) + bytes.size();
  if (kind == Kind::kListing && entry.system_errno == 0) {
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
    if (removed.count(below) != 0 && entries_[number].system_errno != ENOENT) change(number, {}, ENOENT);
  }
}

void PollRing::change(std::uint32_t number, std::string_view bytes, int system_errno) {
  changing_ = number;
  make_room(bytes.size());
  changing_ = kNone;
  Entry& entry = entries_[number];
  const std::uint64_t offset = recent_.append(number, bytes, system_errno);
  if (entry.latest.where == Place::Where::kRecent) recent_.set_next(entry.latest.offset, offset);
  entry.latest = {Place::Where::kRecent, offset};
  reserve_exactly(entry.known, bytes.size());
  known_bytes_ += bytes.size();
  known_bytes_ -= entry.size;
  entry.size = bytes.size();
  entry.system_errno = system_errno;
}

/// A change becomes part of what was known before the oldest poll.
void PollRing::know(Place place, const Change& change, std::string_view bytes) {
  Entry& entry = entries_[change.entry];
  if (entry.name.empty()) return;  // left out
  entry.known.assign(bytes);
  entry.known_errno = change.system_errno;
  if (entry.latest != place) return;
  entry.latest = {};
  if (change.system_errno != ENOENT || change.entry == changing_) return;
  if (entry.is_large && entry.has_kept && entry.kept >= old_.begin()) return;  // another could not have its number yet
  forget(change.entry);
  free_.push_back(change.entry);
}

void PollRing::know_old_until(std::uint64_t end) {
  old_.for_each(old_.begin(), end, [this](std::uint64_t offset, const Change& change, std::string_view bytes) {
    if (!entries_[change.entry].is_large) know({Place::Where::kOld, offset}, change, bytes);
  });
  old_.remove_until(end);
}

/// Frees memory of the old polls. The oldest needs none if what is known is what it was.
void PollRing::free_old() {
  if (old_polls_.empty() || old_polls_.front().end <= old_.begin()) {
    if (!old_polls_.empty()) old_polls_.erase(old_polls_.begin());
    know_old_until(old_polls_.empty() ? old_.end() : old_polls_.front().end);
    return;
  }
  know_old_until(old_polls_.front().end);
}

/// A recent change becomes an old one, in the place of an earlier one since the last poll that is kept.
void PollRing::keep(std::uint64_t offset, const Change& change, std::string_view bytes) {
  Entry& entry = entries_[change.entry];
  if (entry.name.empty()) return;  // left out
  const std::size_t max_size = old_.max_bytes() / kMaxShareOfOld;
  entry.is_large = entry.is_large || bytes.size() > max_size;
  if (entry.is_large) {
    know({Place::Where::kRecent, offset}, change, bytes);
    return;
  }
  const std::uint64_t begin = old_polls_.empty() ? old_.begin() : old_polls_.back().end;
  const bool has_place = entry.has_kept && entry.kept >= begin;
  if (!has_place || !old_.replace(entry.kept, bytes, change.system_errno)) {
    const std::size_t spare =
        change.system_errno != 0 ? std::min(entry.known.capacity(), max_size) : kMinSpare + bytes.size() / kShareOfSpare;
    while (!old_.has_room(bytes.size() + spare)) free_old();
    entry.kept = old_.append(change.entry, bytes, change.system_errno, spare);
    entry.has_kept = true;
  }
  if (entry.latest == Place{Place::Where::kRecent, offset}) entry.latest = {Place::Where::kOld, entry.kept};
}

/// What the following poll changes again is not needed, unless the oldest is kept: most is changed at every poll.
void PollRing::drop_oldest() {
  const Poll oldest = std::move(polls_.front());
  const std::uint64_t end_of_next = polls_.size() > 1 ? polls_[1].end : recent_.end();
  const std::uint64_t end = oldest.is_kept ? oldest.end : end_of_next;
  recent_.for_each(recent_.begin(), oldest.end, [&](std::uint64_t offset, const Change& change, std::string_view bytes) {
    if (change.next == 0 || change.next >= end) keep(offset, change, bytes);
  });
  recent_.remove_until(oldest.end);
  polls_.erase(polls_.begin());
  if (!oldest.is_kept) return;
  while (old_polls_.size() >= kMaxOldPolls) free_old();
  old_polls_.push_back({.info = oldest.info, .end = old_.end(), .is_kept = true});
}

void PollRing::make_room(std::size_t size) {
  while (!recent_.has_room(size)) {
    if (!polls_.empty()) {
      drop_oldest();
      continue;
    }
    // This poll alone changes more than there is room for: its first changes have always been so.
    old_polls_.clear();
    know_old_until(old_.end());
    recent_.for_each(recent_.begin(), recent_.end(),
                     [this](std::uint64_t offset, const Change& change, std::string_view bytes) {
                       know({Place::Where::kRecent, offset}, change, bytes);
                     });
    recent_.remove_until(recent_.end());
    return;
  }
}

void PollRing::end_opening() {
  std::size_t size = 0;
  for (const Entry& entry : entries_) size += RecordPack::size_of(entry.name.size(), entry.size);
  opening_.reserve(size);
  for (const Entry& entry : entries_) {
    if (entry.name.empty() || entry.system_errno == ENOENT) continue;
    opening_.add({.kind = entry.kind,
                  .system_errno = entry.system_errno,
                  .name = entry.name,
                  .bytes = entry.system_errno == 0 ? content_of(entry) : std::string_view()});
  }
  entries_ = std::vector<Entry>();
  numbers_ = {};
  free_.clear();
  gone_.clear();
  recent_.remove_until(recent_.end());
  last_ = kNone;
  known_bytes_ = opening_.size();
  polls_since_opening_ = 0;
}

void PollRing::end_poll(const PollInfo& info) {
  if (polls_.size() == kMaxPolls) drop_oldest();
  const bool is_kept = last_kept_ns_ == INT64_MIN || info.monotonic_ns - last_kept_ns_ >= kOldEveryNs;
  if (is_kept) last_kept_ns_ = info.monotonic_ns;
  polls_.push_back({.info = info, .end = recent_.end(), .is_kept = is_kept});
  bound_others();
  free_gone();
  left_out_ = std::exchange(leaving_out_, 0);
  if (polls_since_opening_ < kSeldomPolls) ++polls_since_opening_;
  last_ = kNone;
}

Result<void> PollRing::for_each_poll(const Take& take, std::size_t most) const {
  struct Now {
    std::string_view bytes;
    int system_errno;
  };
  std::vector<Now> now;
  now.reserve(entries_.size());
  for (const Entry& entry : entries_) now.push_back({entry.known, entry.name.empty() ? ENOENT : entry.known_errno});
  const auto apply = [&](std::uint64_t, const Change& change, std::string_view bytes) {
    if (!entries_[change.entry].name.empty()) now[change.entry] = {bytes, change.system_errno};
  };
  const auto apply_old = [&](std::uint64_t offset, const Change& change, std::string_view bytes) {
    if (!entries_[change.entry].is_large) apply(offset, change, bytes);
  };
  std::vector<PollRecord> records;
  // Files that are read seldom may not have been read again yet.
  const bool may_be_of_polls = polls_since_opening_ < kSeldomPolls;
  bool is_first = true;
  std::size_t count = 0;  // of `records`
  const auto append = [&](const RecordPack::Record& from) {
    if (count == records.size()) records.emplace_back();
    PollRecord& record = records[count++];
    record.kind = from.system_errno == 0 ? from.kind : error_kind_of(from.kind);
    record.name = from.name;
    record.system_errno = from.system_errno;
    record.bytes.assign(from.bytes);
  };
  std::size_t left = poll_count();
  const auto take_now = [&](const Poll& poll, bool is_old) -> Result<void> {
    if (left-- > most) return {};
    count = 0;
    for (std::size_t i = 0; i < now.size(); ++i) {
      const Entry& entry = entries_[i];
      if (now[i].system_errno == ENOENT || (is_old && entry.is_large)) continue;
      append({.kind = entry.kind, .system_errno = now[i].system_errno, .name = entry.name, .bytes = now[i].bytes});
    }
    if (is_first || may_be_of_polls) {
      opening_.for_each([&](const RecordPack::Record& record) {
        append(record);
        return true;
      });
    }
    is_first = false;
    return take(poll.info, {records.data(), count});
  };
  std::uint64_t at = old_.begin();
  for (const Poll& poll : old_polls_) {
    old_.for_each(at, poll.end, apply_old);
    at = std::max(at, poll.end);
    if (auto taken = take_now(poll, true); !taken) return taken;
  }
  old_.for_each(at, old_.end(), apply_old);
  at = recent_.begin();
  for (const Poll& poll : polls_) {
    recent_.for_each(at, poll.end, apply);
    at = poll.end;
    if (auto taken = take_now(poll, false); !taken) return taken;
  }
  return {};
}

}  // namespace memstat
