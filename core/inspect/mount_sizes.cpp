// SPDX-License-Identifier: BSD-2-Clause
#include "core/inspect/mount_sizes.h"

#include "core/base/text.h"

namespace memstat {

std::string unescaped_path(std::string_view text) {
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto is_octal = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '7'; };
    if (text[i] == '\\' && is_octal(i + 1) && is_octal(i + 2) && is_octal(i + 3)) {
      path += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      path += text[i];
    }
  }
  return path;
}

std::vector<MountPoint> tmpfs_mounts(std::string_view mountinfo) {
  std::vector<MountPoint> mounts;
  std::string_view line;
  while (next_line(mountinfo, line)) {
    constexpr std::string_view kSeparator = " - ";  // before it are options in any number
    const std::size_t end = line.find(kSeparator);
    if (end == std::string_view::npos || !line.substr(end + kSeparator.size()).starts_with("tmpfs ")) continue;
    std::string_view words[5];  // number, parent, device, root, mount point
    std::string_view rest = line.substr(0, end);
    bool is_whole = true;
    for (std::string_view& word : words) is_whole = is_whole && next_word(rest, word);
    if (is_whole) mounts.push_back({std::string(words[2]), unescaped_path(words[4])});
  }
  return mounts;
}

std::vector<MountSize> parse_mount_sizes(std::string_view text) {
  std::vector<MountSize> sizes;
  std::string_view line;
  while (next_line(text, line)) {
    std::string_view words[3];
    bool is_whole = true;
    for (std::string_view& word : words) is_whole = is_whole && next_word(line, word);
    const auto number = parse_u64(words[0]);
    const auto bytes = parse_u64(words[1]);
    const auto files = parse_u64(words[2]);
    if (is_whole && number && bytes && files) sizes.push_back({*number, *bytes, *files});
  }
  return sizes;
}

#if !defined(__linux__)
Result<void> MountSizesTable::read(Buffer& out) {
  out.clear();
  return {};
}
#endif

}  // namespace memstat
