// SPDX-License-Identifier: BSD-2-Clause
// What a source reads, as data. core/collect/plan_reader.h is the one collector that opens and reads plans; the manual page
// of the sources lists them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/buffer.h"

namespace memstat {

struct RawBytes;
struct ReaderState;

enum class ReadTime : std::uint8_t {
  kEachRead,
  kSeldom,  ///< At every fourth read, and at least once a minute: settings, and counts that hardly move.
};

enum class ReadNeed : std::uint8_t {
  kRequired,  ///< Every error is the source's.
  kOptional,  ///< Left out if the kernel lacks it, does not permit it, or no descriptor is free. Other errors are the
              ///< source's.
  kExtra,     ///< Left out after any error.
};

/// One file, or the files of a pattern.
struct PlannedFile {
  std::string_view path;  ///< Absolute. "*" at the end of a component stands for every such name at the first read.
  ReadTime time = ReadTime::kEachRead;
  ReadNeed need = ReadNeed::kOptional;
  bool is_kept_open = false;  ///< Opened before privileges are dropped. Other files are opened by name at each read.
  /// Depends on the source's options, and on files before it in the plan, which have been read. nullptr: always.
  bool (*is_wanted)(const RawBytes& raw, const ReaderState& state) = nullptr;
};

/// The paths of a plan, for ListedName.
template <std::size_t kCount>
constexpr std::array<std::string_view, kCount> paths_of(const PlannedFile (&plan)[kCount]) {
  std::array<std::string_view, kCount> paths;
  for (std::size_t i = 0; i < kCount; ++i) paths[i] = plan[i].path;
  return paths;
}

namespace internal {

template <const auto& kPaths>
constexpr auto join_paths() {
  constexpr std::size_t kSize = [] {
    std::size_t size = 0;
    for (const std::string_view path : kPaths) size += path.size() + 2;
    return size - 2;
  }();
  std::array<char, kSize> text{};
  std::size_t end = 0;
  for (const std::string_view path : kPaths) {
    for (const char each : end == 0 ? std::string_view() : std::string_view(", ")) text[end++] = each;
    for (const char each : path) text[end++] = each;
  }
  return text;
}

/// A member, because compilers differ in whether a variable template is hidden.
template <const auto& kPaths>
struct JoinedPaths {
  static constexpr auto kText = join_paths<kPaths>();
  static constexpr std::string_view kView{kText.data(), kText.size()};
};

}  // namespace internal

/// The paths of a plan, "a, b, c", for SourceDescriptor::origin.
template <const auto& kPaths>
constexpr std::string_view origin_of() {
  return internal::JoinedPaths<kPaths>::kView;
}

/// Number of files that a plan keeps open.
constexpr std::size_t kept_files_of(std::span<const PlannedFile> plan) {
  std::size_t count = 0;
  for (const PlannedFile& file : plan) count += file.is_kept_open ? 1 : 0;
  return count;
}

enum class FileState : std::uint8_t {
  kUnwanted,  ///< Not read yet, or not wanted.
  kAbsent,    ///< The kernel lacks it.
  kRefused,   ///< Not permitted, or another error of an extra file.
  kRead,      ///< Content of this read.
  kRepeated,  ///< Content of an earlier read.
};

/// A planned file at one read.
struct RawFile {
  std::string path;
  std::size_t planned = 0;  ///< Index in the plan.
  FileState state = FileState::kUnwanted;
  std::uint32_t age_reads = 0;  ///< Reads since the content was read; 0: in this one.
  Buffer bytes = {};            ///< Empty without content.

  [[nodiscard]] bool has_content() const { return state == FileState::kRead || state == FileState::kRepeated; }
};

}  // namespace memstat
