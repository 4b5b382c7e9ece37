// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/thinned_recording.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <map>
#include <set>
#include <utility>

#include "core/base/text.h"
#include "core/capture/archive_error.h"

namespace memstat {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;

constexpr std::string_view kEnding = ".tar.zst";
constexpr std::string_view kPolls = ".now.tar.zst.polls";
constexpr std::string_view kUnfinished = ".unfinished.tar.zst";

/// One level of detail.
struct Level {
  std::int64_t span_ns;   // time of an archive
  std::int64_t every_ns;  // the first poll of each is kept; 0: all
  std::int64_t lasts_ns;  // age at which an archive moves to the next level
  const char* format;     // of its name, as strftime takes it
  std::size_t length;     // of that
};
constexpr std::array<Level, 3> kLevels{
    {{5 * kMinute, 0, kHour, "%Y%m%dT%H%MZ", 14}, {kHour, kMinute, kDay, "%Y%m%dT%HZ", 12}, {kDay, kHour, 0, "%Y%m%dZ", 9}}};

std::int64_t begin_of(std::int64_t time_ns, std::int64_t span_ns) { return time_ns - time_ns % span_ns; }

std::string name_of(std::size_t level, std::int64_t begin_ns) {
  const auto seconds = static_cast<std::time_t>(begin_ns / kSecond);
  std::tm time{};
  std::array<char, 32> text{};
  if (::gmtime_r(&seconds, &time) == nullptr) return {};
  const std::size_t length = std::strftime(text.data(), text.size(), kLevels[level].format, &time);
  return std::string(text.data(), length).append(kEnding);
}

/// The inverse of name_of: begin of the archive's time; nothing for another name.
std::optional<std::int64_t> begin_of_name(std::size_t level, std::string_view name) {
  if (!name.ends_with(kEnding) || name.size() != kLevels[level].length + kEnding.size()) return std::nullopt;
  constexpr std::array<std::size_t, 5> kPlaces{0, 4, 6, 9, 11};  // of year, month, day, hour, minute
  std::array<std::uint64_t, 5> values{};
  for (std::size_t i = 0; i < kPlaces.size() && kPlaces[i] + 2 < kLevels[level].length; ++i) {
    const auto value = parse_u64(name.substr(kPlaces[i], i == 0 ? 4 : 2));
    if (!value) return std::nullopt;
    values[i] = *value;
  }
  std::tm time{};
  time.tm_year = static_cast<int>(values[0]) - 1900;
  time.tm_mon = static_cast<int>(values[1]) - 1;
  time.tm_mday = static_cast<int>(values[2]);
  time.tm_hour = static_cast<int>(values[3]);
  time.tm_min = static_cast<int>(values[4]);
  const std::int64_t begin_ns = static_cast<std::int64_t>(::timegm(&time)) * kSecond;
  return begin_ns >= 0 && name == name_of(level, begin_ns) ? std::optional(begin_ns) : std::nullopt;
}

}  // namespace

Result<ThinnedRecording> ThinnedRecording::open(const std::string& directory, std::uint64_t max_bytes) {
  auto writer = DirectoryWriter::open(directory);
  if (!writer) return writer.error();
  std::vector<std::string> names;
  if (auto listed = writer->list(names); !listed) return listed.error();
  for (const std::string& name : names) {
    bool is_ours = name == kPolls || name == kUnfinished;
    for (std::size_t level = 0; level < kLevels.size(); ++level) is_ours = is_ours || begin_of_name(level, name).has_value();
    if (is_ours) continue;
    return refused(directory,
                   "the directory exists and is neither empty nor a recording that was made with --thin (it holds " +
                       name.substr(0, 100) + "); name a new one");
  }
  return ThinnedRecording(*std::move(writer), max_bytes);
}

std::string ThinnedRecording::polls_directory() const { return writer_.name() + "/" + std::string(kPolls); }

Result<std::vector<ThinnedRecording::Archive>> ThinnedRecording::archives() const {
  std::vector<std::string> names;
  if (auto listed = writer_.list(names); !listed) return listed.error();
  std::vector<Archive> found;
  for (const std::string& name : names) {
    for (std::size_t level = 0; level < kLevels.size(); ++level) {
      if (const auto begin_ns = begin_of_name(level, name)) found.push_back({name, level, *begin_ns});
    }
  }
  std::sort(found.begin(), found.end(), [](const Archive& a, const Archive& b) { return a.begin_ns < b.begin_ns; });
  return found;
}

