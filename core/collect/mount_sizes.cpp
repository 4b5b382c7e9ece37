// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/mount_sizes.h"

#include "core/base/text.h"

namespace memstat {

std::optional<std::uint64_t> device_number(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto major = parse_u64(text.substr(0, colon));
  const auto minor = parse_u64(text.substr(colon + 1));
  if (!major || !minor || *major >> 32U != 0 || *minor >> 32U != 0) return std::nullopt;
  return *major << 32U | *minor;
}

void unescape_path(std::string_view text, std::string& path) {
  path.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto is_octal = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '7'; };
    if (text[i] == '\\' && is_octal(i + 1) && is_octal(i + 2) && is_octal(i + 3)) {
      path += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      path += text[i];
    }
  }
}

std::string unescaped_path(std::string_view text) {
  std::string path;
  unescape_path(text, path);
  return path;
}

bool read_tmpfs_line(std::string_view line, std::string_view& device, std::string_view& path) {
  constexpr std::string_view kSeparator = " - ";  // preceded by any number of optional fields
  const std::size_t end = line.find(kSeparator);
  if (end == std::string_view::npos || !line.substr(end + kSeparator.size()).starts_with("tmpfs ")) return false;
  std::string_view words[5];  // number, parent, device, root, mount point
  std::string_view rest = line.substr(0, end);
  for (std::string_view& word : words) {
    if (!next_word(rest, word)) return false;
  }
  device = words[2];
  path = words[4];
  return true;
}

bool take_amounts(std::string_view& line, std::initializer_list<std::uint64_t*> amounts) {
  std::string_view word;
  for (std::uint64_t* const amount : amounts) {
    const auto number = next_word(line, word) ? parse_u64(word) : std::nullopt;
    if (!number) return false;
    *amount = *number;
  }
  return true;
}

std::vector<MountPoint> tmpfs_mounts(std::string_view mountinfo) {
  std::vector<MountPoint> mounts;
  for (std::string_view line, device, path; next_line(mountinfo, line);) {
    if (read_tmpfs_line(line, device, path)) mounts.push_back({std::string(device), unescaped_path(path)});
  }
  return mounts;
}

Result<void> MountSizesTable::read(Buffer& out) {
  out.clear();
  for (std::size_t i = 0; i < mounts_.size(); ++i) {
    const auto amounts = tmpfs_amounts(mounts_[i].path.c_str());
    if (!amounts || device_number(mounts_[i].device) != amounts->device) continue;
    out.append(std::to_string(i) + " " + std::to_string(amounts->bytes) + " " + std::to_string(amounts->files) + "\n");
  }
  return {};
}

std::vector<MountSize> parse_mount_sizes(std::string_view text) {
  std::vector<MountSize> sizes;
  std::string_view line;
  while (next_line(text, line)) {
    MountSize size;
    if (take_amounts(line, {&size.number, &size.bytes, &size.files})) sizes.push_back(size);
  }
  return sizes;
}

#if !defined(__linux__)
std::optional<MountAmounts> tmpfs_amounts(const char*) { return std::nullopt; }
#endif

}  // namespace memstat
