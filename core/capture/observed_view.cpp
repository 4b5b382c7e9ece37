// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/observed_view.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace memstat {

void write_tables(const TableTexts& texts, std::span<PollRecord> records) {
  Buffer text;
  for (PollRecord& record : records) {
    const auto found = record.kind == PollRecord::Kind::kTable ? texts.find(record.name) : texts.end();
    if (found == texts.end()) continue;
    found->second(record.bytes.view(), text);
    record.bytes.assign(text.view());
  }
}

TableTexts ObservedKernelView::table_texts() const {
  const MutexLock lock(texts_mutex_);
  return texts_;
}

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
  const MutexLock lock(listing_mutex_);
  listing_.clear();
  for (const std::string& name : names) {
    listing_.append(name);
    listing_.append("\n");
  }
  observe_result(begun, Kind::kListing, path, listing_.view(), result);
  return result;
}

Result<void> ObservedKernelView::list_directories(std::string_view path, Buffer& names) {
  const std::uint64_t begun = begin_read();
  auto result = inner_.list_directories(path, names);
  const MutexLock lock(listing_mutex_);
  listing_.assign(names.view());
  std::replace(listing_.data(), listing_.data() + listing_.size(), kEndOfName, '\n');
  observe_result(begun, Kind::kListing, path, listing_.view(), result);
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
  if (TextTableSource::WriteText write = table.text_writer()) {
    const MutexLock lock(texts_mutex_);
    texts_.insert_or_assign(std::string(source), std::move(write));
  }
  return result;
}

Result<void> ObservedKernelView::read_table(std::string_view source, TextTableSource& table, Buffer& out) {
  const std::uint64_t begun = begin_read();
  auto result = inner_.read_table(source, table, out);
  observe_result(begun, Kind::kTable, source, out.view(), result);
  return result;
}

Result<void> ObservedKernelView::keep_open(std::string_view path) {
  auto result = inner_.keep_open(path);
  if (!result) observe_standing(Kind::kFile, path, replayed_errno(result.error()));
  return result;
}

}  // namespace memstat
