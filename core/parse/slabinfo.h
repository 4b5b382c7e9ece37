// SPDX-License-Identifier: BSD-2-Clause
// Lines of Linux's /proc/slabinfo, for what wants a few of their figures; core/sources/linux_slabinfo.cpp, which is the
// source of this file, reads all of them in its own, faster way, and judges what is wrong with them.
//
//   # name <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables ... : slabdata <active_slabs>
//   <num_slabs> ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace memstat {

/// One cache's line. Figures of columns that the file does not have, or that are no numbers, are absent.
struct SlabinfoLine {
  std::string_view name;                   ///< Any bytes but blanks at both ends. Not unique.
  std::optional<std::uint64_t> slots;      ///< num_objs: objects in use and free.
  std::optional<std::uint64_t> slot_size;  ///< objsize, in bytes.
  std::optional<std::uint64_t> slabs;      ///< num_slabs.
};

/// Walks the lines, finding the columns by the names in the second line. Thread safety: none.
class SlabinfoReader {
 public:
  /// `text` is borrowed.
  explicit SlabinfoReader(std::string_view text);

  /// The next cache's line; those that are no cache's are left out. False at the end.
  bool next(SlabinfoLine& line);

 private:
  bool take_line(std::string_view text, SlabinfoLine& line) const;

  std::string_view rest_;
  std::size_t columns_ = 0;         // between the name and the first colon
  std::size_t slots_ = 0;           // which of them, from 1; 0: none
  std::size_t slot_size_ = 0;       // likewise
  std::size_t slabs_from_end_ = 0;  // the last word is 1; 0: none
};

}  // namespace memstat
