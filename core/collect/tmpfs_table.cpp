// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/tmpfs_table.h"

#include <algorithm>

#include "core/base/arithmetic.h"
#include "core/base/ascii.h"
#include "core/base/text.h"

namespace memstat {
namespace {

void append_amounts(std::string_view word, std::initializer_list<std::uint64_t> amounts, Buffer& out) {
  out.append(word);
  for (const std::uint64_t amount : amounts) {
    out.append(" ");
    out.append(NumberDigits(amount).view());
  }
}

bool take_line(std::string_view line, TmpfsMounts& table) {
  std::string_view word;
  if (!next_word(line, word)) return false;
  if (word == "left_out") return take_amounts(line, {&table.left_out, &table.left_out_bytes}) && line.empty();
  if (word != "mount" || table.size == table.mounts.size()) return false;
  TmpfsMount& mount = table.mounts[table.size++];
  return take_amounts(line, {&mount.bytes, &mount.limit_bytes, &mount.files, &mount.max_files}) &&
         next_word(line, mount.path);
}

}  // namespace

Result<void> TmpfsTable::read(Buffer& out) {
  if (auto result = files_.read_file(kPath, mountinfo_, ReadManner::kToTheEnd); !result) return result;
  write(mountinfo_.view(), tmpfs_amounts, out);
  return {};
}

void TmpfsTable::write(std::string_view mountinfo, std::optional<MountAmounts> (*measure)(const char* path), Buffer& out) {
  mounts_.clear();
  std::uint64_t left_out = 0;
  for (std::string_view line, device, path; next_line(mountinfo, line);) {
    if (!read_tmpfs_line(line, device, path)) continue;
    const auto wanted = device_number(device);
    const auto is_same = [&](const Mount& mount) { return mount.amounts.device == wanted; };
    if (!wanted || std::any_of(mounts_.begin(), mounts_.end(), is_same)) continue;  // mounted in several places
    unescape_path(path, path_);
    const auto amounts = mounts_.size() < kMaxMeasured ? measure(path_.c_str()) : std::nullopt;
    if (amounts && amounts->device != *wanted) continue;  // hidden by another mount
    if (amounts && amounts->limit_bytes != 0) {
      mounts_.push_back({*amounts, path});
    } else {
      ++left_out;
    }
  }
  const std::size_t shown = std::min(mounts_.size(), kMaxMounts);
  std::partial_sort(mounts_.begin(), mounts_.begin() + static_cast<std::ptrdiff_t>(shown), mounts_.end(),
                    [](const Mount& a, const Mount& b) {
                      return a.amounts.bytes != b.amounts.bytes ? a.amounts.bytes > b.amounts.bytes : a.path < b.path;
                    });
  out.assign("tmpfs 1\n");
  std::uint64_t left_out_bytes = 0;
  for (std::size_t i = 0; i < mounts_.size(); ++i) {
    const MountAmounts& amounts = mounts_[i].amounts;
    if (i >= shown) {
      ++left_out;
      left_out_bytes = saturating_sum(left_out_bytes, amounts.bytes);
      continue;
    }
    append_amounts("mount", {amounts.bytes, amounts.limit_bytes, amounts.files, amounts.max_files}, out);
    out.append(" ");
    out.append(mounts_[i].path);
    out.append("\n");
  }
  append_amounts("left_out", {left_out, left_out_bytes}, out);
  out.append("\nend\n");
}

std::optional<std::size_t> read_tmpfs_table(std::string_view text, TmpfsMounts& table) {
  table.size = 0;
  table.left_out = table.left_out_bytes = 0;
  return for_each_table_line(text, "tmpfs 1", [&](std::string_view line) { return take_line(line, table); });
}

}  // namespace memstat
