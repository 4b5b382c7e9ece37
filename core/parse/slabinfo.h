// SPDX-License-Identifier: BSD-2-Clause
// Lines of Linux's /proc/slabinfo (mm/slab_common.c):
//
//   # name <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables ... : slabdata <active_slabs>
//   <num_slabs> ...
//
// Columns are found by their names in the header line. Cache names are not unique and may contain blanks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/result.h"

namespace memstat {

inline constexpr std::string_view kSlabinfoFile = "/proc/slabinfo";

struct SlabinfoLine {
  std::string_view name;             ///< Any bytes, but no blanks at either end.
  std::uint64_t active = 0;          ///< active_objs
  std::uint64_t slots = 0;           ///< num_objs: objects in use or free.
  std::uint64_t slot_size = 0;       ///< objsize, in bytes.
  std::uint64_t pages_per_slab = 0;  ///< pagesperslab
  std::uint64_t slabs = 0;           ///< num_slabs
};

class SlabinfoColumns {
 public:
  static constexpr std::size_t kMaxColumns = 12;

  /// Removes the version line and the header line from `rest`, which is the end of `size` bytes. Errors: kVersion; kData if
  /// a column is missing.
  static Result<SlabinfoColumns> read(std::string_view& rest, std::size_t size);
  /// Parses a line without its newline. Returns what is wrong, or nullptr.
  const char* read_line(std::string_view text, SlabinfoLine& line) const;

 private:
  bool split(std::string_view text, std::string_view& name, std::uint64_t* numbers, std::string_view& rest) const;
  bool take_slabs(std::string_view rest, std::uint64_t& slabs) const;

  std::size_t first_group_ = 0;
  std::size_t active_ = kMaxColumns;
  std::size_t slots_ = kMaxColumns;
  std::size_t slot_size_ = kMaxColumns;
  std::size_t pages_per_slab_ = kMaxColumns;
  std::size_t slabs_from_end_ = 0;  // the last word is 1
};

/// Iterates over the well-formed lines, for readers of a few figures; linux_slabinfo reports malformed ones.
class SlabinfoReader {
 public:
  /// Borrows `text`.
  explicit SlabinfoReader(std::string_view text);
  /// Reads the next cache's line. False at the end.
  bool next(SlabinfoLine& line);

 private:
  std::string_view rest_;
  SlabinfoColumns columns_;
};

}  // namespace memstat
