// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/observed_view.h"

#include <algorithm>
#include <cerrno>

namespace memstat {

void ObservedKernelView::observe_result(std::uint64_t begun, Kind kind, std::string_view name, std::string_view bytes,
                                        const Result<void>& result) {
  if (result) {
    observe(begun, kind, name, bytes, 0);
  } else {
    observe(begun, kind, name, {}, replayed_errno(result.error()));
  }
}

Result<void> ObservedKernelView::read_file(std::string_view path, Buffer& out) {
  const std::uint64_t begun = begin_read();
  auto result = inner_.read_file(path, out);
  observe_result(begun, Kind::kFile, path, out.view(), result);
  return result;
}

Result<void> ObservedKernelView::read_at_base(const BaseDirectory& directory, std::string_view path, Buffer& out) {
  const std::uint64_t begun = begin_read();
  auto result = inner_.read_at_base(directory, path, out);
  observe_result(begun, Kind::kFile, path, out.view(), result);
  return result;
}

Result<std::string> ObservedKernelView::read_link(std::string_view path) {
  const std::uint64_t begun = begin_read();
  auto target = inner_.read_link(path);
  if (target) {
    observe(begun, Kind::kLink, path, *target, 0);
  } else if (target.error().system_errno != EINVAL) {  // not a link, which is not a failure
    observe(begun, Kind::kLink, path, {}, replayed_errno(target.error()));
  }
  return target;
}

Result<void> ObservedKernelView::list_directory(std::string_view path, std::vector<std::string>& names) {
  const std::uint64_t begun = begin_read();
  auto result = inner_.list_directory(path, names);
  const MutexLock lock(text_mutex_);
  text_.clear();
  for (const std::string& name : names) {
    text_.append(name);
    text_.append("\n");
  }
  observe_result(begun, Kind::kListing, path, text_.view(), result);
  return result;
}

Result<void> ObservedKernelView::list_directories(std::string_view path, Buffer& names) {
  const std::uint64_t begun = begin_read();
  auto result = inner_.list_directories(path, names);
  const MutexLock lock(text_mutex_);
  text_.assign(names.view());
  std::replace(text_.data(), text_.data() + text_.size(), kEndOfName, '\n');
  observe_result(begun, Kind::kListing, path, text_.view(), result);
  return result;
}

Result<void> ObservedKernelView::read_sysctl(std::string_view name, Buffer& out, std::size_t size_hint) {
  const std::uint64_t begun = begin_read();
  auto result = inner_.read_sysctl(name, out, size_hint);
  observe_result(begun, Kind::kSysctl, name, out.view(), result);
  return result;
}

void ObservedKernelView::read_numbers(std::span<const std::string> names, Buffer& scratch, const TakeNumber& take) {
  const std::uint64_t begun = begin_read();
  inner_.read_numbers(names, scratch, [&](std::string_view name, const Result<std::string_view>& bytes) {
    if (bytes) {
      observe(begun, Kind::kSysctl, name, *bytes, 0);
    } else {
      observe(begun, Kind::kSysctl, name, {}, replayed_errno(bytes.error()));
    }
    return take(name, bytes);
  });
}

/// What a list holds is in no capture, but that there was none is.
Result<void> ObservedKernelView::list_sysctls(std::string_view prefix, std::vector<std::string>& names) {
  const std::uint64_t begun = begin_read();
  auto result = inner_.list_sysctls(prefix, names);
  if (!result) observe_result(begun, Kind::kSysctl, prefix, {}, result);
  return result;
}

Result<void> ObservedKernelView::open_table(std::string_view source, TextTableSource& table) {
  auto result = inner_.open_table(source, table);
  if (!result) observe_standing(Kind::kTable, source, replayed_errno(result.error()));
  return result;
}

Result<void> ObservedKernelView::read_table(std::string_view source, TextTableSource& table, Buffer& out) {
  const std::uint64_t begun = begin_read();
  auto result = inner_.read_table(source, table, out);
  // As text: a table may be gone when the poll is written.
  const MutexLock lock(text_mutex_);
  if (result) table.write_text(out.view(), text_);
  observe_result(begun, Kind::kTable, source, text_.view(), result);
  return result;
}

Result<void> ObservedKernelView::keep_open(std::string_view path) {
  auto result = inner_.keep_open(path);
  if (!result) observe_standing(Kind::kFile, path, replayed_errno(result.error()));
  return result;
}

}  // namespace memstat