Result<void> ThinnedRecording::file_until(std::int64_t now_ns) {
  const std::int64_t window = begin_of(now_ns, kLevels[0].span_ns);
  if (window_ == window) return {};
  if (auto packed = pack_polls(window); !packed) return packed;
  if (auto thinned = thin(now_ns); !thinned) return thinned;
  if (auto made = make_room(); !made) return made;
  window_ = window;
  return {};
}

Result<void> ThinnedRecording::pack_polls(std::int64_t end_ns) {
  const auto polls = TimeLine::open(polls_directory(), {polls_directory()}, {});
  if (!polls && polls.error().code == ErrorCode::kNotPresent) return {};  // nothing was recorded yet
  if (!polls) return polls.error();
  std::set<std::int64_t> windows;
  for (const std::int64_t time_ns : (*polls)->times()) {
    if (time_ns >= packed_until_ns_ && time_ns < end_ns) windows.insert(begin_of(time_ns, kLevels[0].span_ns));
  }
  for (const std::int64_t begin_ns : windows) {
    if (auto written = write(0, begin_ns, {polls_directory()}); !written) return written.error();
  }
  packed_until_ns_ = end_ns;
  return {};
}

Result<void> ThinnedRecording::thin(std::int64_t now_ns) {
  for (std::size_t level = 0; level + 1 < kLevels.size(); ++level) {
    const auto all = archives();
    if (!all) return all.error();
    std::map<std::int64_t, std::vector<std::string>> sources;  // by begin of the archive that takes them
    for (const Archive& archive : *all) {
      if (archive.level == level && archive.begin_ns + kLevels[level].span_ns + kLevels[level].lasts_ns <= now_ns)
        sources[begin_of(archive.begin_ns, kLevels[level + 1].span_ns)].push_back(archive.name);
    }
    for (const auto& [begin_ns, names] : sources) {
      std::vector<std::string> paths;
      for (const std::string& name : names) paths.push_back(writer_.name() + "/" + name);
      const auto is_whole = write(level + 1, begin_ns, std::move(paths));
      if (!is_whole) return is_whole.error();
      if (!*is_whole) continue;  // what could not be read is left to whoever can
      for (const std::string& name : names) {
        if (auto removed = writer_.remove_tree(name); !removed) return removed;
      }
    }
  }
  return {};
}

/// Writes what `captures`, and the archive if it exists, have of its time. Returns whether all of them could be read.
Result<bool> ThinnedRecording::write(std::size_t level, std::int64_t begin_ns, std::vector<std::string> captures) {
  const std::string name = name_of(level, begin_ns);
  const auto exists = writer_.measure(name);
  if (!exists) return exists.error();
  if (*exists != 0) captures.push_back(writer_.name() + "/" + name);
  std::int64_t next_ns = begin_ns;  // begin of the time of the next poll that is kept
  const auto keep = [&](std::int64_t time_ns) {
    if (time_ns < next_ns || time_ns >= begin_ns + kLevels[level].span_ns) return false;
    next_ns = kLevels[level].every_ns == 0 ? time_ns : begin_of(time_ns, kLevels[level].every_ns) + kLevels[level].every_ns;
    return true;
  };
  const auto line = TimeLine::open(writer_.name(), captures, {}, keep);
  if (!line) return line.error();
  if (auto removed = writer_.remove_tree(kUnfinished); !removed) return removed.error();
  const auto file = writer_.create_file(kUnfinished);
  if (!file) return file.error();
  auto written = pack_capture(**line, writer_.name() + "/" + std::string(kUnfinished), file->get());
  if (written) written = writer_.rename(kUnfinished, name);
  if (written) written = writer_.sync_directory("");
  if (!written) {
    (void)writer_.remove_tree(kUnfinished);  // report the first failure
    return written.error();
  }
  return (*line)->notes().empty();
}

Result<void> ThinnedRecording::make_room() {
  const auto all = archives();
  if (!all || max_bytes_ == 0) return all ? Result<void>() : all.error();
  std::uint64_t total = 0;
  std::vector<std::uint64_t> sizes;
  for (const Archive& archive : *all) {
    const auto bytes = writer_.measure(archive.name);
    sizes.push_back(bytes ? *bytes : 0);
    total += sizes.back();
  }
  const auto polls = writer_.measure(kPolls);
  if (polls) total += *polls;
  for (std::size_t i = 0; i < all->size() && total > max_bytes_; ++i) {
    if (auto removed = writer_.remove_tree((*all)[i].name); !removed) return removed;
    total -= sizes[i];
  }
  return {};
}

}  // namespace memstat
