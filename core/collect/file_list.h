// SPDX-License-Identifier: BSD-2-Clause
// Small files that a source finds once, in a directory whose content hardly ever changes, and reads together at every poll.
// The list is part of the source's state.
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

/// Paths in the order in which they are read.
using FileList = std::vector<std::string>;

/// When files are found: a source that is being opened keeps them open, one that is read without having been opened may not.
enum class ListTime { kWhenOpened, kWhenRead };

/// Appends `path` to `list`, unless the source is being opened and cannot keep it open (that error is returned).
Result<void> list_file(KernelView& view, ListTime when, std::string_view path, FileList& list);

/// Name of the record that ends the bundle of read_listed_files, so that a bundle that was cut short is known as such.
inline constexpr std::string_view kEndOfListedFiles = "end";

/// Adds every file of `list` to `bundle`, then the record kEndOfListedFiles. Where a file cannot be read `is_error` says,
/// from its path and the error's code, whether that error is returned or the file left out; without a figure that says so,
/// only a file that is gone (kNotPresent) may be left out: a read that fails must show. Allocates nothing in the steady
/// state.
Result<void> read_listed_files(KernelView& view, const FileList& list, FileBundleWriter& bundle,
                               bool (*is_error)(std::string_view path, ErrorCode code));

/// Fills `list` with those of `paths` that the kernel has, in their order: while the source is being opened those that can
/// be kept open, else those that can be read now, or may be later. Errors: when there is none, that of the first; when
/// `needed` cannot be had, its.
Result<void> list_known_files(KernelView& view, ListTime when, std::span<const std::string_view> paths,
                              std::string_view needed, Buffer& scratch, FileList& list);

/// How many reads of a source lie between two looks for files that came with a module: 40 s at the default interval.
inline constexpr std::uint32_t kReadsBetweenLooks = 4;
/// Puts those of `paths` that `list`, which list_known_files made of them, lacks and that can be read by now into their
/// places. They are not kept open, so the source names their directory in `reopened_directories`. Does nothing but at every
/// kReadsBetweenLooks-th read; `reads` are those before this one. Files that are still absent cost no allocation where the
/// view's may_read costs none.
void look_for_known_files(KernelView& view, std::uint32_t reads, std::span<const std::string_view> paths, Buffer& scratch,
                          FileList& list);

/// As read_listed_files, for independent files: one that has vanished (its module was unloaded), is refused, or cannot be
/// opened because there are too many open files is skipped. Any other error is returned, and so is that of `needed`, and the
/// first when nothing could be read.
Result<void> read_known_files(KernelView& view, const FileList& list, std::string_view needed, FileBundleWriter& bundle);

/// Whether what seldom changes need not be read now: it is at each kReadsBetweenLooks-th read, and where every poll must be
/// whole or the kernel is a captured one. `reads` are those before this one.
bool may_leave_out(const KernelView& view, std::uint32_t reads);

/// Files with settings that an administrator makes, which seldom change. Part of a source's state.
/// Thread safety: none.
struct SettingFiles {
  FileList list;
  bool are_read = false;  ///< All of them, at the last read.
  Buffer fresh = {};      ///< What is being read.
};
/// As read_listed_files, for settings: leaves `bundle` as it is where they may be left out and none was missing the last
/// time, and where no file can be opened. Files that have vanished or are refused are skipped.
Result<void> read_settings(KernelView& view, std::uint32_t reads, SettingFiles& files, Buffer& scratch, Buffer& bundle);

/// The content of each of `paths` in a bundle of these functions; nothing for one that is not in it. Quickest when both have
/// the same order. False when the bundle was cut short. Requires as many contents as paths.
bool find_contents(std::string_view bundle, std::span<const std::string_view> paths,
                   std::span<std::optional<std::string_view>> contents);

/// The component of `path` that follows `prefix`, up to the next slash, and in `rest` what follows that slash. Empty when
/// `path` does not begin with `prefix`.
std::string_view component_after(std::string_view path, std::string_view prefix, std::string_view& rest);

}  // namespace memstat
