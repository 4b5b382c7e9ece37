// SPDX-License-Identifier: BSD-2-Clause
#include "core/kernel/listed_files.h"

#include <cerrno>

#include "core/base/text.h"

namespace memstat {

Result<void> list_file(KernelView& view, Finding finding, std::string_view path, Buffer& list) {
  if (path.find('\n') != std::string_view::npos) return system_error(path.substr(0, path.find('\n')), ENOENT);
  if (finding == Finding::kWhenOpened) {
    if (auto result = view.keep_open(path); !result) return result;
  }
  list.append(path);
  list.append("\n");
  return {};
}

Result<void> read_listed_files(KernelView& view, std::string_view list, FileBundleWriter& bundle,
                               bool (*is_needed)(std::string_view path)) {
  std::string_view path;
  while (next_line(list, path)) {
    if (auto result = bundle.add_file(view, path); !result && is_needed(path)) return result;
  }
  return bundle.add(kEndOfListedFiles, "\n");
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
