// SPDX-License-Identifier: BSD-2-Clause
#include "core/kernel/boot_time.h"

#include <limits>

#include "core/base/text.h"

namespace memstat {
namespace {

constexpr std::string_view kStatFile = "/proc/stat";  // of Linux
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max() / kSecond - 1;  // s

}  // namespace

std::optional<std::int64_t> parse_btime(std::string_view stat) {
  for (std::string_view line; next_line(stat, line);) {
    std::string_view word;
    if (!next_word(line, word) || word != "btime") continue;
    if (!next_word(line, word)) return std::nullopt;
    const auto seconds = parse_i64(word);
    if (!seconds || *seconds <= 0 || *seconds > kLatest) return std::nullopt;
    return *seconds * kSecond;
  }
  return std::nullopt;
}

std::optional<std::int64_t> parse_boottime(std::string_view bytes) {
  if (bytes.size() < 16) return std::nullopt;
  const auto seconds = load<std::int64_t>(bytes, 0);
  const auto microseconds = load<std::int64_t>(bytes, 8);
  if (seconds <= 0 || seconds > kLatest || microseconds < 0 || microseconds >= 1'000'000) return std::nullopt;
  return seconds * kSecond + microseconds * 1000;
}

void keep_boot_time(KernelView& view) {
  if (view.os() == OperatingSystem::kLinux) (void)view.keep_open(kStatFile);  // ignored: the boot time is then unknown
}

std::int64_t boot_time_ns(KernelView& view) {
  Buffer bytes;
  if (view.os() == OperatingSystem::kLinux && view.read_file(kStatFile, bytes)) {
    return parse_btime(bytes.view()).value_or(0);
  }
  if (view.os() == OperatingSystem::kFreeBsd && view.read_sysctl("kern.boottime", bytes, 16)) {
    return parse_boottime(bytes.view()).value_or(0);
  }
  return 0;
}

}  // namespace memstat
