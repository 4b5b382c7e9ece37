// SPDX-License-Identifier: BSD-2-Clause
// Small files that a source finds once, in a directory that hardly ever changes, and reads together at every poll. The list
// is part of the source's state.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/collect/file_bundle.h"
#include "core/kernel/kernel_view.h"

namespace memstat {

using FileList = std::vector<std::string>;

/// The time at which files are looked up. Only a source that is being opened keeps them open.
enum class ListTime { kWhenOpened, kWhenRead };

/// Appends `path` to `list`. While the source is being opened, also keeps the file open, and returns the error if it
/// cannot.
Result<void> list_file(KernelView& view, ListTime when, std::string_view path, FileList& list);

/// Name of the last record of a bundle from read_listed_files; without it the bundle was truncated.
inline constexpr std::string_view kEndOfListedFiles = "end";

/// Adds every file of `list` to `bundle`, then the record kEndOfListedFiles. For an unreadable file, `is_error` decides
/// from its path and error code whether to return the error or omit the file. Unless a figure reports it, only a
/// missing file (kNotPresent) may be omitted: failed reads must be visible. Does not allocate in the steady state.
Result<void> read_listed_files(KernelView& view, const FileList& list, FileBundleWriter& bundle,
                               bool (*is_error)(std::string_view path, ErrorCode code));

/// Fills `list` with the files of `paths` that this kernel has, in order: those that can be kept open while the source
/// is being opened, otherwise those that are readable now or may become so. Errors: that of the first file if there is
/// none; that of `needed` if it is not available.
Result<void> list_known_files(KernelView& view, ListTime when, std::span<const std::string_view> paths,
                              std::string_view needed, Buffer& scratch, FileList& list);

/// Number of a source's reads between two searches for files that came with a module: 40 s at the default interval.
inline constexpr std::uint32_t kReadsBetweenLooks = 4;
/// Adds files of `paths` that are missing from `list` (from list_known_files) and have become readable, in their order.
/// They are not kept open, so the source must name their directory in `reopened_directories`. Only every
/// kReadsBetweenLooks-th call does anything; `reads`: number of reads before this one. Absent files do not allocate
/// unless the view's may_read() does.
void add_new_files(KernelView& view, std::uint32_t reads, std::span<const std::string_view> paths, Buffer& scratch,
                   FileList& list);

/// Like read_listed_files, for independent files. Skips files that have vanished (module unloaded), are not permitted,
/// or cannot be opened for lack of descriptors. Returns any other error, any error of `needed`, and the first error if
/// nothing was readable.
Result<void> read_known_files(KernelView& view, const FileList& list, std::string_view needed, FileBundleWriter& bundle);

/// Whether what an earlier read found may be used again: the kernel is this machine's, and polls need not be complete.
bool may_reuse(const KernelView& view);

/// Whether slowly changing data may be skipped in this read: all but every `each`-th read, unless each poll must be
/// complete or the kernel is a captured one. `reads`: number of reads before this one.
bool may_skip(const KernelView& view, std::uint32_t reads, std::uint32_t each = kReadsBetweenLooks);

/// How long settings count as read where polls are rare: a minute, and polls come a little early.
inline constexpr std::int64_t kSettingsLastNs = 59'000'000'000;

/// Files with the administrator's settings, and counts that rarely change. Part of a source's state.
struct SettingFiles {
  FileList list;
  bool are_read = false;        ///< All of them, in the last read.
  std::int64_t read_at_ns = 0;  ///< Of the view's clock.
  Buffer fresh = {};            ///< The bundle under construction.
};
/// Like read_listed_files, for settings. Leaves `bundle` unchanged if they may be skipped in this read (may_skip), all
/// were read, and that less than a minute ago; or if no file can be opened. Skips files that have vanished or are not
/// permitted.
Result<void> read_settings(KernelView& view, std::uint32_t reads, SettingFiles& files, Buffer& scratch, Buffer& bundle);

/// Finds the content of each path in a bundle from these functions; empty if it is not there. Fastest if both have the
/// same order. Returns false for a truncated bundle. `contents` must have as many elements as `paths`.
bool find_contents(std::string_view bundle, std::span<const std::string_view> paths,
                   std::span<std::optional<std::string_view>> contents);

/// The component of `path` after `prefix`, up to the next slash; `rest` gets what follows that slash. Empty if `path`
/// does not begin with `prefix`.
std::string_view component_after(std::string_view path, std::string_view prefix, std::string_view& rest);

}  // namespace memstat
