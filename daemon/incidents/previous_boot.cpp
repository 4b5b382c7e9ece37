// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/incidents/previous_boot.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <system_error>
#include <vector>

#include "core/base/text.h"
#include "core/base/unique_fd.h"
#include "core/kernel/read_all.h"
#include "core/model/kernel_log_book.h"
#include "core/model/log_privacy.h"

namespace memstat {
namespace {

constexpr std::size_t kMaxPart = 1 << 20;
constexpr std::size_t kMaxParts = 64;
constexpr std::size_t kMaxEntries = 1024;
constexpr std::size_t kMaxLastLine = 120;
constexpr std::int64_t kMaxSeconds = 1LL << 32U;  // since 1970

struct LogLine {
  std::uint64_t priority = 0;  // as in "<6>": the facility times 8, and the level
  std::uint64_t time_us = 0;
  std::string_view text;
};

/// "<4>[   12.345678][  T123] text".
std::optional<LogLine> read_line(std::string_view line) {
  LogLine read;
  if (line.starts_with('<')) {
    const std::size_t end = line.find('>');
    const auto priority = end == std::string_view::npos ? std::nullopt : parse_u64(line.substr(1, end - 1));
    if (!priority) return std::nullopt;
    read.priority = *priority;
    line.remove_prefix(end + 1);
  }
  if (!line.starts_with('[')) return std::nullopt;
  const std::size_t point = line.find('.');
  const std::size_t end = line.find("] ");
  if (end == std::string_view::npos || point > end) return std::nullopt;
  const auto seconds = parse_u64(trim(line.substr(1, point - 1)));
  const auto microseconds = parse_u64(line.substr(point + 1, std::min(line.find(']'), end) - point - 1));
  if (!seconds || !microseconds || *seconds > UINT32_MAX || *microseconds > 999'999) return std::nullopt;
  read.time_us = *seconds * 1'000'000 + *microseconds;
  read.text = line.substr(end + 2);
  return read;
}

Buffer contents(const std::filesystem::path& path) {
  Buffer text;
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  const auto read = [&](char* to, std::size_t room) -> long { return ::read(file.get(), to, room); };
  if (!file || !read_all(path.native(), text, {.max_bytes = kMaxPart}, read)) text.clear();
  return text;
}

/// The parts of one boot's log.
struct Parts {
  std::vector<std::filesystem::path> files;
  std::int64_t seconds = 0;  // since 1970, of the newest
};

/// Those of each directory, which holds one boot.
std::map<std::filesystem::path, Parts> find_parts(std::string_view directory) {
  std::map<std::filesystem::path, Parts> boots;
  std::error_code failure;
  std::filesystem::recursive_directory_iterator at(directory, failure), end;
  for (std::size_t count = 0; !failure && at != end && count < kMaxEntries; at.increment(failure), ++count) {
    if (at.depth() > 2) at.disable_recursion_pending();
    struct stat status {};
    if (!at->path().filename().native().starts_with("dmesg")) continue;
    if (::lstat(at->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    if (status.st_mtime > kMaxSeconds) continue;
    Parts& boot = boots[at->path().parent_path()];
    boot.seconds = std::max<std::int64_t>(boot.seconds, status.st_mtime);
    if (boot.files.size() < kMaxParts) boot.files.push_back(at->path());
  }
  return boots;
}

}  // namespace

std::optional<PreviousBoot> read_previous_log(std::string_view text) {
  std::vector<LogLine> lines;
  std::string_view line;
  while (next_line(text, line)) {
    if (const auto read = read_line(line)) lines.push_back(*read);
  }
  if (lines.empty()) return std::nullopt;
  // The parts are in no order. Lines of the same time are.
  const auto is_before = [](const LogLine& a, const LogLine& b) { return a.time_us < b.time_us; };
  std::stable_sort(lines.begin(), lines.end(), is_before);
  KernelLogBook book;
  std::string_view last = lines.back().text;
  std::uint64_t sequence = 0;
  for (const LogLine& one : lines) {
    if (one.text.starts_with("Kernel panic")) last = one.text;
    std::string record = std::to_string(one.priority) + "," + std::to_string(sequence++) + ",";
    book.add(record.append(std::to_string(one.time_us)).append(",-;").append(one.text).append("\n"));
  }
  Buffer table;
  book.write(table);
  PreviousBoot boot{.headline = "The machine stopped: " + std::string(last.substr(0, kMaxLastLine)),
                    .realtime_ns = 0,
                    .uptime_ns = static_cast<std::int64_t>(lines.back().time_us) * 1000,
                    .log = std::string(table.view())};
  mask_addresses(boot.headline);
  boot.headline = make_label_text(boot.headline);
  return boot;
}

std::optional<PreviousBoot> find_previous_boot(std::span<const std::string_view> directories) {
  Parts newest;
  for (const std::string_view directory : directories) {
    for (const auto& [path, boot] : find_parts(directory)) {
      if (boot.seconds > newest.seconds) newest = boot;
    }
  }
  std::string text;
  // systemd-pstore puts the parts of some systems together in dmesg.txt, beside them.
  const auto whole = std::find_if(newest.files.begin(), newest.files.end(),
                                  [](const std::filesystem::path& file) { return file.filename() == "dmesg.txt"; });
  if (whole != newest.files.end()) newest.files = {*whole};
  std::sort(newest.files.begin(), newest.files.end());
  for (const std::filesystem::path& file : newest.files) text.append(contents(file).view()).append("\n");
  auto boot = read_previous_log(text);
  if (boot) boot->realtime_ns = newest.seconds * 1'000'000'000;
  return boot;
}

}  // namespace memstat
