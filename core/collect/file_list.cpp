// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/file_list.h"

#include <cerrno>
#include <utility>

namespace memstat {
namespace {

/// Whether the process or system is out of descriptors, so that no file could have been opened.
bool lacks_descriptors(const Error& error) { return error.system_errno == ENFILE || error.system_errno == EMFILE; }

/// Whether to continue with the source's other files.
bool may_be_skipped(const Error& error) {
  return error.code == ErrorCode::kNotPresent || error.code == ErrorCode::kPermission || lacks_descriptors(error);
}

}  // namespace

Result<void> list_file(KernelView& view, ListTime when, std::string_view path, FileList& list) {
  if (when == ListTime::kWhenOpened) {
    if (auto result = view.keep_open(path); !result) return result;
  }
  list.emplace_back(path);
  return {};
}

Result<void> read_listed_files(KernelView& view, const FileList& list, FileBundleWriter& bundle,
                               bool (*is_error)(std::string_view path, ErrorCode code)) {
  for (const std::string& path : list) {
    if (auto result = bundle.add_file(view, path); !result && is_error(path, result.error().code)) return result;
  }
  return bundle.add(kEndOfListedFiles, "\n");
}

Result<void> list_known_files(KernelView& view, ListTime when, std::span<const std::string_view> paths,
                              std::string_view needed, Buffer& scratch, FileList& list) {
  list.clear();
  std::optional<Error> first;
  for (const std::string_view path : paths) {
    Result<void> result = when == ListTime::kWhenOpened ? Result<void>{} : view.read_file(path, scratch);
    // List a file that exists but fails now: reading it will report the reason.
    if (result || result.error().code != ErrorCode::kNotPresent) result = list_file(view, when, path, list);
    if (result) continue;
    if (path == needed) {
      list.clear();
      return result;
    }
    if (!first) first = std::move(result.error());
  }
  if (list.empty() && first) return std::move(*first);
  return {};
}

void add_new_files(KernelView& view, std::uint32_t reads, std::span<const std::string_view> paths, Buffer& scratch,
                   FileList& list) {
  if (reads == 0 || reads % kReadsBetweenLooks != 0) return;
  std::size_t at = 0;
  for (const std::string_view path : paths) {
    if (at == list.size() || list[at] != path) {
      if (!view.may_read(path) || !view.read_file(path, scratch)) continue;
      list.emplace(list.begin() + static_cast<std::ptrdiff_t>(at), path);
    }
    ++at;
  }
}

Result<void> read_known_files(KernelView& view, const FileList& list, std::string_view needed, FileBundleWriter& bundle) {
  std::optional<Error> first;
  bool is_empty = true;
  for (const std::string& path : list) {
    auto result = bundle.add_file(view, path);
    if (result) {
      is_empty = false;
      continue;
    }
    if (path == needed || !may_be_skipped(result.error())) return result;
    if (!first) first = std::move(result.error());
  }
  if (is_empty && first) return std::move(*first);
  return bundle.add(kEndOfListedFiles, "\n");
}

bool may_reuse(const KernelView& view) { return view.reads_this_machine() && !view.wants_whole_polls(); }

bool may_skip(const KernelView& view, std::uint32_t reads, std::uint32_t each) {
  return may_reuse(view) && reads % each != 0;
}

Result<void> read_settings(KernelView& view, std::uint32_t reads, SettingFiles& files, Buffer& scratch, Buffer& bundle) {
  const std::int64_t now_ns = view.clock().monotonic_ns();
  if (files.are_read && may_skip(view, reads) && now_ns - files.read_at_ns < kSettingsLastNs) return {};
  const bool were_read = std::exchange(files.are_read, false);
  FileBundleWriter writer(files.fresh, scratch);
  bool are_all_there = true;
  for (const std::string& path : files.list) {
    auto result = writer.add_file(view, path);
    if (result) continue;
    files.are_read = were_read && lacks_descriptors(result.error());
    if (files.are_read) return {};  // the bundle keeps its previous content
    are_all_there = false;
    if (!may_be_skipped(result.error())) return result;
  }
  files.are_read = are_all_there;
  files.read_at_ns = now_ns;
  if (auto ended = writer.add(kEndOfListedFiles, "\n"); !ended) return ended;
  bundle.swap(files.fresh);
  files.fresh.reserve(bundle.capacity());  // reserve now: the next read of settings is several reads away
  return {};
}

bool find_contents(std::string_view bundle, std::span<const std::string_view> paths,
                   std::span<std::optional<std::string_view>> contents) {
  for (auto& content : contents) content.reset();
  FileBundleReader records(bundle);
  std::string_view path;
  std::string_view content;
  std::size_t next = 0;
  while (records.next(path, content)) {
    if (path == kEndOfListedFiles) return true;
    for (std::size_t tries = 0; tries < paths.size(); ++tries) {
      const std::size_t at = (next + tries) % paths.size();
      if (paths[at] != path) continue;
      contents[at] = content;
      next = at + 1;
      break;
    }
  }
  return false;
}

std::string_view component_after(std::string_view path, std::string_view prefix, std::string_view& rest) {
  rest = {};
  if (!path.starts_with(prefix)) return {};
  path.remove_prefix(prefix.size());
  const std::size_t slash = path.find('/');
  if (slash != std::string_view::npos) rest = path.substr(slash + 1);
  return path.substr(0, slash);
}

}  // namespace memstat
