// SPDX-License-Identifier: BSD-2-Clause
// Single files with well-known names, and their content at one poll: counts, which each read has, and settings, which change
// rarely or slowly.
#pragma once

#include <array>

#include "core/base/text.h"
#include "core/collect/file_list.h"
#include "core/collect/listed_name.h"

namespace memstat {

/// The files of `kPaths` at one poll; the first `kCounts` of them are counts. Records the first error and continues, so that
/// callers need not check each number.
template <const auto& kPaths, std::size_t kCounts>
class KnownFiles {
 public:
  using File = ListedName<kPaths>;
  using Number = std::optional<std::uint64_t>;
  static constexpr std::span kCountPaths = std::span(kPaths).first(kCounts);
  static constexpr std::span kSettingPaths = std::span(kPaths).subspan(kCounts);

  /// What a source keeps from read to read.
  struct Lists {
    FileList counts;  ///< Empty until found.
    SettingFiles settings;
    Buffer scratch;
  };
  /// Looks for the files. Errors: there is no count, or not the one of the path `needed`.
  static Result<void> find(KernelView& view, ListTime when, std::string_view needed, Lists& lists) {
    (void)list_known_files(view, ListTime::kWhenRead, kSettingPaths, {}, lists.scratch, lists.settings.list);
    return list_known_files(view, when, kCountPaths, needed, lists.scratch, lists.counts);
  }
  /// Reads those that were found, and looks for others now and then; `reads`: number of reads before this one.
  static Result<void> read(KernelView& view, std::uint32_t reads, std::string_view needed, Lists& lists, Buffer& counts,
                           Buffer& settings) {
    add_new_files(view, reads, kCountPaths, lists.scratch, lists.counts);
    add_new_files(view, reads, kSettingPaths, lists.scratch, lists.settings.list);
    if (auto result = read_settings(view, reads, lists.settings, lists.scratch, settings); !result) return result;
    FileBundleWriter bundle(counts, lists.scratch);
    return read_known_files(view, lists.counts, needed, bundle);
  }

  KnownFiles(std::string_view counts, std::string_view settings) {
    const std::span contents(contents_);
    if (!find_contents(counts, kCountPaths, contents.first(kCounts))) {
      error_ = data_error(kPaths[0], counts.size(), "the data ends early");
    } else if (!find_contents(settings, kSettingPaths, contents.subspan(kCounts))) {
      error_ = data_error(kSettingPaths[0], settings.size(), "the data ends early");
    }
  }

  /// The content of a file if it consists of whole lines; nothing if there is no such file.
  std::optional<std::string_view> text(File file) {
    const auto& content = contents_[file];
    if (!content || content->empty() || content->ends_with('\n')) return content;
    refuse(file, content->rfind('\n') + 1, "ends within a line");
    return std::nullopt;
  }
  /// The number at index `place` of a file's only line; nothing if there is no such file.
  Number number(File file, std::size_t place = 0) {
    const auto content = text(file);
    if (!content) return std::nullopt;
    std::string_view rest = trim(*content);
    std::string_view word;
    for (std::size_t at = 0; next_word(rest, word); ++at) {
      if (at != place) continue;
      if (const auto number = parse_u64(word)) return number;
      break;
    }
    refuse(file, 0, "expected a number of at most 64 bits");
    return std::nullopt;
  }
  void refuse(File file, std::size_t offset, std::string_view what) {
    if (!error_) error_ = data_error(kPaths[file], offset, what);
  }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  std::array<std::optional<std::string_view>, std::size(kPaths)> contents_;
  std::optional<Error> error_;
};

}  // namespace memstat
